#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>

namespace scyper::replication {

// Packets that OpenPGM keeps for repairs: of one channel, and the least that each of several has.
constexpr uint32_t kRepairWindow = 65536;
constexpr uint32_t kRepairWindowMin = 8192;

// What is kept of each channel, in packets. A power of two: OpenPGM finds a packet's place by its 32-bit number modulo
// the window, which else jumps where numbers begin again, and packets still kept are then taken for others.
constexpr uint32_t repair_window_of(uint32_t channels) {
  return std::max(std::bit_floor(kRepairWindow / channels), kRepairWindowMin);
}

// Repairs of each channel, in bytes per second: together a quarter of the rate, but a packet at least, as OpenPGM ends
// the process below that.
constexpr int repair_rate_of(int bytes_per_second, uint32_t channels, int mtu) {
  return std::max(bytes_per_second / 4 / static_cast<int>(channels), mtu);
}

}  // namespace scyper::replication
