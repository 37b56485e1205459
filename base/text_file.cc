#include "base/text_file.h"

#include <fstream>
#include <sstream>

namespace scyper {

StatusOr<std::string> read_text_file(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream text;
  if (!file || !(text << file.rdbuf())) return absl::NotFoundError("cannot read " + path);
  return text.str();
}

StatusOr<std::string> read_optional_text_file(const std::string& path) {
  return path.empty() ? std::string() : read_text_file(path);
}

}  // namespace scyper
