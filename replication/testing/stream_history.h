#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <functional>
#include <map>
#include <string_view>
#include <vector>

#include "base/partition_set.h"
#include "replication/parcel.h"

namespace scyper::replication {

// What each stream has had up to each border of the confirmed history, as a hash; and whether who has some of the
// streams has applied the same.
class StreamHistory {
 public:
  explicit StreamHistory(uint32_t streams) : streams_(streams) {}

  // A group that is confirmed: it follows what was added at its base, again when a primary starts anew.
  void add(Parcel parcel, const ClusterId& cluster) {
    const auto batches = open_parcel(cluster, &parcel);
    ASSERT_TRUE(batches.ok()) << batches.status();
    std::vector<uint64_t> hashes = at(parcel.base_lsn);
    mix(*batches, &hashes);
    hashes_[parcel.complete_lsn] = hashes;
  }
  // What is about to be applied makes the subscribed streams what was confirmed of them up to this border, no more and
  // no less. *applied: of all before; empty: that was another's, which is believed.
  void check(const Parcel& parcel, const std::vector<BatchView>& batches, const PartitionSet& partitions,
             std::vector<uint64_t>* applied) const {
    if (applied->empty()) *applied = at(parcel.base_lsn);
    mix(batches, applied);
    for (const BatchView& batch : batches) ASSERT_EQ(batch.has_body, has_stream(partitions, batch.header.stream));
    const std::vector<uint64_t> expected = at(parcel.complete_lsn);
    for (uint32_t stream = 0; stream < streams_; ++stream) {
      if (!has_stream(partitions, stream)) continue;
      ASSERT_EQ((*applied)[stream], expected[stream]) << "stream " << stream << " at LSN " << parcel.complete_lsn;
    }
  }

 private:
  std::vector<uint64_t> at(uint64_t lsn) const {
    const auto found = hashes_.find(lsn);
    return found == hashes_.end() ? std::vector<uint64_t>(streams_) : found->second;
  }
  static void mix(const std::vector<BatchView>& batches, std::vector<uint64_t>* hashes) {
    for (const BatchView& batch : batches) {
      if (!batch.has_body) continue;
      uint64_t& hash = (*hashes)[batch.header.stream];
      hash = (hash ^ std::hash<std::string_view>()(batch.body)) * 0x9E3779B97F4A7C15ull + batch.header.last_lsn;
    }
  }

  const uint32_t streams_;
  std::map<uint64_t, std::vector<uint64_t>> hashes_;  // by complete LSN
};

}  // namespace scyper::replication
