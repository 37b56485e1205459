#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace scyper::features {

struct ScriptStatement {
  int line = 0;
  std::string text;
  std::string differs;     // reason of "-- differs:"
  std::string state_only;  // reason of "-- state only:"
  std::string data;        // of COPY ... FROM STDIN: the lines behind it, up to \.
};

// Cuts a script at semicolons outside of quotes, comments, brackets and BEGIN ATOMIC bodies, as psql does.
std::vector<ScriptStatement> split_script(std::string_view text);

}  // namespace scyper::features
