#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/status.h"
#include "replication/parcel.h"

namespace scyper::bench {

enum class Form : uint8_t { kRaw, kGrouped, kCompressed };
const char* form_name(Form form);

// Transactions that a node has logged (`scyper bench log --keep` leaves some), as they would travel.
struct RecordedLog {
  replication::ClusterId cluster;
  uint64_t base_lsn = 0;
  uint64_t entries = 0;      // transactions
  uint64_t entry_bytes = 0;  // of their records
  std::vector<replication::Parcel> parcels;
  uint64_t wire_bytes = 0;  // of the parcels
};
// Up to so many transactions of a data directory. kRaw: each on its own; kGrouped: as group commit had them, without
// compression; kCompressed: with LZ4.
StatusOr<RecordedLog> read_recorded_log(const std::string& directory, Form form, uint64_t entries_max);

}  // namespace scyper::bench
