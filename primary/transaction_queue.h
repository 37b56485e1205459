#pragma once

#include <atomic>
#include <cstdint>

#include "primary/engine.h"

namespace scyper::primary {

// Transactions linked by Transaction::next, the newest first: what a submitter hands over in one go.
struct Chain {
  Transaction* newest = nullptr;
  Transaction* oldest = nullptr;
  uint32_t count = 0;

  void add(Transaction* transaction) {
    transaction->next = newest;
    newest = transaction;
    if (oldest == nullptr) oldest = transaction;
    ++count;
  }
  Transaction* remove_newest() {
    Transaction* removed = newest;
    newest = removed->next;
    if (--count == 0) oldest = nullptr;
    return removed;
  }
};

// Many submitters, one taker. A submitter pushes a whole chain with one compare-and-swap, the taker takes all there is
// with one exchange and turns it round, so both cost little per transaction. First in, first out per submitter.
// Bounded by reserve(): counted are transactions pushed and not yet reported done. Cache lines: submitters write
// head_ and admitted_, the taker finished_.
// Threads: reserve(), push(), depth() any; take_all(), finish(), try_close() the taker (whoever that is at the time:
// handing over needs a release and an acquire).
class TransactionQueue {
 public:
  explicit TransactionQueue(uint32_t capacity) : capacity_(capacity) {}

  // Room for at most `wanted` transactions; what is granted must be pushed.
  uint32_t reserve(uint32_t wanted) {
    uint64_t before = admitted_.fetch_add(wanted, std::memory_order_relaxed);
    uint64_t finished = finished_.load(std::memory_order_relaxed);
    uint64_t depth = before > finished ? before - finished : 0;
    if (depth + wanted <= capacity_) [[likely]]
      return wanted;
    uint32_t granted = depth < capacity_ ? static_cast<uint32_t>(capacity_ - depth) : 0;
    admitted_.fetch_sub(wanted - granted, std::memory_order_relaxed);
    return granted;
  }
  // Room beyond the capacity, for transactions that were admitted before.
  void reserve_always(uint32_t count) { admitted_.fetch_add(count, std::memory_order_relaxed); }
  void cancel(uint32_t count) { admitted_.fetch_sub(count, std::memory_order_relaxed); }

  // False: closed, nothing was pushed (and the reservation is the caller's to cancel).
  bool push(const Chain& chain) {
    Transaction* head = head_.load(std::memory_order_relaxed);
    do {
      if (head == closed()) [[unlikely]]
        return false;
      chain.oldest->next = head;
    } while (!head_.compare_exchange_weak(head, chain.newest, std::memory_order_seq_cst, std::memory_order_relaxed));
    return true;
  }

  // All that waits, oldest first; nullptr when there is nothing (or the queue is closed).
  Transaction* take_all() {
    if (empty()) return nullptr;
    Transaction* newest = head_.exchange(nullptr, std::memory_order_acquire);
    Transaction* oldest_first = nullptr;
    while (newest != nullptr) {
      Transaction* next = newest->next;
      newest->next = oldest_first;
      oldest_first = newest;
      newest = next;
    }
    return oldest_first;
  }
  bool empty() const {
    Transaction* head = head_.load(std::memory_order_seq_cst);
    return head == nullptr || head == closed();
  }
  void finish(uint64_t count = 1) {
    finished_.store(finished_.load(std::memory_order_relaxed) + count, std::memory_order_relaxed);
  }
  // Refuses pushes from now on; fails when something waits.
  bool try_close() {
    Transaction* expected = nullptr;
    return head_.compare_exchange_strong(expected, closed()) || expected == closed();
  }

  uint64_t depth() const {
    uint64_t finished = finished_.load(std::memory_order_relaxed);
    uint64_t admitted = admitted_.load(std::memory_order_relaxed);
    return admitted > finished ? admitted - finished : 0;
  }
  uint64_t capacity() const { return capacity_; }

 private:
  // No transaction has this address.
  static Transaction* closed() { return reinterpret_cast<Transaction*>(uintptr_t{1}); }

  const uint64_t capacity_;
  alignas(64) std::atomic<Transaction*> head_{nullptr};
  std::atomic<uint64_t> admitted_{0};
  alignas(64) std::atomic<uint64_t> finished_{0};
};

}  // namespace scyper::primary
