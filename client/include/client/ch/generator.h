#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "base/random.h"
#include "client/ch/tables.h"
#include "storage/type.h"

namespace scyper::ch {

// How large the database is. The defaults but `warehouses` are TPC-C's; smaller ones are for tests.
// The queries link stock to suppliers by mod(.., 10000), so `suppliers` should stay.
struct Scale {
  int32_t warehouses = 1;
  int32_t items = 100'000;
  int32_t customers_per_district = 3'000;
  int32_t orders_per_district = 3'000;
  int32_t suppliers = 10'000;

  // A small database that still has every case (several customers of a name, open orders, ...).
  static Scale tiny(int32_t warehouses) { return {warehouses, 1'000, 120, 120, 10'000}; }
  // Orders 1..this are delivered, the others are in new_order: 2,100 of 3,000 (clause 4.3.3.1).
  int32_t delivered_per_district() const { return static_cast<int32_t>(int64_t{orders_per_district} * 7 / 10); }
  // How many different last names a district's customers have (clause 4.3.2.3).
  int32_t last_names() const { return customers_per_district < 1'000 ? customers_per_district : 1'000; }
};

constexpr int32_t kDistricts = 10;  // per warehouse, fixed: the procedures name ten s_dist columns
constexpr int32_t kMaxLines = 15;   // order lines of an order (2.4.1.3)

enum class Profile : uint8_t {
  kSpec,    // TPC-C's initial values
  kVaried,  // quantities, amounts, dates and the customer of an order vary, so that all 22 CH queries have an answer
  kCensus,  // spec, with US census last names by frequency instead of random strings (Funke et al., VLDB 2012, 5)
};

// 2011-12-01 00:00:00 in microseconds since 2000-01-01. Lies in the ranges of dates that the queries ask for.
constexpr int64_t kDefaultLoadTime = int64_t{4352} * 86'400 * 1'000'000;

struct GeneratorOptions {
  Scale scale;
  Profile profile = Profile::kSpec;
  uint64_t seed = 1;
  int64_t load_time = kDefaultLoadTime;  // "the current date/time" of the population; no date is later
};

// TPC-C's run-time constants C of NURand (2.1.6.1): |kNameRun - kNameLoad| must be in 65..119 but not 96 or 112.
constexpr int64_t kNameLoad = 173, kNameRun = 73, kCustomerRun = 319, kItemRun = 3849;
inline int64_t nurand(Random& random, int64_t a, int64_t c, int64_t lo, int64_t hi) {
  return ((random.between(0, a) | random.between(lo, hi)) + c) % (hi - lo + 1) + lo;
}

// Writes the last name of a number 0..999 (clause 4.3.2.3) to `out`, at most 15 bytes. Returns its length.
size_t write_last_name(int64_t number, char* out);

class NameSampler;

// What belongs to one district as a whole: who ordered what, and the sums that follow from it.
// Indexed by customer number or order number minus 1.
struct DistrictState {
  std::vector<int32_t> customer_of_order;
  std::vector<int64_t> delivered_cents;  // sum of the delivered order lines per customer
  std::vector<int32_t> deliveries;       // delivered orders per customer (varied only, else 0)
  int64_t paid_cents = 0;                // sum of h_amount
};

// The data of a CH-benCHmark database: every row is a function of (options, table, key), so rows can be made in any
// order, by any number of threads, and again. Immutable after construction.
// Source: TPC-C 5.11 clause 4.3.3.1; Cole et al., DBTest 2011, for supplier, nation and region.
class Generator {
 public:
  explicit Generator(const GeneratorOptions& options);
  ~Generator();
  Generator(const Generator&) = delete;
  Generator& operator=(const Generator&) = delete;

  const GeneratorOptions& options() const { return options_; }
  const Scale& scale() const { return options_.scale; }
  int64_t row_count(Table table, int32_t warehouse) const;  // exact, but for order_line an estimate (10 per order)

