#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/partition_set.h"
#include "base/status.h"
#include "replication/batch.h"

// What travels from the primary to the secondaries: docs/replication.md.
namespace scyper::replication {

// One group of the log (docs/log_format.md): everything with base_lsn < LSN <= complete_lsn, in all streams.
struct Parcel {
  uint64_t term = 0;  // of its batches
  uint64_t base_lsn = 0;
  uint64_t complete_lsn = 0;
  uint32_t snapshot = 0;                     // number of the global snapshot whose cut is complete_lsn; 0 = none
  bool is_digested = false;                  // all nodes digest their state at that snapshot
  bool is_unproven = false;                  // came by multicast without a key: anybody may have sent it
  std::shared_ptr<const std::string> bytes;  // its batches, one behind the other
};

// How far the primary is. Never falls within a term.
struct Watermark {
  uint64_t term = 0;
  uint64_t term_lsn = 0;      // the term's own groups begin behind it: what earlier terms have beyond does not count
  uint64_t complete_lsn = 0;  // sent up to here
  uint64_t commit_lsn = 0;    // confirmed up to here: may be applied and shown
  int64_t time_us = 0;        // the primary's clock, for lag; never for decisions
  friend bool operator==(const Watermark&, const Watermark&) = default;
};

// Stream 0 has what runs alone, for everybody; stream n + 1 has partition n (docs/transaction_redo.md).
inline bool has_stream(const PartitionSet& partitions, uint32_t stream) {
  return stream == 0 || partitions.has(stream - 1);
}

struct BatchView {
  BatchHeader header;
  std::string_view body;  // as stored, in the parcel's bytes; empty where it is not there
  bool has_body = true;   // else its stream is not subscribed to
};

// Reads the batches of a group and checks that they are one: hashes, cluster, numbering within the group, one complete
// point, and that they hold each LSN behind base_lsn once. Completes all but the bytes of *parcel from them; what was
// set before must agree. Whatever the bytes are, nothing outside of them is read.
// partitions: those whose streams have their bodies in it, behind the headers of all batches. DataLoss for a body that
// is not there, as for one that should not be.
StatusOr<std::vector<BatchView>> open_parcel(const ClusterId& cluster, Parcel* parcel,
                                             const PartitionSet& partitions = PartitionSet::all());
// Of a whole group what a subscription takes: a copy of the headers and of the bodies of its streams. Of one that is
// partial already, by the same subscription, that one. What bodies hold is for open_parcel() to check; errors as there.
StatusOr<Parcel> partial_parcel(const Parcel& parcel, const PartitionSet& partitions);

// Where a stream's chain of hashes stands.
struct ChainPosition {
  uint64_t number = 0;
  uint64_t hash = 0;
  friend bool operator==(const ChainPosition&, const ChainPosition&) = default;
};
// Whether the batches go on where the streams stand, and moves them on; a stream that is not known yet (number 0) goes
// on anywhere when `joins` says so. On error nothing has changed.
Status follow_chain(const std::vector<BatchView>& batches, bool joins, std::vector<ChainPosition>* positions);

}  // namespace scyper::replication
