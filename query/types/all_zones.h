#pragma once

namespace scyper::query {

// Reads every zone of the system's database, so that their names mean the same where no file can be opened any more: in
// the children of snapshots. Once in a process; some ten milliseconds.
void load_all_zones() noexcept;

}  // namespace scyper::query