  // The last name of an existing customer, written to `out` (at most 16 bytes). Returns its length.
  size_t customer_last_name(int32_t warehouse, int32_t district, int32_t customer, char* out) const;

 private:
  friend class RowCursor;
  class Row;
  struct Order {
    int32_t lines;
    int32_t carrier;  // 0 = not delivered
    int64_t entry_time;
  };
  struct Line {
    int32_t item;
    int32_t quantity;
    int64_t amount_cents;
    int64_t delivery_time;  // 0 = not delivered
  };

  Random stream(Table table, int64_t a, int64_t b, int64_t c, int64_t d = 0) const;
  bool varied() const { return options_.profile == Profile::kVaried; }
  bool census() const { return options_.profile == Profile::kCensus; }

  DistrictState district_state(int32_t w, int32_t d) const;
  void assign_customers(int32_t w, int32_t d, std::vector<int32_t>& customer_of_order) const;
  int64_t payment_cents(int32_t w, int32_t d, int32_t c) const;
  int64_t paid_cents(int32_t w, int32_t d) const;
  int64_t price_cents(int32_t item) const;
  Order order(int32_t w, int32_t d, int32_t o) const;
  Line line(const Order& order, Random& random) const;  // random: the line's own stream

  void string(Row& row, Random& random, int64_t lo, int64_t hi) const;
  void data_string(Row& row, Random& random, bool of_item) const;
  void name_and_address(Row& row, Random& random) const;
  void address(Row& row, Random& random) const;

  void region_row(int32_t key, Row& row) const;
  void nation_row(int32_t index, Row& row) const;
  void supplier_row(int32_t key, Row& row) const;
  void item_row(int32_t i, Row& row) const;
  void warehouse_row(int32_t w, int64_t paid_cents, Row& row) const;
  void district_row(int32_t w, int32_t d, const DistrictState& state, Row& row) const;
  void customer_row(int32_t w, int32_t d, int32_t c, const DistrictState& state, Row& row) const;
  void history_row(int32_t w, int32_t d, int32_t c, Row& row) const;
  void order_row(int32_t w, int32_t d, int32_t o, const DistrictState& state, Row& row) const;
  void line_row(int32_t w, int32_t d, int32_t o, const Order& order, int32_t number, Row& row) const;
  void stock_row(int32_t w, int32_t i, Row& row) const;

  const GeneratorOptions options_;
  std::unique_ptr<NameSampler> names_;  // census only
};

// Rows, one after the other: row r is values[r * columns .. + columns). Strings point into the cursor.
struct RowBatch {
  const Datum* values = nullptr;
  size_t rows = 0;
  size_t columns = 0;
  std::span<const Datum> row(size_t r) const { return {values + r * columns, columns}; }
};

// The rows of one warehouse of a partitioned table, or all rows of a shared table, in the order of the primary key
// (history: by customer).
// Caveat: a batch and its strings live until the next call of next().
// Threads: none; cursors on the same Generator are independent of each other.
class RowCursor {
 public:
  static constexpr size_t kBatchRows = 256;

  // warehouse: 1..warehouses; ignored for shared tables.
  RowCursor(const Generator& generator, Table table, int32_t warehouse = 0);
  // At most kBatchRows rows; none at the end.
  RowBatch next();

 private:
  bool produce(Generator::Row& row);
  bool produce_shared(Generator::Row& row);
  bool produce_line(Generator::Row& row);
  bool enter(int32_t rows_per_district);
  void load_district();

  const Generator& generator_;
  const Table table_;
  const int32_t warehouse_;
  const size_t columns_;
  std::vector<Datum> values_;
  std::vector<char> bytes_;
  DistrictState state_;
  int32_t state_district_ = 0;  // whose state_ is, 0 = none
  int32_t district_ = 1;
  int32_t next_ = 1;  // number of the next row within the district or the table
  int32_t line_ = 1;
  Generator::Order order_{};
};

}  // namespace scyper::ch
