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
  static void begin_open() {
    number_ = 0;
    is_open_ = true;
  }
  static void end_open() { is_open_ = false; }
  static int64_t current();

 private:
  static inline constinit thread_local int64_t number_ = 0;  // 0: not asked for
  static inline constinit thread_local bool is_open_ = false;
};

}  // namespace scyper::query
