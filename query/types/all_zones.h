#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace scyper::query {

// PostgreSQL's usual abbreviations, in upper case, as they are now.
struct KnownAbbreviation {
  std::string name;
  int64_t east_seconds = 0;
  bool is_summer = false;
};
std::vector<KnownAbbreviation> known_abbreviations();
std::vector<std::string_view> zone_words();  // in lower case
// Of those that mean the same always.
bool is_summer_abbreviation(std::string_view word) noexcept;

// Reads every zone of the system's database, so that their names mean the same where no file can be opened any more: in
// the children of snapshots. Once in a process; some ten milliseconds.
void load_all_zones() noexcept;

}  // namespace scyper::query
