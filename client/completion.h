#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "client/client.h"

namespace scyper::client {

// What the shell offers for the word at the cursor. before: the line up to the word. Tables behind FROM and its like,
// procedures behind CALL, the shell's commands at a backslash, else keywords, tables, columns and functions. Keywords
// come in the case in which the word began.
std::vector<std::string> complete(std::string_view before, std::string_view word, const Description& description);

}  // namespace scyper::client
