#include "replay/log_parcels.h"

#include <memory>
#include <utility>

#include "absl/strings/str_cat.h"

namespace scyper::replay {

ScannedGroup scanned_group(uint64_t complete_lsn, const std::vector<replication::BatchView>& batches) {
  ScannedGroup group;
  group.complete_lsn = complete_lsn;
  for (const replication::BatchView& batch : batches) {
    if (batch.has_body) group.batches.push_back({batch.header, batch.body, 0});
  }
  return group;
}

Status read_parcels(Disk* disk, const std::string& log_directory, const replication::ClusterId& cluster,
                    uint64_t after_lsn, const std::function<bool(replication::Parcel)>& each) {
  SCYPER_ASSIGN_OR_RETURN(auto scan, LogScan::open(disk, log_directory, cluster, LogScan::Care::kFollows));
  SCYPER_RETURN_IF_ERROR(scan->skip_to(after_lsn));
  ScannedSegment segment;
  bool is_first = true;
  while (true) {
    SCYPER_ASSIGN_OR_RETURN(const bool any, scan->next(&segment));
    if (!any) return Status();
    if (std::exchange(is_first, false) && scan->start_lsn() > after_lsn) {
      return absl::OutOfRangeError(absl::StrCat("the log begins behind LSN ", scan->start_lsn()));
    }
    for (const ScannedGroup& group : segment.groups) {
      if (group.complete_lsn <= after_lsn) continue;
      const char* begin = group.batches.front().body.data() - sizeof(replication::BatchHeader);
      const ScannedBatch& last = group.batches.back();
      const char* end = last.body.data() - sizeof(replication::BatchHeader) + last.header.total_bytes();
      replication::Parcel parcel;
      parcel.complete_lsn = group.complete_lsn;
      parcel.bytes = std::make_shared<const std::string>(begin, static_cast<size_t>(end - begin));
      if (!each(std::move(parcel))) return Status();
    }
  }
}

}  // namespace scyper::replay
