#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "base/random.h"
#include "client/ch/generator.h"

namespace scyper::ch {

// The five transactions of procedures.sql.
enum class Procedure : uint8_t { kNewOrder, kPayment, kOrderStatus, kDelivery, kStockLevel };
constexpr int kProcedureCount = 5;
std::string_view procedure_name(Procedure procedure);  // "tpcc_new_order", ...
// The types of the IN parameters and of the INOUT results (in the order of the declaration).
std::span<const SqlType> parameter_types(Procedure procedure);
std::span<const SqlType> result_types(Procedure procedure);

// The inputs of one transaction. Owns the buffers that its arguments point to, so it neither moves nor copies; reuse
// it.
struct Call {
  static constexpr size_t kMaxArgs = 7;

  Call() = default;
  Call(const Call&) = delete;
  Call& operator=(const Call&) = delete;

  Procedure procedure = Procedure::kNewOrder;
  int32_t home = 1;         // the warehouse of the terminal
  bool remote = false;      // touches a second warehouse
  bool rolls_back = false;  // a NewOrder with an unused item number: ends with SQLSTATE TPCC1 (2.4.1.4)
  std::array<Datum, kMaxArgs> values;
  size_t value_count = 0;

  std::span<const Datum> args() const { return {values.data(), value_count}; }

  // What the arguments point to.
  std::array<ArrayValue, 3> arrays;
  std::array<std::array<Datum, kMaxLines>, 3> elements;
  std::array<char, 24> last_name;
};

// Which items, customers and last names transactions want, instead of TPC-C's NURand: hot_reads_percent of the reads go
// to the hot ones, which are hot_percent of all, the others to the warm ones, warm_percent of all; nobody wants the
// rest (Meyer et al., ADMS 2015, 3.3: 10, 30 and 80). They lie scattered. hot_percent 0: none of this.
struct Skew {
  double hot_percent = 0;
  double warm_percent = 0;
  double hot_reads_percent = 0;
};
constexpr Skew kTieringSkew{10, 30, 80};

struct MixOptions {
  uint64_t seed = 1;
  std::vector<int32_t> homes = {};  // the terminals' warehouses, for instance those of one partition; empty = all
  // Which transactions touch a second warehouse (they need at least two): as in TPC-C 2.4.1.5 and 2.5.1.2 (1 % of the
  // order lines, 15 % of the payments), or this percentage of the NewOrders and of the Payments; 0 = none.
  bool spec_remote = true;
  double crossing_percent = 0;
  // Shares in percent, the rest is StockLevel.
  int new_order_percent = 45, payment_percent = 43, order_status_percent = 4, delivery_percent = 4;
  int rollback_percent = 1;  // of the NewOrders
  Skew skew = {};
};

// Makes the inputs of transactions as terminals do (TPC-C 5.11, clauses 2.4 to 2.8): no keying, no think time.
// The same options and generator give the same calls. Threads: none; one per stream, with its own seed.
class InputStream {
 public:
  // The generator must outlive the stream: it knows the scale and the customers' names.
  InputStream(const Generator& generator, const MixOptions& options);

  void next(Call& call);

 private:
  void new_order(Call& call);
  void payment(Call& call);
  void order_status(Call& call);
  void delivery(Call& call);
  void stock_level(Call& call);

  int64_t draw(int64_t a, int64_t c, int64_t low, int64_t high);
  int32_t customer();
  int32_t other_warehouse(int32_t home);
  void last_name(Call& call, size_t arg, int32_t w, int32_t d);
  bool hits(double percent);

  const Generator& generator_;
  const MixOptions options_;
  const Scale scale_;
  Random random_;
};

}  // namespace scyper::ch
