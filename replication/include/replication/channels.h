#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/partition_set.h"
#include "base/status.h"
#include "replication/batch.h"

// A primary's streams over several multicast groups, so that secondaries join those that they need:
// docs/replication.md, "Channels". Channel 0 has the headers of all batches of a group and the bodies of stream 0, each
// behind its header; every other channel has the bodies of its streams, with their padding, one behind the other.
namespace scyper::replication {

constexpr uint32_t kChannelsMax = 64;

// Where a stream's bodies are sent.
constexpr uint32_t channel_of(uint32_t stream, uint32_t channels) {
  return stream == 0 || channels <= 1 ? 0 : 1 + (stream - 1) % (channels - 1);
}
// Those that a node with these partitions joins, a bit each, the lowest for channel 0.
uint64_t channels_of(const PartitionSet& partitions, uint32_t channels);
constexpr bool has_channel(uint64_t joined, uint32_t channel) { return (joined >> channel & 1) != 0; }

// The address of a channel's group: so many behind `group`. 22023: `group`, or that, is no IPv4 multicast address.
StatusOr<std::string> channel_group(const std::string& group, uint32_t channel);

using ChannelParts = std::array<std::string, kChannelsMax>;
// Cuts a group of this node's own log. Parts of channels without a body are empty.
void cut_group(std::string_view group, uint32_t channels, ChannelParts* parts);

// What channel 0 says of a group: which other channels have bodies that a subscriber takes, and where. With one
// channel: of a group that came whole.
class GroupLayout {
 public:
  // Nothing: these are not the headers and bodies that channel 0 has, or the group is larger than bytes_max. Whatever
  // the bytes are, nothing outside of them is read.
  static std::optional<GroupLayout> read(std::string_view base, uint32_t channels, const PartitionSet& partitions,
                                         size_t bytes_max);

  // Channels beside 0, a bit each.
  uint64_t needed() const { return needed_; }
  // Of a channel that is needed: the bytes of its part.
  uint64_t part_bytes(uint32_t channel) const { return part_bytes_[channel]; }
  // The parcel: all headers in order, each followed by its body where the stream is subscribed.
  // Precondition: `base` is what read() was given; parts of needed channels have part_bytes().
  std::string join(std::string_view base, const std::array<std::string_view, kChannelsMax>& parts) const;

 private:
  struct Batch {
    uint32_t channel = 0;
    uint32_t kept_bytes = 0;  // behind the header; 0: not subscribed, or without a body
    uint32_t sent_bytes = 0;  // in the channel's part
  };
  std::vector<Batch> batches_;
  std::array<uint64_t, kChannelsMax> part_bytes_{};
  uint64_t needed_ = 0;
  uint64_t bytes_ = 0;
};

}  // namespace scyper::replication
