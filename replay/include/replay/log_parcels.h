#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "base/disk.h"
#include "base/status.h"
#include "replication/parcel.h"

namespace scyper::replay {

// The groups of a log that may be appended to meanwhile, behind an LSN, in order, until each() says no: as others are
// sent them. OutOfRange: the log begins later. Threads: any.
Status read_parcels(Disk* disk, const std::string& log_directory, const replication::ClusterId& cluster,
                    uint64_t after_lsn, const std::function<bool(replication::Parcel)>& each);

}  // namespace scyper::replay
