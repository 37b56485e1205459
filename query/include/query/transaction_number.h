#pragma once

#include <cstdint>

namespace scyper::query {

// txid_current(): a number of the transaction that this thread runs, drawn when it is asked for. Later ones are
// greater, on this node. Threads: each its own.
class TransactionNumber {
 public:
  // A program begins to run: a transaction of its own, unless one is open.
  static void begin_program() {
    if (!is_open_) number_ = 0;
  }
  // number: that it has drawn before, when it comes back to a thread; 0 = none.
  static void begin_open(int64_t number = 0) {
    number_ = number;
    is_open_ = true;
  }
  // What it has drawn.
  static int64_t end_open() {
    is_open_ = false;
    return number_;
  }
  static int64_t current();

 private:
  static inline constinit thread_local int64_t number_ = 0;  // 0: not asked for
  static inline constinit thread_local bool is_open_ = false;
};

}  // namespace scyper::query
