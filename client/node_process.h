#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

namespace scyper::client {

// A program of ours, by its name.
std::string program_beside_this(const std::string& name);
// A process with its output in a file, in a session of its own. Its pid.
pid_t launch(const std::vector<std::string>& arguments, const std::string& log);

}  // namespace scyper::client
