#include "redact.h"

#include <algorithm>
#include <array>
#include <string_view>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"

namespace scyper::client {

namespace {

constexpr const char* kRemoved = "[removed]";
// In lower case. What follows them in a line goes.
constexpr std::array<std::string_view, 11> kWords = {"password",  "passwd",     "passphrase",   "secret",
                                                     "token",     "credential", "access_key",   "access-key",
                                                     "accesskey", "api_key",    "authorization"};
constexpr std::string_view kScram = "scram-sha-256$";

// Where in the line nothing secret stands any more, npos: nowhere.
size_t find_end(const std::string& lower) {
  size_t end = std::string::npos;
  for (std::string_view word : kWords) {
    const size_t found = lower.find(word);
    if (found != std::string::npos) end = std::min(end, found + word.size());
  }
  return std::min(end, lower.find(kScram));
}

// scheme://user:password@host
std::string without_user_info(std::string line, size_t* removed) {
  std::string out;
  while (true) {
    const size_t scheme = line.find("://");
    if (scheme == std::string::npos) break;
    const size_t begin = scheme + 3;
    const size_t end = line.find_first_of("/ \"'?#,;)", begin);
    const std::string authority = line.substr(begin, end - begin);
    const size_t at = authority.rfind('@');
    absl::StrAppend(&out, line.substr(0, begin));
    if (at != std::string::npos) {
      ++*removed;
      absl::StrAppend(&out, kRemoved, authority.substr(at));
    } else {
      absl::StrAppend(&out, authority);
    }
    line = end == std::string::npos ? "" : line.substr(end);
  }
  return absl::StrCat(out, line);
}

}  // namespace

std::string redact(const std::string& text, size_t* removed) {
  std::string out;
  bool is_key = false;   // within a private key
  bool goes_on = false;  // what the last line asked for stands in this one
  const std::vector<std::string> lines = absl::StrSplit(text, '\n');
  for (const std::string& line : lines) {
    const std::string lower = absl::AsciiStrToLower(line);
    if (lower.find("-----begin ") != std::string::npos && lower.find("private key") != std::string::npos) {
      is_key = true;
      ++*removed;
      absl::StrAppend(&out, kRemoved, "\n");
    }
    if (is_key) {
      is_key = lower.find("-----end ") == std::string::npos;
      continue;
    }
    if (goes_on && !absl::StripAsciiWhitespace(line).empty()) {
      goes_on = false;
      ++*removed;
      absl::StrAppend(&out, kRemoved, "\n");
      continue;
    }
    const size_t end = find_end(lower);
    if (end == std::string::npos) {
      absl::StrAppend(&out, without_user_info(line, removed), "\n");
      continue;
    }
    // "password = ", "PASSWORD:" and the like with nothing behind
    goes_on = line.find_first_not_of(" \t\r:='\"", end) == std::string::npos;
    ++*removed;
    absl::StrAppend(&out, without_user_info(line.substr(0, end), removed), " ", kRemoved, "\n");
  }
  if (!out.empty()) out.pop_back();  // the last line ends with the text
  return out;
}

}  // namespace scyper::client
