#include "replication/parcel.h"

#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "absl/strings/str_cat.h"

namespace scyper::replication {

namespace {
constexpr uint32_t kStreamsMax = 1 << 16;

Status agree(const char* what, uint64_t* given, uint64_t found, bool is_given) {
  if (is_given && *given != found) {
    return absl::DataLossError(absl::StrCat("the group's ", what, " is ", found, ", it was sent as ", *given));
  }
  *given = found;
  return Status();
}

// Bytes of a group are never to be continued.
Status cut_off(const Status& status) {
  return absl::IsOutOfRange(status) ? absl::DataLossError(status.message()) : status;
}

// Of what `rest` begins with.
StatusOr<BatchView> read_batch(std::string_view rest, const PartitionSet& partitions) {
  BatchView batch;
  SCYPER_ASSIGN_OR_RETURN(batch.header, read_batch_header(rest));
  batch.has_body = has_stream(partitions, batch.header.stream);
  if (batch.has_body) {
    SCYPER_ASSIGN_OR_RETURN(batch.body, read_batch_body(batch.header, rest));
  }
  return batch;
}

size_t bytes_of(const BatchView& batch) { return batch.has_body ? batch.header.total_bytes() : sizeof(BatchHeader); }

// Whether a header stands alone: behind it comes the group's next one, or nothing.
bool is_alone(const BatchHeader& header, std::string_view behind) {
  if (header.group_index + 1 == header.group_batches) return behind.empty();
  const auto next = read_batch_header(behind);
  return next.ok() && next->group_index == header.group_index + 1 && next->complete_lsn == header.complete_lsn;
}
}  // namespace

StatusOr<std::vector<BatchView>> open_parcel(const ClusterId& cluster, Parcel* parcel, const PartitionSet& partitions) {
  std::vector<BatchView> batches;
  std::string_view rest = *parcel->bytes;
  uint64_t count = 0;
  uint64_t complete = 0;
  size_t expected = 1;
  while (batches.size() < expected) {
    const auto batch = read_batch(rest, partitions);
    if (!batch.ok()) return cut_off(batch.status());
    const BatchHeader& header = batch->header;
    if (!(header.cluster == cluster)) return absl::PermissionDeniedError("the batch belongs to another cluster");
    if (batches.empty()) {
      expected = header.group_batches;
      complete = header.complete_lsn;
      parcel->snapshot = header.snapshot;
      parcel->is_digested = (header.group_flags & kGroupDigest) != 0;
    }
    if (header.group_batches != expected || header.group_index != batches.size() || header.complete_lsn != complete ||
        header.snapshot != parcel->snapshot || header.stream >= kStreamsMax) {
      return absl::DataLossError("the batches are not of one group");
    }
    if (!batches.empty() && header.term != batches.front().header.term) {
      return absl::DataLossError("the batches of the group differ in their terms");
    }
    count += header.count;
    rest.remove_prefix(bytes_of(*batch));
    batches.push_back(*batch);
  }
  if (!rest.empty()) return absl::DataLossError("bytes are left behind the group");
  if (count > complete) return absl::DataLossError("the group has more records than LSNs");
  const bool is_given = parcel->complete_lsn != 0;
  SCYPER_RETURN_IF_ERROR(agree("first LSN", &parcel->base_lsn, complete - count, is_given));
  SCYPER_RETURN_IF_ERROR(agree("last LSN", &parcel->complete_lsn, complete, is_given));
  SCYPER_RETURN_IF_ERROR(agree("term", &parcel->term, batches.front().header.term, parcel->term != 0));
  for (const BatchView& batch : batches) {
    if (batch.header.first_lsn <= parcel->base_lsn) {
      return absl::DataLossError("the batch has LSNs of a group before");
    }
  }
  return batches;
}

StatusOr<Parcel> partial_parcel(const Parcel& parcel, const PartitionSet& partitions) {
  if (partitions.is_all()) return parcel;
  std::string kept;
  std::string_view rest = *parcel.bytes;
  size_t expected = 1;
  for (size_t i = 0; i < expected; ++i) {
    const auto header = read_batch_header(rest);
    if (!header.ok()) return cut_off(header.status());
    if (i == 0) expected = header->group_batches;
    const bool is_kept = has_stream(partitions, header->stream);
    const bool is_there = is_kept || !is_alone(*header, rest.substr(sizeof(BatchHeader)));
    const size_t bytes = is_there ? header->total_bytes() : sizeof(BatchHeader);
    if (rest.size() < bytes) return absl::DataLossError("the batch is cut off");
    kept += rest.substr(0, is_kept ? bytes : sizeof(BatchHeader));
    rest.remove_prefix(bytes);
  }
  if (!rest.empty()) return absl::DataLossError("bytes are left behind the group");
  Parcel partial = parcel;
  if (kept.size() < parcel.bytes->size()) partial.bytes = std::make_shared<const std::string>(std::move(kept));
  return partial;
}

Status follow_chain(const std::vector<BatchView>& batches, bool joins, std::vector<ChainPosition>* positions) {
  std::vector<ChainPosition> next = *positions;
  for (const BatchView& batch : batches) {
    const BatchHeader& header = batch.header;
    if (header.stream >= next.size()) next.resize(header.stream + 1);
    ChainPosition& position = next[header.stream];
    const bool is_unknown = joins && position.number == 0;
    if (!is_unknown && (header.number != position.number + 1 || header.previous_hash != position.hash)) {
      return absl::DataLossError(absl::StrCat("batch ", header.number, " of stream ", header.stream,
                                              " does not follow batch ", position.number));
    }
    position = {header.number, header.header_hash};
  }
  *positions = std::move(next);
  return Status();
}

}  // namespace scyper::replication
