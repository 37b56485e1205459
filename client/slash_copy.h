#pragma once

#include <string>
#include <string_view>

#include "base/status.h"

namespace scyper::client {

// What `\copy` says: psql's syntax.
struct SlashCopy {
  enum class Place { kFile, kProgram, kScript, kTerminal };  // kScript: stdin or stdout; kTerminal: pstdin or pstdout
  bool is_from = false;
  Place place = Place::kFile;
  std::string file;  // or the program's command
  std::string sql;   // the COPY that the node gets
};

// arguments: what stands behind \copy. 42601 for what it cannot be.
StatusOr<SlashCopy> parse_slash_copy(std::string_view arguments);

}  // namespace scyper::client
