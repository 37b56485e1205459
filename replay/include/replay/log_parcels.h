#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "base/disk.h"
#include "base/status.h"
#include "replay/log_scan.h"
#include "replication/parcel.h"

namespace scyper::replay {

// A group that came as a parcel, for a Replayer: the batches whose bodies are there. Valid as long as the parcel's
// bytes.
ScannedGroup scanned_group(uint64_t complete_lsn, const std::vector<replication::BatchView>& batches);

// The groups of a log that may be appended to meanwhile, behind an LSN, in order, until each() says no: as others are
// sent them. OutOfRange: the log begins later. Threads: any.
Status read_parcels(Disk* disk, const std::string& log_directory, const replication::ClusterId& cluster,
                    uint64_t after_lsn, const std::function<bool(replication::Parcel)>& each);

}  // namespace scyper::replay
