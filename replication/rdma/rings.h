#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>

namespace scyper::replication {

// What lies in front of the bytes of every datagram that an unreliable-datagram queue pair receives: room for a global
// routing header, written or not.
constexpr uint32_t kRoutingHeaderBytes = 40;
constexpr uint32_t kCacheLineBytes = 64;

// Slots of registered memory, of one datagram each.
// Units: count is a multiple of kSignalEvery.
struct RingLayout {
  static constexpr uint32_t kSignalEvery = 32;
  static constexpr uint32_t kSlotsMin = 2 * kSignalEvery;

  uint32_t slot_bytes = 0;
  uint32_t count = 0;
  uint64_t bytes() const { return uint64_t{slot_bytes} * count; }
  uint64_t offset(uint32_t slot) const { return uint64_t{slot} * slot_bytes; }

  // As many as memory_bytes hold and the device takes, at least kSlotsMin; count 0: the device takes less.
  static RingLayout make(uint32_t datagram_bytes, uint64_t memory_bytes, uint64_t device_max) {
    RingLayout made;
    made.slot_bytes = (kRoutingHeaderBytes + datagram_bytes + kCacheLineBytes - 1) / kCacheLineBytes * kCacheLineBytes;
    const uint64_t wanted = std::max<uint64_t>(memory_bytes / made.slot_bytes, kSlotsMin);
    const uint64_t count = std::min<uint64_t>({wanted, device_max, kSlotsMax}) / kSignalEvery * kSignalEvery;
    made.count = count < kSlotsMin ? 0 : static_cast<uint32_t>(count);
    return made;
  }

 private:
  static constexpr uint64_t kSlotsMax = 16'384;
};

// Which slots of a send queue are free, where only every kSignalEvery-th request is answered by a completion: that of
// one says that all before it are done, as a queue pair sends in order.
class SendSlots {
 public:
  explicit SendSlots(uint32_t count) : count_(count) {}
  bool has_room() const { return posted_ - done_ < count_; }
  struct Request {
    uint32_t slot;
    uint64_t number;  // its completion carries it
    bool is_signalled;
  };
  // What take() takes. Precondition of both: has_room().
  Request next() const {
    return {static_cast<uint32_t>(posted_ % count_), posted_, (posted_ + 1) % RingLayout::kSignalEvery == 0};
  }
  void take() { ++posted_; }
  // False: a completion of something that was not posted, or had been completed before.
  bool complete(uint64_t number) {
    if (number >= posted_ || number < done_) return false;
    done_ = number + 1;
    return true;
  }

 private:
  const uint32_t count_;
  uint64_t posted_ = 0, done_ = 0;
};

// The 16 bytes of an IPv4 address as a global identifier (RoCE v2): ::ffff:a.b.c.d. address: network byte order.
inline bool is_ipv4_gid(const uint8_t* gid, uint32_t* address) {
  static constexpr uint8_t kMapped[12] = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff};
  if (std::memcmp(gid, kMapped, sizeof(kMapped)) != 0) return false;
  std::memcpy(address, gid + sizeof(kMapped), sizeof(*address));
  return true;
}

}  // namespace scyper::replication
