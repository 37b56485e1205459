#pragma once

#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cstdint>

#include "storage/page_cache.h"

// What lies in a page cache's shared memory. All atomics here are lock-free, so they work between processes and a
// process that is killed leaves none of them locked.
namespace scyper::storage {

constexpr uint32_t kReadersMax = 64;  // of a process: bits of a word
constexpr uint32_t kNoFrame = ~0u;
constexpr uint64_t kNoPage = ~uint64_t{0};

// Longest read: from here on the disk's rate does not rise (512 KB, eight at once).
constexpr size_t kReadBytesMax = size_t{512} << 10;

// A window of read-ahead has at most so many times the pages that it may read.
constexpr uint64_t kSpanMax = 16;

// File and page as one number.
constexpr int kPageNumberBits = 40;
constexpr uint64_t page_id(uint32_t file, uint64_t page) { return uint64_t{file} << kPageNumberBits | page; }
constexpr uint32_t file_of(uint64_t id) { return static_cast<uint32_t>(id >> kPageNumberBits); }
constexpr uint64_t number_of(uint64_t id) { return id & ((uint64_t{1} << kPageNumberBits) - 1); }

// Written by the node alone: the table from pages to frames, chains of frames. A reader that walks a chain while it
// changes may leave it, and then takes a page for missing that is there; the node looks again under its lock.
struct Frame {
  std::atomic<uint64_t> page;  // kNoPage: no reader may use it
  std::atomic<uint32_t> next;
  uint32_t unused;
};
struct DirectoryHeader {
  std::atomic<uint64_t> loads;  // the clock of FrameUse
  uint64_t unused[7];
};
static_assert(sizeof(Frame) == 16 && sizeof(DirectoryHeader) == 64 && std::atomic<uint64_t>::is_always_lock_free &&
              std::atomic<uint32_t>::is_always_lock_free);

enum class PageError : uint32_t { kNone, kNoSuchPage, kNoFrame, kReadError, kShortRead, kChecksum };

enum WishState : uint32_t { kIdle, kPosted, kTaken, kDone };
// What a reader wants to be read. The reader writes the first fields, then the state; the node the rest, then the
// state.
struct Wish {
  std::atomic<uint32_t> state;  // a futex
  uint32_t pages;               // from here on; the first is waited for
  uint64_t page;
  uint32_t pin;
  uint32_t frame;
  PageError error;
  int32_t detail;  // error number, or bytes read
};

// Pages that a reader will want, which it does not wait for.
struct PageRange {
  uint64_t first;  // page_id()
  uint64_t pages;
};
struct AheadWish {
  std::atomic<uint32_t> state;
  uint32_t count;
  std::array<PageRange, PageReader::kRangesMax> ranges;
};

struct alignas(128) Reader {
  Wish demand;
  AheadWish ahead;
  std::array<std::atomic<uint32_t>, PageReader::kPins> pins;  // frame + 1; 0 = none
  std::atomic<uint64_t> hits;
};

struct alignas(128) ProcessSlot {
  std::atomic<uint64_t> readers;  // bit: in use
  std::atomic<uint64_t> posted;   // bit: has a wish
  alignas(128) std::array<Reader, kReadersMax> all;
};

struct TrafficHeader {
  alignas(64) std::atomic<uint32_t> bell;      // a futex; counts rings
  alignas(64) std::atomic<uint32_t> sleepers;  // service threads
};

// Futexes of shared memory. Spurious returns are possible.
inline void futex_wait(std::atomic<uint32_t>* word, uint32_t expected) noexcept {
  syscall(SYS_futex, word, FUTEX_WAIT, expected, nullptr, nullptr, 0);
}
inline void futex_wake(std::atomic<uint32_t>* word, int count) noexcept {
  syscall(SYS_futex, word, FUTEX_WAKE, count, nullptr, nullptr, 0);
}

}  // namespace scyper::storage
