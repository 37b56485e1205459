#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>

namespace scyper::replication {

// Datagrams from one process to another, through memory that both have mapped. The other side is not trusted: whatever
// it writes, only bytes of the ring are read. Lies in zeroed memory; one writer, one reader, no locks.
// Units: positions count bytes and never wrap; records are 3 bytes of size, one of a tag, the bytes, padding to 8.
class SharedRing {
 public:
  static constexpr uint64_t kBytes = uint64_t{8} << 20;
  static constexpr uint32_t kRecordBytesMax = 64 << 10;

  // False: full. The datagram is lost, as on a network. tag: goes with it, as the channel that it is for.
  bool write(std::string_view bytes, uint8_t tag = 0) {
    const uint64_t needed = round_up(sizeof(uint32_t) + bytes.size());
    const uint64_t head = head_.load(std::memory_order_relaxed);
    const uint64_t tail = tail_.load(std::memory_order_acquire);
    if (bytes.size() > kRecordBytesMax || head - tail > kBytes || kBytes - (head - tail) < needed) return false;
    const uint32_t word = static_cast<uint32_t>(bytes.size()) | uint32_t{tag} << kTagShift;
    copy_in(head, &word, sizeof(word));
    copy_in(head + sizeof(word), bytes.data(), bytes.size());
    head_.store(head + needed, std::memory_order_release);
    return true;
  }

  // The next record to *out, which has room for room_bytes; 0 = there is none. One that is larger is taken, not copied.
  // A ring that makes no sense is emptied.
  size_t read(char* out, size_t room_bytes = kRecordBytesMax, uint8_t* tag = nullptr) {
    const uint64_t tail = tail_.load(std::memory_order_relaxed);
    const uint64_t head = head_.load(std::memory_order_acquire);
    const uint64_t filled = head - tail;
    if (filled == 0) return 0;
    uint32_t word = 0;
    copy_out(tail, &word, sizeof(word));
    const uint32_t size = word & kSizeMask;
    const uint64_t taken = round_up(sizeof(size) + uint64_t{size});
    if (filled > kBytes || size == 0 || size > kRecordBytesMax || taken > filled) {
      tail_.store(head, std::memory_order_release);
      return 0;
    }
    if (tag != nullptr) *tag = static_cast<uint8_t>(word >> kTagShift);
    if (size <= room_bytes) copy_out(tail + sizeof(size), out, size);
    tail_.store(tail + taken, std::memory_order_release);
    return size;
  }
  bool is_empty() const { return head_.load(std::memory_order_acquire) == tail_.load(std::memory_order_acquire); }

 private:
  static constexpr uint32_t kTagShift = 24;
  static constexpr uint32_t kSizeMask = (uint32_t{1} << kTagShift) - 1;
  static_assert(kRecordBytesMax <= kSizeMask);
  static uint64_t round_up(uint64_t bytes) { return (bytes + 7) / 8 * 8; }
  void copy_in(uint64_t position, const void* from, size_t size) {
    const uint64_t at = position % kBytes;
    const size_t first = size < kBytes - at ? size : kBytes - at;
    std::memcpy(data_ + at, from, first);
    std::memcpy(data_, static_cast<const char*>(from) + first, size - first);
  }
  void copy_out(uint64_t position, void* to, size_t size) const {
    const uint64_t at = position % kBytes;
    const size_t first = size < kBytes - at ? size : kBytes - at;
    std::memcpy(to, data_ + at, first);
    std::memcpy(static_cast<char*>(to) + first, data_, size - first);
  }

  alignas(64) std::atomic<uint64_t> head_;
  alignas(64) std::atomic<uint64_t> tail_;
  alignas(64) char data_[kBytes];
};

// Wakes who waits for a ring to be filled; costs a system call only where somebody does.
class RingBell {
 public:
  // The reader, before it looks into the ring for the last time and sleeps; and when it is awake.
  void arm() {
    sleeps_.store(1, std::memory_order_relaxed);
    std::atomic_thread_fence(std::memory_order_seq_cst);
  }
  void disarm() { sleeps_.store(0, std::memory_order_relaxed); }
  // The writer, behind what it has written: whether to wake the reader.
  bool rings() {
    std::atomic_thread_fence(std::memory_order_seq_cst);
    return sleeps_.load(std::memory_order_relaxed) != 0 && sleeps_.exchange(0) != 0;
  }

 private:
  std::atomic<uint32_t> sleeps_;
};

// All that a node and its multicast process share.
struct MulticastMemory {
  static constexpr size_t kReasonBytes = 256;

  SharedRing to_wire;
  SharedRing from_wire;
  alignas(64) RingBell wire_bell;           // the process sleeps
  alignas(64) RingBell node_bell;           // the node does
  alignas(64) std::atomic<uint64_t> beats;  // the process's: it lives
  std::atomic<uint32_t> is_ready;           // its socket is open
  std::atomic<uint64_t> sent, received, resets, dropped;
  std::atomic<uint32_t> datagram_bytes;    // verbs: the largest, as the port's MTU allows; set before is_ready
  std::atomic<uint64_t> registered_bytes;  // verbs: locked in memory
  char reason[kReasonBytes];               // verbs: why the process ends, before it does; any bytes
};
static_assert(std::atomic<uint64_t>::is_always_lock_free);

}  // namespace scyper::replication
