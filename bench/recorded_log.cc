#include "recorded_log.h"

#include <algorithm>
#include <map>
#include <memory>
#include <utility>

#include "base/disk.h"
#include "replay/log_scan.h"
#include "replay/record.h"
#include "replay/recovery.h"

namespace scyper::bench {

namespace {

// A transaction's record, and in front of it what explains its statement.
struct Entry {
  uint64_t lsn = 0;
  uint32_t stream = 0;
  std::string bytes;
};

class Maker {
 public:
  Maker(Form form, RecordedLog* out) : form_(form), out_(out) {}

  Status add(const replay::ScannedGroup& group) {
    std::vector<Entry> entries;
    for (const replay::ScannedBatch& batch : group.batches) SCYPER_RETURN_IF_ERROR(take(batch, &entries));
    std::sort(entries.begin(), entries.end(), [](const Entry& a, const Entry& b) { return a.lsn < b.lsn; });
    if (entries.empty()) return Status();
    if (out_->entries == 0) out_->base_lsn = lsn_ = entries.front().lsn - 1;
    out_->entries += entries.size();
    for (const Entry& entry : entries) out_->entry_bytes += entry.bytes.size();
    if (form_ != Form::kRaw) {
      send(entries);
      return Status();
    }
    for (Entry& entry : entries) send({std::move(entry)});
    return Status();
  }

 private:
  static Status take(const replay::ScannedBatch& batch, std::vector<Entry>* entries) {
    std::string raw;
    SCYPER_RETURN_IF_ERROR(replication::unpack_batch(batch.header, batch.body, &raw));
    std::string_view rest = raw;
    replay::RecordView record;
    std::string explained;
    while (replay::take_record(&rest, &record)) {
      explained += record.bytes;
      if (record.header.lsn == 0) continue;
      entries->push_back({record.header.lsn, batch.header.stream, std::exchange(explained, "")});
    }
    return Status();
  }

  // As one group: a batch for each stream.
  void send(const std::vector<Entry>& entries) {
    std::map<uint32_t, std::vector<const Entry*>> streams;
    for (const Entry& entry : entries) streams[entry.stream].push_back(&entry);
    replication::Parcel parcel;
    parcel.term = 1;
    parcel.base_lsn = lsn_;
    parcel.complete_lsn = lsn_ = entries.back().lsn;
    std::string bytes;
    uint16_t index = 0;
    for (const auto& [stream, of_stream] : streams) {
      std::string raw;
      for (const Entry* entry : of_stream) raw += entry->bytes;
      replication::BatchHeader header;
      header.group_index = index++;
      header.group_batches = static_cast<uint16_t>(streams.size());
      header.stream = stream;
      header.cluster = out_->cluster;
      header.term = 1;
      replication::ChainPosition& position = positions_[stream];
      header.number = position.number + 1;
      header.previous_hash = position.hash;
      header.first_lsn = of_stream.front()->lsn;
      header.last_lsn = of_stream.back()->lsn;
      header.count = static_cast<uint32_t>(of_stream.size());
      header.complete_lsn = parcel.complete_lsn;
      std::string out(replication::batch_bytes_max(raw.size()), '\0');
      out.resize(replication::write_batch(&header, raw, form_ == Form::kCompressed, out.data()));
      position = {header.number, header.header_hash};
      bytes += out;
    }
    out_->wire_bytes += bytes.size();
    parcel.bytes = std::make_shared<const std::string>(std::move(bytes));
    out_->parcels.push_back(std::move(parcel));
  }

  const Form form_;
  RecordedLog* const out_;
  uint64_t lsn_ = 0;
  std::map<uint32_t, replication::ChainPosition> positions_;
};

}  // namespace

const char* form_name(Form form) {
  return form == Form::kRaw ? "raw" : form == Form::kGrouped ? "grouped" : "grouped_lz4";
}

StatusOr<RecordedLog> read_recorded_log(const std::string& directory, Form form, uint64_t entries_max) {
  auto disk = make_real_disk();
  SCYPER_ASSIGN_OR_RETURN(const auto identity, replay::open_data_directory(disk.get(), directory, 0));
  RecordedLog log;
  log.cluster = identity.cluster;
  SCYPER_ASSIGN_OR_RETURN(auto scan, replay::LogScan::open(disk.get(), replay::log_directory(directory),
                                                           identity.cluster, replay::LogScan::Care::kLooks));
  Maker maker(form, &log);
  replay::ScannedSegment segment;
  while (log.entries < entries_max) {
    SCYPER_ASSIGN_OR_RETURN(const bool any, scan->next(&segment));
    if (!any) break;
    for (const replay::ScannedGroup& group : segment.groups) {
      if (log.entries < entries_max) SCYPER_RETURN_IF_ERROR(maker.add(group));
    }
  }
  if (log.entries == 0) return absl::NotFoundError(directory + " has no log");
  return log;
}

}  // namespace scyper::bench
