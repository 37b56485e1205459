#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>

#include "replay/record.h"

namespace scyper::primary {

// The one counter of a node that LSNs are drawn from.
struct alignas(64) LsnCounter {
  std::atomic<uint64_t> last{0};
  uint64_t draw() { return last.fetch_add(1, std::memory_order_acq_rel) + 1; }
};

// The open batch of one stream: records on their way from the thread that commits to the log writer, without locks.
// Memory is bounded: over kWaitingBytesMax reserve() waits until the writer has caught up. While the disk is full it
// does not wait, as nobody knows for how long: then its caller lets nothing more commit.
// Invariants: (1) records lie whole within a chunk; (2) whoever finds drawing() == kNothing after it has read an LSN
//   from the counter finds all records of this stream up to that LSN published; else all up to drawing() - 1.
// Threads: reserve(), draw(), publish() one at a time, the committing one; take() and drawing() the log writer.
class LogBuffer {
 public:
  static constexpr uint64_t kNothing = ~uint64_t{0};
  static constexpr size_t kChunkBytes = size_t{128} << 10;
  static constexpr uint64_t kWaitingBytesMax = uint64_t{64} << 20;
  // Longer records do not count: who runs alone would wait for the writer with everybody waiting for it.
  static constexpr uint64_t kCountedBytesMax = uint64_t{16} << 20;

  LogBuffer();
  ~LogBuffer();
  LogBuffer(const LogBuffer&) = delete;
  LogBuffer& operator=(const LogBuffer&) = delete;

  // --- the committing thread ---
  char* reserve(size_t bytes) {
    if (static_cast<size_t>(end_ - cursor_) < bytes) [[unlikely]]
      return reserve_slow(bytes);
    return cursor_;
  }
  // For a record that is too long to be copied at once: its bytes are written here before it is reserved. It does not
  // count for what waits for the writer.
  char* make_aside(size_t bytes);
  // Behind make_aside(): where they were written, as reserve() would give it.
  char* reserve_aside();
  // The LSN of the record that publish() comes with next. The store is visible before the draw is: a locked
  // instruction.
  uint64_t draw(LsnCounter* lsns) {
    drawing_.store(lsns->last.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
    return lsns->draw();
  }
  void publish(char* end) {
    const auto bytes = static_cast<uint64_t>(end - cursor_);
    if (bytes <= kCountedBytesMax) appended_bytes_ += bytes;
    cursor_ = end;
    filling_->published.store(static_cast<size_t>(end - filling_->data()), std::memory_order_release);
    drawing_.store(kNothing, std::memory_order_release);
  }

  // --- the log writer ---
  uint64_t drawing() const { return drawing_.load(std::memory_order_acquire); }
  // Calls each(record) for the records up to that LSN; true when there were any.
  template <typename Each>
  bool take(uint64_t lsn_max, Each&& each) {
    bool any = false;
    while (true) {
      const size_t published = taking_->published.load(std::memory_order_acquire);
      std::string_view bytes(taking_->data() + taken_, published - taken_);
      replay::RecordView record;
      while (replay::take_record(&bytes, &record)) {
        if (record.header.lsn > lsn_max) return any;
        each(record);
        any = true;
        taken_ += record.bytes.size();
        if (record.bytes.size() <= kCountedBytesMax) {
          taken_bytes_.store(taken_bytes_.load(std::memory_order_relaxed) + record.bytes.size(),
                             std::memory_order_relaxed);
        }
      }
      if (!next_chunk()) return any;
    }
  }
  // Whether reserve() waits. Any thread.
  void set_waits(bool waits) { waits_.store(waits, std::memory_order_relaxed); }

 private:
  struct Chunk {
    std::atomic<Chunk*> next{nullptr};
    std::atomic<size_t> published{0};
    size_t capacity = 0;
    char* data() { return reinterpret_cast<char*>(this + 1); }
  };
  static Chunk* make_chunk(size_t capacity);
  static void free_chunk(Chunk* chunk);
  char* reserve_slow(size_t bytes);
  char* use(Chunk* chunk);
  bool next_chunk();

  // the committing thread's
  char* cursor_;
  char* end_;
  Chunk* filling_;
  uint64_t appended_bytes_ = 0;
  Chunk* aside_ = nullptr;

  alignas(64) std::atomic<uint64_t> drawing_{kNothing};
  std::atomic<uint64_t> taken_bytes_{0};
  std::atomic<Chunk*> spare_{nullptr};  // a chunk that the writer gives back
  std::atomic<bool> waits_{true};

  // the log writer's
  alignas(64) Chunk* taking_;
  size_t taken_ = 0;
};

}  // namespace scyper::primary
