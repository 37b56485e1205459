#include "storage/log_end.h"

#include <cinttypes>
#include <cstdio>

#include "absl/strings/str_cat.h"

namespace scyper::storage {

namespace {
constexpr size_t kBytesMax = 200;
std::string path_of(const std::string& log) { return log + ".end"; }
std::string text_of(const LogEnd& end) { return absl::StrCat("segment=", end.number, " bytes=", end.bytes, "\n"); }
}  // namespace

LogEnd read_log_end(Disk* disk, const std::string& log) {
  LogEnd end;
  if (!disk->exists(path_of(log))) return end;
  const auto text = disk->read_file(path_of(log), kBytesMax);
  if (!text.ok()) return end;
  const int fields = std::sscanf(text->c_str(), "segment=%" SCNu64 " bytes=%" SCNu64, &end.number, &end.bytes);
  return fields == 2 && text_of(end) == *text ? end : LogEnd();
}

Status write_log_end(Disk* disk, const std::string& log, const LogEnd& end) {
  return disk->replace_file(path_of(log), text_of(end));
}

Status forget_log_end(Disk* disk, const std::string& log) {
  if (!disk->exists(path_of(log))) return Status();
  SCYPER_RETURN_IF_ERROR(disk->remove(path_of(log)));
  return disk->sync_directory(log.substr(0, log.rfind('/')));
}

}  // namespace scyper::storage
