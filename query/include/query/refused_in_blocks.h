#pragma once

#include <string>
#include <string_view>

namespace scyper::query {

// The command that the statement is and that cannot run inside a transaction block, as PostgreSQL names it; empty: it
// can. Only what its text says counts: here the command would not need to run alone.
std::string command_refused_in_block(std::string_view sql);

}  // namespace scyper::query
