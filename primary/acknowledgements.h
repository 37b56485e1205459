#pragma once

#include <atomic>
#include <cstdint>
#include <memory>

namespace scyper::primary {

struct Transaction;

// Transactions of one worker that have run and wait until the log is durable up to their LSN, which never falls from
// one to the next. Bounded: a worker that finds it full waits. Threads: push() the worker, pop() the log writer.
class Acknowledgements {
 public:
  // More than queue_capacity and what a flush lets pass, less than a megabyte.
  static constexpr uint64_t kCapacity = 1 << 15;

  Acknowledgements() : entries_(new Entry[kCapacity]) {}

  // False: full.
  bool push(Transaction* transaction, uint64_t lsn) {
    const uint64_t head = head_.load(std::memory_order_relaxed);
    if (head - tail_.load(std::memory_order_acquire) == kCapacity) return false;
    entries_[head % kCapacity] = {transaction, lsn};
    head_.store(head + 1, std::memory_order_release);
    return true;
  }
  // The LSN that the oldest waits for; false: nobody waits.
  bool peek(uint64_t* lsn) const {
    const uint64_t tail = tail_.load(std::memory_order_relaxed);
    if (head_.load(std::memory_order_acquire) == tail) return false;
    *lsn = entries_[tail % kCapacity].lsn;
    return true;
  }
  Transaction* pop() {
    const uint64_t tail = tail_.load(std::memory_order_relaxed);
    Transaction* transaction = entries_[tail % kCapacity].transaction;
    tail_.store(tail + 1, std::memory_order_release);
    return transaction;
  }

 private:
  struct Entry {
    Transaction* transaction;
    uint64_t lsn;
  };
  const std::unique_ptr<Entry[]> entries_;
  alignas(64) std::atomic<uint64_t> head_{0};
  alignas(64) std::atomic<uint64_t> tail_{0};
};

}  // namespace scyper::primary
