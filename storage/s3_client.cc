#include "s3_client.h"

#include <curl/curl.h>
#include <openssl/sha.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <memory>
#include <mutex>

#include "base/check.h"
#include "storage/object_store.h"

namespace scyper::storage {

namespace {

constexpr std::string_view kScheme = "s3://";
constexpr int kAttempts = 5;
constexpr uint32_t kPageMax = 1000;            // names of a listing's page: what S3 allows
constexpr useconds_t kFirstPauseUs = 100'000;  // doubled after each attempt
constexpr long kConnectSeconds = 10;
constexpr long kStalledSeconds = 30;  // without a byte

std::string variable(std::initializer_list<const char*> names, const char* otherwise) {
  for (const char* name : names) {
    const char* value = std::getenv(name);
    if (value != nullptr && *value != '\0') return value;
  }
  return otherwise;
}

bool is_plain(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.' || c == '-' ||
         c == '_' || c == '/';
}

// As AWS wants it in signed queries: everything but the unreserved letters.
std::string escaped(std::string_view text) {
  std::string out;
  for (char c : text) {
    if (is_plain(c) && c != '/') {
      out.push_back(c);
    } else {
      char code[4];
      std::snprintf(code, sizeof(code), "%%%02X", static_cast<unsigned char>(c));
      out += code;
    }
  }
  return out;
}

// The text of the first element of that name behind *at, which moves behind it. Stores answer in XML without surprises.
std::string element(std::string_view xml, std::string_view name, size_t* at) {
  const std::string begin = "<" + std::string(name) + ">", end = "</" + std::string(name) + ">";
  const size_t from = xml.find(begin, *at);
  const size_t to = from == std::string_view::npos ? from : xml.find(end, from);
  if (to == std::string_view::npos) {
    *at = std::string_view::npos;
    return "";
  }
  *at = to + end.size();
  return std::string(xml.substr(from + begin.size(), to - from - begin.size()));
}
std::string element(std::string_view xml, std::string_view name) {
  size_t at = 0;
  return element(xml, name, &at);
}

// Stores ask for it, and libcurl takes it into the signature; not every version makes it itself.
std::string payload_hash(std::string_view body) {
  unsigned char hash[SHA256_DIGEST_LENGTH];
  SHA256(reinterpret_cast<const unsigned char*>(body.data()), body.size(), hash);
  std::string text = "x-amz-content-sha256: ";
  for (unsigned char byte : hash) {
    text.push_back("0123456789abcdef"[byte >> 4]);
    text.push_back("0123456789abcdef"[byte & 15]);
  }
  return text;
}

size_t take_body(char* bytes, size_t size, size_t count, void* out) {
  static_cast<std::string*>(out)->append(bytes, size * count);
  return size * count;
}

}  // namespace

bool is_store_path(std::string_view path) { return path.substr(0, kScheme.size()) == kScheme; }

StatusOr<StorePlace> parse_store_path(std::string_view path) {
  const std::string_view rest = path.substr(std::min(path.size(), kScheme.size()));
  const size_t slash = rest.find('/');
  StorePlace place{std::string(rest.substr(0, slash)), ""};
  if (slash != std::string_view::npos) place.key = std::string(rest.substr(slash + 1));
  while (place.key.ends_with('/')) place.key.pop_back();
  if (!is_store_path(path) || place.bucket.empty() || !std::all_of(rest.begin(), rest.end(), is_plain) ||
      place.key.find("//") != std::string::npos) {
    return with_hint(sql_error("22023", "not a place in a store: " + std::string(path)),
                     "Write s3://bucket/prefix, with letters, digits and . - _ / only.");
  }
  return place;
}

struct S3Client::Request {
  const char* method;
  const StorePlace& place;
  std::string query;  // sorted, escaped
  std::string_view body;
  std::string range;
};

struct S3Client::Answer {
  long code = 0;
  std::string body;
  std::string tag;
  uint64_t bytes = 0;  // Content-Length
};

S3Client::S3Client() {
  static std::once_flag once;
  std::call_once(once, [] { CHECK(curl_global_init(CURL_GLOBAL_DEFAULT) == CURLE_OK); });
  handle_ = curl_easy_init();
  CHECK(handle_ != nullptr);
}

S3Client::~S3Client() { curl_easy_cleanup(handle_); }

namespace {

size_t take_header(char* bytes, size_t size, size_t count, void* out) {
  std::string_view line(bytes, size * count);
  constexpr std::string_view kTag = "etag:";
  const bool is_tag =
      line.size() > kTag.size() && std::equal(kTag.begin(), kTag.end(), line.begin(),
                                              [](char a, char b) { return a == (b >= 'A' && b <= 'Z' ? b + 32 : b); });
  if (is_tag) {
    line.remove_prefix(kTag.size());
    while (!line.empty() && line.front() == ' ') line.remove_prefix(1);
    while (!line.empty() && (line.back() == '\r' || line.back() == '\n')) line.remove_suffix(1);
    *static_cast<std::string*>(out) = std::string(line);
  }
  return size * count;
}

Status answer_error(const std::string& what, long code, const std::string& body) {
  std::string name = element(body, "Code");
  const std::string text = element(body, "Message");
  if (name.empty()) name = "HTTP status " + std::to_string(code);
  const std::string message = what + ": " + name + (text.empty() ? "" : ": " + text);
  if (name == "NoSuchBucket") return sql_error("58P01", message);
  if (code == 404) return absl::NotFoundError(message);
  if (code == 401 || code == 403) {
    return with_hint(sql_error("42501", message),
                     "Check AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY, AWS_SESSION_TOKEN and AWS_REGION, the clock, and "
                     "what the store permits them.");
  }
  return sql_error("58030", message);
}

}  // namespace

Status S3Client::try_once(const Request& request, const std::string& url, Answer* answer, bool* is_final) {
  const std::string region = variable({"AWS_REGION", "AWS_DEFAULT_REGION"}, "us-east-1");
  const std::string signer = "aws:amz:" + region + ":s3";
  const std::string keys = variable({"AWS_ACCESS_KEY_ID"}, "") + ":" + variable({"AWS_SECRET_ACCESS_KEY"}, "");
  const std::string token = variable({"AWS_SESSION_TOKEN"}, "");
  const std::string method = request.method;
  CURL* curl = handle_;
  curl_easy_reset(curl);  // keeps the connection
  // no "Expect:" without a value, which libcurl would sign, but not send
  curl_slist* headers = curl_slist_append(nullptr, "Content-Type: application/octet-stream");
  headers = curl_slist_append(headers, payload_hash(request.body).c_str());
  if (!token.empty()) headers = curl_slist_append(headers, ("x-amz-security-token: " + token).c_str());
  const std::unique_ptr<curl_slist, void (*)(curl_slist*)> owner(headers, curl_slist_free_all);
  char error[CURL_ERROR_SIZE] = "";
  *answer = Answer();
  curl_easy_setopt(curl, CURLOPT_URL, url.c_str());
  curl_easy_setopt(curl, CURLOPT_NOSIGNAL, 1L);
  curl_easy_setopt(curl, CURLOPT_AWS_SIGV4, signer.c_str());
  curl_easy_setopt(curl, CURLOPT_USERPWD, keys.c_str());
  curl_easy_setopt(curl, CURLOPT_HTTPHEADER, headers);
  curl_easy_setopt(curl, CURLOPT_ERRORBUFFER, error);
  curl_easy_setopt(curl, CURLOPT_EXPECT_100_TIMEOUT_MS, 1L);
  curl_easy_setopt(curl, CURLOPT_CONNECTTIMEOUT, kConnectSeconds);
  curl_easy_setopt(curl, CURLOPT_LOW_SPEED_LIMIT, 1L);
  curl_easy_setopt(curl, CURLOPT_LOW_SPEED_TIME, kStalledSeconds);
  curl_easy_setopt(curl, CURLOPT_WRITEFUNCTION, take_body);
  curl_easy_setopt(curl, CURLOPT_WRITEDATA, &answer->body);
  curl_easy_setopt(curl, CURLOPT_HEADERFUNCTION, take_header);
  curl_easy_setopt(curl, CURLOPT_HEADERDATA, &answer->tag);
  if (!request.range.empty()) curl_easy_setopt(curl, CURLOPT_RANGE, request.range.c_str());
  if (method == "HEAD") curl_easy_setopt(curl, CURLOPT_NOBODY, 1L);
  if (method == "PUT" || method == "POST") {
    curl_easy_setopt(curl, CURLOPT_POSTFIELDSIZE_LARGE, static_cast<curl_off_t>(request.body.size()));
    curl_easy_setopt(curl, CURLOPT_POSTFIELDS, request.body.data() != nullptr ? request.body.data() : "");
  }
  if (method == "PUT" || method == "DELETE") curl_easy_setopt(curl, CURLOPT_CUSTOMREQUEST, request.method);
  const std::string what = std::string(kScheme) + request.place.bucket + "/" + request.place.key;
  const CURLcode result = curl_easy_perform(curl);
  if (result != CURLE_OK) {
    *is_final = result == CURLE_PEER_FAILED_VERIFICATION || result == CURLE_URL_MALFORMAT ||
                result == CURLE_UNSUPPORTED_PROTOCOL;
    return sql_error("58030", what + ": " + (error[0] != '\0' ? error : curl_easy_strerror(result)) + " (" + url + ")");
  }
  curl_easy_getinfo(curl, CURLINFO_RESPONSE_CODE, &answer->code);
  curl_off_t bytes = 0;
  curl_easy_getinfo(curl, CURLINFO_CONTENT_LENGTH_DOWNLOAD_T, &bytes);
  answer->bytes = bytes > 0 ? static_cast<uint64_t>(bytes) : 0;
  *is_final = answer->code < 500 && answer->code != 429;
  return answer->code / 100 == 2 ? Status() : answer_error(what, answer->code, answer->body);
}

StatusOr<S3Client::Answer> S3Client::send(const Request& request) {
  if (variable({"AWS_ACCESS_KEY_ID"}, "").empty() || variable({"AWS_SECRET_ACCESS_KEY"}, "").empty()) {
    return with_hint(
        sql_error("28000", "there are no credentials for the store of " + std::string(kScheme) + request.place.bucket),
        "Set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY in the environment of this process.");
  }
  const std::string region = variable({"AWS_REGION", "AWS_DEFAULT_REGION"}, "us-east-1");
  std::string url = variable({"AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT_URL"}, "");
  if (url.empty()) url = "https://s3." + region + ".amazonaws.com";
  while (url.ends_with('/')) url.pop_back();
  url += "/" + request.place.bucket + "/" + request.place.key;
  if (!request.query.empty()) url += "?" + request.query;
  Answer answer;
  for (int attempt = 1;; ++attempt) {
    bool is_final = false;
    Status status = try_once(request, url, &answer, &is_final);
    if (status.ok()) return answer;
    if (is_final || attempt == kAttempts) return status;
    ::usleep(kFirstPauseUs << attempt);
  }
}

StatusOr<uint64_t> S3Client::size(const StorePlace& place) {
  SCYPER_ASSIGN_OR_RETURN(const Answer answer, send({"HEAD", place, "", {}, ""}));
  return answer.bytes;
}

Status S3Client::get(const StorePlace& place, uint64_t offset, uint64_t size, std::string* out) {
  out->clear();
  if (size == 0) return Status();
  SCYPER_ASSIGN_OR_RETURN(
      Answer answer, send({"GET", place, "", {}, std::to_string(offset) + "-" + std::to_string(offset + size - 1)}));
  if (answer.body.size() > size)
    return sql_error("58030", "s3://" + place.bucket + ": the store sends more than asked");
  *out = std::move(answer.body);
  return Status();
}

Status S3Client::put(const StorePlace& place, std::string_view bytes) {
  return send({"PUT", place, "", bytes, ""}).status();
}

Status S3Client::remove(const StorePlace& place) { return send({"DELETE", place, "", {}, ""}).status(); }

StatusOr<StoreListing> S3Client::list(const StorePlace& directory, uint32_t limit) {
  const std::string prefix = directory.key.empty() ? "" : directory.key + "/";
  const StorePlace bucket{directory.bucket, ""};
  StoreListing listing;
  std::string token;
  do {
    std::string query = token.empty() ? "" : "continuation-token=" + escaped(token) + "&";
    query += "delimiter=%2F&list-type=2&max-keys=" + std::to_string(std::min(limit, kPageMax)) +
             "&prefix=" + escaped(prefix);
    SCYPER_ASSIGN_OR_RETURN(const Answer answer, send({"GET", bucket, query, {}, ""}));
    for (const char* kind : {"Contents", "CommonPrefixes"}) {
      for (size_t at = 0;;) {
        const std::string entry = element(answer.body, kind, &at);
        if (at == std::string::npos) break;
        std::string name = element(entry, kind == std::string_view("Contents") ? "Key" : "Prefix");
        if (name.size() <= prefix.size()) continue;
        name = name.substr(prefix.size());
        if (name.ends_with('/')) name.pop_back();
        listing.names.push_back(std::move(name));
      }
    }
    token = element(answer.body, "IsTruncated") == "true" ? element(answer.body, "NextContinuationToken") : "";
  } while (!token.empty() && listing.names.size() < limit);
  std::sort(listing.names.begin(), listing.names.end());
  return listing;
}

StatusOr<std::string> S3Client::begin_upload(const StorePlace& place) {
  SCYPER_ASSIGN_OR_RETURN(const Answer answer, send({"POST", place, "uploads=", {}, ""}));
  std::string upload = element(answer.body, "UploadId");
  if (upload.empty()) return sql_error("58030", "s3://" + place.bucket + ": the store begins no upload in parts");
  return upload;
}

StatusOr<std::string> S3Client::put_part(const StorePlace& place, const std::string& upload, uint32_t number,
                                         std::string_view bytes) {
  const std::string query = "partNumber=" + std::to_string(number) + "&uploadId=" + escaped(upload);
  SCYPER_ASSIGN_OR_RETURN(Answer answer, send({"PUT", place, query, bytes, ""}));
  return std::move(answer.tag);
}

Status S3Client::finish_upload(const StorePlace& place, const std::string& upload,
                               const std::vector<std::string>& tags) {
  std::string body = "<CompleteMultipartUpload>";
  for (size_t i = 0; i < tags.size(); ++i) {
    body += "<Part><PartNumber>" + std::to_string(i + 1) + "</PartNumber><ETag>" + tags[i] + "</ETag></Part>";
  }
  body += "</CompleteMultipartUpload>";
  SCYPER_ASSIGN_OR_RETURN(const Answer answer, send({"POST", place, "uploadId=" + escaped(upload), body, ""}));
  // may begin with 200 and fail then
  if (!element(answer.body, "Code").empty()) return answer_error("s3://" + place.bucket, 500, answer.body);
  return Status();
}

void S3Client::abandon_upload(const StorePlace& place, const std::string& upload) {
  static_cast<void>(send({"DELETE", place, "uploadId=" + escaped(upload), {}, ""}));
}

}  // namespace scyper::storage
