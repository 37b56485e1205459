#pragma once

#include <string>
#include <vector>

#include "base/status.h"

namespace scyper::replication {

// A program that lies beside this one.
std::string program_beside_this(const char* name);
// Starts it, with these files open, no others that are not for all, and no signal blocked. Its process id; Unavailable.
StatusOr<int> start_program(const std::string& path, std::vector<std::string> arguments, const std::vector<int>& fds);
// A text that another process has written into memory that both share: whatever it is, one line of plain characters.
std::string plain_text(const char* bytes, size_t size_max);

}  // namespace scyper::replication
