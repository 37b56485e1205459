#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "shared_ring.h"

namespace scyper::replication {

// What a node and its scyper-rdma process share for one channel of bulk data, control and slots: a source's node fills
// slots that its process lets the peer read; a sink's process fills slots that its node reads. Mapped as shared by
// both, so that the pages a device uses are never copied by a fork. Neither side trusts the other's numbers. Units:
// slots are numbered from 0 and never wrap; number % count is where one lies.
struct BulkMemory {
  // Of one read over the wire. Smaller ones cost more messages, larger ones more memory until all is under way.
  static constexpr uint32_t kSlotBytes = 256 << 10;
  static constexpr uint32_t kSlotsMin = 4, kSlotsMax = 256;
  static constexpr size_t kHeaderBytes = 8 << 10;
  static constexpr size_t kReasonBytes = 256;
  static constexpr size_t kTokenBytes = 16;

  RingBell wire_bell;                          // the process sleeps
  alignas(64) RingBell node_bell;              // the node does
  alignas(64) std::atomic<uint64_t> beats;     // the process's: it lives
  std::atomic<uint32_t> is_ready;              // a source listens; a sink is connected
  std::atomic<uint32_t> is_connected;          // to a peer that has shown the token
  std::atomic<uint32_t> address, port;         // a source's: IPv4 in network byte order; set before is_ready
  std::atomic<uint64_t> registered_bytes;      // locked in memory
  alignas(64) std::atomic<uint64_t> filled;    // slots, by whoever fills them
  alignas(64) std::atomic<uint64_t> released;  // by whoever has emptied them
  uint8_t token[kTokenBytes];              // drawn by the source's node, told to the sink's: no peer is let in without
  char reason[kReasonBytes];               // why the process ends, before it does; any bytes
  std::atomic<uint32_t> sizes[kSlotsMax];  // of what lies in the slots; before `filled`

  static size_t bytes(uint32_t slots) { return kHeaderBytes + size_t{slots} * kSlotBytes; }
  static uint32_t slots_of(uint64_t memory_bytes) {
    const uint64_t wanted = memory_bytes / kSlotBytes;
    return wanted < kSlotsMin ? kSlotsMin : wanted > kSlotsMax ? kSlotsMax : static_cast<uint32_t>(wanted);
  }
  char* slot(uint64_t number, uint32_t count) {
    return reinterpret_cast<char*>(this) + kHeaderBytes + number % count * kSlotBytes;
  }
};
static_assert(sizeof(BulkMemory) <= BulkMemory::kHeaderBytes);

}  // namespace scyper::replication
