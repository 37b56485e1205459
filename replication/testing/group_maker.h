#pragma once

#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "replication/parcel.h"

namespace scyper::replication {

// Makes groups as a primary does, one behind the other: for tests. A copy goes on with a history of its own.
class GroupMaker {
 public:
  using Record = std::function<std::string(uint64_t lsn)>;
  explicit GroupMaker(
      const ClusterId& cluster, Record record = [](uint64_t lsn) { return std::to_string(lsn); })
      : cluster_(cluster), record_(std::move(record)) {}

  // One batch of `count` records for each stream. The parcel is as multicast brings it. snapshot: the global one that
  // it ends with, digested too; 0 = none.
  Parcel make(uint64_t term, const std::vector<uint32_t>& streams, uint32_t count, uint64_t commit_lsn = 0,
              uint32_t snapshot = 0) {
    Parcel parcel;
    parcel.term = term;
    parcel.base_lsn = lsn_;
    parcel.complete_lsn = lsn_ + streams.size() * count;
    std::string bytes;
    for (size_t i = 0; i < streams.size(); ++i) {
      BatchHeader header;
      header.group_index = static_cast<uint16_t>(i);
      header.group_batches = static_cast<uint16_t>(streams.size());
      header.stream = streams[i];
      header.cluster = cluster_;
      header.term = term;
      if (positions_.size() <= streams[i]) positions_.resize(streams[i] + 1);
      ChainPosition& position = positions_[streams[i]];
      header.number = position.number + 1;
      header.previous_hash = position.hash;
      header.first_lsn = lsn_ + 1;
      header.last_lsn = lsn_ + count;
      header.count = count;
      header.complete_lsn = parcel.complete_lsn;
      header.commit_lsn = commit_lsn;
      header.snapshot = snapshot;
      if (snapshot != 0) header.group_flags = kGroupDigest;
      std::string raw;
      while (lsn_ < header.last_lsn) raw += record_(++lsn_);
      std::string out(batch_bytes_max(raw.size()), '\0');
      out.resize(write_batch(&header, raw, false, out.data()));
      position = {header.number, header.header_hash};
      bytes += out;
    }
    parcel.bytes = std::make_shared<const std::string>(std::move(bytes));
    return parcel;
  }
  // As it comes from the primary's log: it says all in its batches.
  static Parcel fetched(const Parcel& parcel) {
    Parcel bare;
    bare.bytes = parcel.bytes;
    return bare;
  }

  uint64_t lsn() const { return lsn_; }
  const std::vector<ChainPosition>& positions() const { return positions_; }

 private:
  ClusterId cluster_;
  Record record_;
  uint64_t lsn_ = 0;
  std::vector<ChainPosition> positions_;
};

}  // namespace scyper::replication
