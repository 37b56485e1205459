#include "base/disk.h"

#include "absl/strings/str_cat.h"

namespace scyper {

std::string directory_of(const std::string& path) {
  const size_t slash = path.rfind('/');
  if (slash == std::string::npos) return ".";
  return slash == 0 ? "/" : path.substr(0, slash);
}

StatusOr<std::string> Disk::read_file(const std::string& path, uint64_t bytes_max) {
  SCYPER_ASSIGN_OR_RETURN(auto file, open(path, OpenMode::kRead));
  SCYPER_ASSIGN_OR_RETURN(uint64_t bytes, file->size());
  if (bytes > bytes_max) return absl::DataLossError(absl::StrCat(path, ": has ", bytes, " bytes, too many"));
  std::string content(bytes, '\0');
  SCYPER_ASSIGN_OR_RETURN(size_t read, file->read(0, content.data(), content.size()));
  content.resize(read);
  return content;
}

Status Disk::replace_file(const std::string& path, std::string_view bytes) {
  const std::string temporary = path + ".tmp";
  {
    SCYPER_ASSIGN_OR_RETURN(auto file, open(temporary, OpenMode::kCreate));
    SCYPER_RETURN_IF_ERROR(file->write(0, bytes));
    SCYPER_RETURN_IF_ERROR(file->sync());
  }
  SCYPER_RETURN_IF_ERROR(rename(temporary, path));
  return sync_directory(directory_of(path));
}

}  // namespace scyper
