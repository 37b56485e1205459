#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "client/ch/mix.h"
#include "limit_database.h"
#include "limit_log.h"

namespace scyper::bench {

// What a call gave: the values of the INOUT parameters, or an error. Lives until the next call.
struct LimitOutcome {
  std::string_view sqlstate;  // empty = committed
  std::array<Datum, 12> values;
  size_t value_count = 0;
  std::span<const Datum> results() const { return {values.data(), value_count}; }
};

// The five procedures of procedures.sql by hand, with the same outputs, undo and physical redo.
// Threads: none.
class LimitEngine {
 public:
  explicit LimitEngine(LimitDatabase& database) : db_(database), bytes_(kResultBytes) {}

  // time: what now() is, in microseconds since 2000.
  const LimitOutcome& execute(const ch::Call& call, int64_t time);

  const RedoLog& redo() const { return redo_; }

 private:
  static constexpr size_t kResultBytes = 8192;

  struct LineRows {
    uint32_t stock[ch::kMaxLines];
    uint64_t item_hash[ch::kMaxLines];
    uint64_t stock_hash[ch::kMaxLines];
  };

  void new_order(const ch::Call& call, int64_t time);
  bool new_order_lines(const ch::Call& call, int32_t order, int64_t& sum_cents);
  void insert_order(const Order& values);
  void prefetch_lines(std::span<const Datum> items, std::span<const Datum> supplies, int64_t district);
  void update_stock(Stock& stock, int32_t quantity, bool remote);
  void payment(const ch::Call& call, int64_t time);
  void prepend_customer_data(Customer& customer, std::span<const Datum> args);
  void insert_history(const History& values);
  void order_status(const ch::Call& call);
  void order_lines_text(int64_t w, int64_t d, int64_t o);
  void delivery(const ch::Call& call, int64_t time);
  void deliver(int64_t w, int64_t d, int64_t o, int16_t carrier, int64_t time);
  void stock_level(const ch::Call& call);

  uint32_t customer_by_name(int64_t w, int64_t d, std::string_view last);
  void fail(std::string_view sqlstate);

  // results
  void push(const Datum& value) { outcome_.values[outcome_.value_count++] = value; }
  Datum text(std::initializer_list<std::string_view> parts);
  Datum full_address(const Address& address);
  Datum array(size_t index, TypeId element, int32_t size);

  LimitDatabase& db_;
  UndoLog undo_;
  RedoLog redo_;
  LimitOutcome outcome_;
  std::vector<char> bytes_;  // of the results' strings
  size_t byte_count_ = 0;
  std::array<ArrayValue, 4> arrays_;
  std::array<std::array<Datum, ch::kMaxLines>, 4> elements_;
  std::array<char, ch::kMaxLines> brands_;
  LineRows rows_;
  std::string lines_text_;
  std::vector<uint32_t> found_;  // customers of a name
};

}  // namespace scyper::bench
