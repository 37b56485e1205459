#include "replication/parcel.h"

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
}  // namespace

StatusOr<std::vector<BatchView>> open_parcel(const ClusterId& cluster, Parcel* parcel) {
  std::vector<BatchView> batches;
  std::string_view rest = *parcel->bytes;
  uint64_t count = 0;
  uint64_t complete = 0;
  size_t expected = 1;
  while (batches.size() < expected) {
    BatchView batch;
    SCYPER_ASSIGN_OR_RETURN(batch.header, read_batch_header(rest));
    SCYPER_ASSIGN_OR_RETURN(batch.body, read_batch_body(batch.header, rest));
    const BatchHeader& header = batch.header;
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
    rest.remove_prefix(header.total_bytes());
    batches.push_back(batch);
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
