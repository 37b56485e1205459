#pragma once

#include <string>

#include "base/status.h"

namespace scyper {

// A whole file: certificates, keys and other short texts. NotFound when it cannot be read. Any thread.
StatusOr<std::string> read_text_file(const std::string& path);
// The same of a path that may be unset: empty, then so is the text.
StatusOr<std::string> read_optional_text_file(const std::string& path);

}  // namespace scyper
