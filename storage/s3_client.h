#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"

// Requests to an S3-compatible store (REST, AWS Signature Version 4 by libcurl).
namespace scyper::storage {

struct StorePlace {
  std::string bucket;
  std::string key;  // without a slash in front
};
// "s3://bucket/key". 22023 for names that would need escapes.
StatusOr<StorePlace> parse_store_path(std::string_view path);

struct StoreListing {
  std::vector<std::string> names;  // of files and directories below a key, sorted
};

// One connection, kept between requests; those that fail for reasons of the network or the server are tried again.
// Threads: one at a time.
class S3Client {
 public:
  S3Client();
  ~S3Client();
  S3Client(const S3Client&) = delete;
  S3Client& operator=(const S3Client&) = delete;

  StatusOr<uint64_t> size(const StorePlace& place);  // NotFound
  // Fewer than `size` bytes only at the end.
  Status get(const StorePlace& place, uint64_t offset, uint64_t size, std::string* out);
  Status put(const StorePlace& place, std::string_view bytes);
  Status remove(const StorePlace& place);
  StatusOr<StoreListing> list(const StorePlace& directory, uint32_t limit);

  // A file in parts: numbers from 1 on, each but the last at least 5 MiB.
  StatusOr<std::string> begin_upload(const StorePlace& place);
  StatusOr<std::string> put_part(const StorePlace& place, const std::string& upload, uint32_t number,
                                 std::string_view bytes);
  Status finish_upload(const StorePlace& place, const std::string& upload, const std::vector<std::string>& tags);
  void abandon_upload(const StorePlace& place, const std::string& upload);

 private:
  struct Request;
  struct Answer;
  StatusOr<Answer> send(const Request& request);
  Status try_once(const Request& request, const std::string& url, Answer* answer, bool* is_final);

  void* handle_ = nullptr;  // CURL
};

}  // namespace scyper::storage
