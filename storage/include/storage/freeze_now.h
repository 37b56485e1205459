#pragma once

#include <cstdint>

#include "storage/table.h"

namespace scyper::storage {

// For who loads or replays data while no compactor runs: memory that was enough for the node, with its cold data
// frozen, has to be enough for its restart.

// Freezes a full hot chunk, at once. needs_all_rows: only one that has a row at each position. False: it is no such
// chunk, its table is not to be frozen, or there is no memory for the image; then nothing has changed. Threads: whom
// the partition belongs to, between transactions.
bool freeze_now(TablePartition* partition, uint64_t chunk, bool needs_all_rows);

// If more than kTightPercent of the arena is used: freezes chunks of the partition, the oldest first and never the
// last one, until no more than kRoomyPercent is. Returns how many.
constexpr uint64_t kTightPercent = 70, kRoomyPercent = 40;
uint64_t freeze_while_tight(TablePartition* partition, bool needs_all_rows);

}  // namespace scyper::storage
