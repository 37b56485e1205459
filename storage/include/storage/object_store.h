#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "base/disk.h"
#include "base/status.h"

// Archives in S3-compatible stores: "s3://bucket/prefix" instead of a directory. Endpoint and credentials come from the
// environment: AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY, AWS_SESSION_TOKEN, AWS_REGION, AWS_ENDPOINT_URL_S3 or
// AWS_ENDPOINT_URL.
namespace scyper::storage {

bool is_store_path(std::string_view path);

// The machine's disk, and stores behind their paths. In a store: files are written from their beginning to their end
// and exist from sync() on; there are no directories, links and renames; reads ask for some MB ahead. 28000 without
// credentials, 42501 where they do not suffice, 58P01 for a bucket that is not there, 58030 for all else.
// Threads: as every Disk. Fork: not in children: libcurl resolves names with the C library's locks.
std::unique_ptr<Disk> make_disk_with_stores();

// The files of an archive into archives/<its name>, the manifest last; what is there of an attempt before is replaced.
// bytes_per_second_max: 0 = no bound. on_progress: bytes so far, an error ends it; may be empty. The new path.
StatusOr<std::string> copy_archive(Disk* from, const std::string& path, Disk* to, const std::string& archives,
                                   uint64_t bytes_per_second_max, const std::function<Status(uint64_t)>& on_progress);

}  // namespace scyper::storage
