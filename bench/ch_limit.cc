#include "ch_limit.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <cstring>
#include <string_view>
#include <utility>

#include "base/check.h"
#include "storage/schema.h"
#include "storage/table.h"

namespace scyper::bench {
namespace {

using query::Catalog;
using storage::ColumnAccess;
using storage::Table;
using storage::TablePartition;

constexpr int64_t kDayUs = int64_t{86'400} * 1'000'000;
constexpr int64_t k1999 = -365 * kDayUs;  // 1999-01-01, from 2000-01-01
constexpr int64_t k2007 = 2558 * kDayUs;  // 2007-01-02
constexpr int64_t k2020 = 7305 * kDayUs;  // 2020-01-01

const Table& table_of(const Catalog& catalog, std::string_view name) {
  auto found = catalog.tables.find(name);
  CHECK(found != catalog.tables.end());
  return *found->second;
}

// One column of the column layout: a vector of T in each chunk.
template <class T>
struct Column {
  Column(const Table& table, std::string_view name) {
    const auto& columns = table.schema().columns;
    size_t i = 0;
    while (i < columns.size() && columns[i].name != name) i++;
    CHECK(i < columns.size());
    access = table.layout().columns[i];
    CHECK(access.value_stride == access.cell_bytes && (sizeof(T) == 1 || sizeof(T) == access.cell_bytes));
  }
  const T* in(const char* chunk) const { return reinterpret_cast<const T*>(chunk + access.value_offset); }
  const char* nulls(const char* chunk) const { return chunk + access.null_offset; }
  std::string_view text(const char* chunk, uint32_t i) const {
    const char* cell = chunk + access.value_offset + size_t{i} * access.value_stride;
    return {cell + 1, static_cast<uint8_t>(*cell)};
  }
  ColumnAccess access;
};

// body(chunk, first, count) for the chunks of a table; dead tuples have a live byte of 0.
template <class Body>
void for_chunks(const Table& table, const Body& body) {
  for (uint32_t p = 0; p < table.partition_count(); p++) {
    const TablePartition* partition = table.partition(p);
    for (uint64_t at = 0; at < partition->tuple_limit; at += storage::kChunkTuples) {
      const char* chunk = partition->chunks[at / storage::kChunkTuples];
      auto count = static_cast<uint32_t>(std::min<uint64_t>(storage::kChunkTuples, partition->tuple_limit - at));
      body(chunk, chunk + table.layout().live_offset, count);
    }
  }
}

uint64_t mix(uint64_t key) {
  key *= 0xff51afd7ed558ccdull;
  return (key ^ key >> 32) * 0x9E3779B97F4A7C15ull;
}
uint64_t pack(int32_t w, int16_t d, int32_t id) {
  return static_cast<uint64_t>(w) << 40 | static_cast<uint64_t>(d) << 32 | static_cast<uint32_t>(id);
}

// Keys to values, linear probing, at most half full. No key is all ones.
template <class V>
class HashMap {
 public:
  explicit HashMap(uint64_t expected)
      : shift_(64 - std::bit_width(std::max<uint64_t>(16, expected * 2) - 1)),
        entries_(uint64_t{1} << (64 - shift_)),
        mask_(entries_.size() - 1) {}
  V* find(uint64_t key) {
    for (uint64_t i = mix(key) >> shift_;; i = (i + 1) & mask_) {
      if (entries_[i].key == key) return &entries_[i].value;
      if (entries_[i].key == kNone) return nullptr;
    }
  }
  V* insert(uint64_t key) {
    if (++size_ * 2 > entries_.size()) grow();
    uint64_t i = mix(key) >> shift_;
    while (entries_[i].key != kNone && entries_[i].key != key) i = (i + 1) & mask_;
    entries_[i].key = key;
    return &entries_[i].value;
  }
  void prefetch(uint64_t key) const { __builtin_prefetch(&entries_[mix(key) >> shift_]); }
  template <class F>
  void for_each(const F& f) {
    for (auto& entry : entries_)
      if (entry.key != kNone) f(entry.key, entry.value);
  }

 private:
  static constexpr uint64_t kNone = ~uint64_t{0};
  struct Entry {
    uint64_t key = kNone;
    V value{};
  };
  void grow() {
    HashMap larger(entries_.size());
    for_each([&](uint64_t key, V& value) { *larger.insert(key) = std::move(value); });
    *this = std::move(larger);
  }
  int shift_;
  std::vector<Entry> entries_;
  uint64_t mask_;
  uint64_t size_ = 0;
};

std::string cents(__int128 value) {
  auto v = static_cast<int64_t>(value);
  std::string fraction = std::to_string(std::abs(v % 100));
  return (v < 0 ? "-" : "") + std::to_string(std::abs(v / 100)) + "." + std::string(2 - fraction.size(), '0') +
         fraction;
}

std::string run_q1(const Catalog& catalog) {
  struct Group {
    int64_t quantity = 0, count = 0;
    __int128 amount = 0;
  };
  const Table& lines = table_of(catalog, "order_line");
  Column<int16_t> number(lines, "ol_number"), quantity(lines, "ol_quantity");
  Column<int32_t> amount(lines, "ol_amount");
  Column<int64_t> delivered(lines, "ol_delivery_d");
  HashMap<Group> groups(16);
  for_chunks(lines, [&](const char* chunk, const char* live, uint32_t count) {
    const int16_t *n = number.in(chunk), *q = quantity.in(chunk);
    const int32_t* a = amount.in(chunk);
    const int64_t* d = delivered.in(chunk);
    const char* null = delivered.nulls(chunk);
    for (uint32_t i = 0; i < count; i++) {
      if (live[i] == 0 || null[i] != 0 || d[i] <= k2007) continue;
      Group* group = groups.find(static_cast<uint16_t>(n[i]));
      if (group == nullptr) group = groups.insert(static_cast<uint16_t>(n[i]));
      group->quantity += q[i];
      group->amount += a[i];
      group->count++;
    }
  });
  std::vector<std::pair<uint64_t, Group>> rows;
  groups.for_each([&](uint64_t key, Group& group) { rows.emplace_back(key, group); });
  std::sort(rows.begin(), rows.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
  std::string text;
  for (const auto& [key, group] : rows)
    text += (text.empty() ? "" : "\n") + std::to_string(key) + "|" + std::to_string(group.quantity) + "|" +
            cents(group.amount) + "|" + std::to_string(group.count);
  return text;
}

std::string run_q6(const Catalog& catalog) {
  const Table& lines = table_of(catalog, "order_line");
  Column<int16_t> quantity(lines, "ol_quantity");
  Column<int32_t> amount(lines, "ol_amount");
  Column<int64_t> delivered(lines, "ol_delivery_d");
  int64_t sum = 0;
  bool some = false;
  for_chunks(lines, [&](const char* chunk, const char* live, uint32_t count) {
    const int16_t* q = quantity.in(chunk);
    const int32_t* a = amount.in(chunk);
    const int64_t* d = delivered.in(chunk);
    const char* null = delivered.nulls(chunk);
    for (uint32_t i = 0; i < count; i++) {
      if (live[i] == 0 || null[i] != 0 || d[i] < k1999 || d[i] >= k2020 || q[i] < 1) continue;
      CHECK(!__builtin_add_overflow(sum, a[i], &sum));
      some = true;
    }
  });
  return some ? cents(sum) : "NULL";
}

// Nations of Europe by key, with their names.
std::vector<std::string> european_nations(const Catalog& catalog) {
  const Table &regions = table_of(catalog, "region"), &nations = table_of(catalog, "nation");
  Column<int32_t> region(regions, "r_regionkey"), nation(nations, "n_nationkey"), of(nations, "n_regionkey");
  Column<char> region_name(regions, "r_name"), name(nations, "n_name");
  int32_t europe = -1;
  for_chunks(regions, [&](const char* chunk, const char* live, uint32_t count) {
    for (uint32_t i = 0; i < count; i++)
      if (live[i] != 0 && region_name.text(chunk, i).substr(0, 7) == "Europe ") europe = region.in(chunk)[i];
  });
  std::vector<std::string> names(256);
  for_chunks(nations, [&](const char* chunk, const char* live, uint32_t count) {
    for (uint32_t i = 0; i < count; i++) {
      if (live[i] == 0 || of.in(chunk)[i] != europe) continue;
      std::string_view text = name.text(chunk, i);
      names[static_cast<size_t>(nation.in(chunk)[i])] = text.substr(0, text.find_last_not_of(' ') + 1);
    }
  });
  return names;
}

// Customers of Europe, by key: the nation.
HashMap<uint8_t> european_customers(const Catalog& catalog, const std::vector<std::string>& nations) {
  const Table& customers = table_of(catalog, "customer");
  Column<int32_t> id(customers, "c_id"), w(customers, "c_w_id");
  Column<int16_t> d(customers, "c_d_id");
  Column<char> state(customers, "c_state");
  HashMap<uint8_t> found(customers.live_tuples());
  for_chunks(customers, [&](const char* chunk, const char* live, uint32_t count) {
    for (uint32_t i = 0; i < count; i++) {
      auto nation = static_cast<uint8_t>(state.text(chunk, i)[0]);
      if (live[i] != 0 && !nations[nation].empty())
        *found.insert(pack(w.in(chunk)[i], d.in(chunk)[i], id.in(chunk)[i])) = nation;
    }
  });
  return found;
}

// Their orders since 2007, by key: the nation.
HashMap<uint8_t> european_orders(const Catalog& catalog, HashMap<uint8_t> customers) {
  const Table& orders = table_of(catalog, "orders");
  Column<int32_t> id(orders, "o_id"), w(orders, "o_w_id"), customer(orders, "o_c_id");
  Column<int16_t> d(orders, "o_d_id");
  Column<int64_t> entered(orders, "o_entry_d");
  HashMap<uint8_t> found(orders.live_tuples());
  for_chunks(orders, [&](const char* chunk, const char* live, uint32_t count) {
    for (uint32_t i = 0; i < count; i++) {
      if (live[i] == 0 || entered.in(chunk)[i] < k2007) continue;
      const uint8_t* nation = customers.find(pack(w.in(chunk)[i], d.in(chunk)[i], customer.in(chunk)[i]));
      if (nation != nullptr) *found.insert(pack(w.in(chunk)[i], d.in(chunk)[i], id.in(chunk)[i])) = *nation;
    }
  });
  return found;
}

std::string run_q5(const Catalog& catalog) {
  std::vector<std::string> nations = european_nations(catalog);
  HashMap<uint8_t> orders = european_orders(catalog, european_customers(catalog, nations));
  const Table &suppliers = table_of(catalog, "supplier"), &stocks = table_of(catalog, "stock");
  Column<int32_t> supplier(suppliers, "su_suppkey"), from(suppliers, "su_nationkey");
  std::vector<int32_t> nation_of(10'000, -1);
  for_chunks(suppliers, [&](const char* chunk, const char* live, uint32_t count) {
    for (uint32_t i = 0; i < count; i++)
      if (live[i] != 0) nation_of.at(static_cast<size_t>(supplier.in(chunk)[i])) = from.in(chunk)[i];
  });
  Column<int32_t> stock_item(stocks, "s_i_id"), stock_w(stocks, "s_w_id");
  HashMap<char> stock(stocks.live_tuples());
  for_chunks(stocks, [&](const char* chunk, const char* live, uint32_t count) {
    for (uint32_t i = 0; i < count; i++)
      if (live[i] != 0) stock.insert(pack(stock_w.in(chunk)[i], 0, stock_item.in(chunk)[i]));
  });
  const Table& lines = table_of(catalog, "order_line");
  Column<int32_t> o(lines, "ol_o_id"), w(lines, "ol_w_id"), item(lines, "ol_i_id"), amount(lines, "ol_amount");
  Column<int16_t> d(lines, "ol_d_id");
  std::array<int64_t, 256> revenue{}, rows{};
  for_chunks(lines, [&](const char* chunk, const char* live, uint32_t count) {
    for (uint32_t i = 0; i < count; i++) {
      if (live[i] == 0) continue;
      int32_t warehouse = w.in(chunk)[i], article = item.in(chunk)[i];
      const uint8_t* nation = orders.find(pack(warehouse, d.in(chunk)[i], o.in(chunk)[i]));
      if (nation == nullptr || nation_of[static_cast<size_t>(int64_t{warehouse} * article % 10'000)] != *nation)
        continue;
      if (stock.find(pack(warehouse, 0, article)) == nullptr) continue;
      revenue[*nation] += amount.in(chunk)[i];
      rows[*nation]++;
    }
  });
  std::vector<std::pair<std::string, int64_t>> found;
  for (size_t n = 0; n < 256; n++)
    if (rows[n] > 0) found.emplace_back(nations[n], revenue[n]);
  std::sort(found.begin(), found.end(),
            [](const auto& a, const auto& b) { return std::pair(-a.second, a.first) < std::pair(-b.second, b.first); });
  std::string text;
  for (const auto& [name, sum] : found) text += (text.empty() ? "" : "\n") + name + "|" + cents(sum);
  return text;
}

struct Q18Order {
  int64_t amount = 0, entered = 0;
  int32_t customer = 0;
  int16_t lines = 0;
  bool has_lines = false;
};
struct Q18Row {
  int64_t amount, entered;
  std::string_view name;
  int32_t customer, order;
  int16_t lines;
};

// Orders with the sums of their lines: a group-join.
HashMap<Q18Order> sum_orders(const Catalog& catalog) {
  const Table &orders = table_of(catalog, "orders"), &lines = table_of(catalog, "order_line");
  Column<int32_t> id(orders, "o_id"), w(orders, "o_w_id"), customer(orders, "o_c_id");
  Column<int16_t> d(orders, "o_d_id"), ol_cnt(orders, "o_ol_cnt");
  Column<int64_t> entered(orders, "o_entry_d");
  HashMap<Q18Order> sums(orders.live_tuples());
  for_chunks(orders, [&](const char* chunk, const char* live, uint32_t count) {
    for (uint32_t i = 0; i < count; i++) {
      if (live[i] == 0) continue;
      Q18Order order{0, entered.in(chunk)[i], customer.in(chunk)[i], ol_cnt.in(chunk)[i], false};
      *sums.insert(pack(w.in(chunk)[i], d.in(chunk)[i], id.in(chunk)[i])) = order;
    }
  });
  Column<int32_t> line_o(lines, "ol_o_id"), line_w(lines, "ol_w_id"), amount(lines, "ol_amount");
  Column<int16_t> line_d(lines, "ol_d_id");
  for_chunks(lines, [&](const char* chunk, const char* live, uint32_t count) {
    for (uint32_t i = 0; i < count; i++) {
      if (live[i] == 0) continue;
      Q18Order* order = sums.find(pack(line_w.in(chunk)[i], line_d.in(chunk)[i], line_o.in(chunk)[i]));
      if (order == nullptr) continue;
      order->amount += amount.in(chunk)[i];
      order->has_lines = true;
    }
  });
  return sums;
}

std::string run_q18(const Catalog& catalog) {
  HashMap<Q18Order> sums = sum_orders(catalog);
  const Table& customers = table_of(catalog, "customer");
  Column<int32_t> id(customers, "c_id"), w(customers, "c_w_id");
  Column<int16_t> d(customers, "c_d_id");
  Column<char> last(customers, "c_last");
  HashMap<std::string_view> names(customers.live_tuples());
  for_chunks(customers, [&](const char* chunk, const char* live, uint32_t count) {
    for (uint32_t i = 0; i < count; i++)
      if (live[i] != 0) *names.insert(pack(w.in(chunk)[i], d.in(chunk)[i], id.in(chunk)[i])) = last.text(chunk, i);
  });
  std::vector<Q18Row> rows;
  sums.for_each([&](uint64_t key, const Q18Order& order) {
    if (!order.has_lines || order.amount <= 200'00) return;
    const std::string_view* name = names.find((key & ~uint64_t{0xffffffff}) | static_cast<uint32_t>(order.customer));
    if (name != nullptr)
      rows.push_back({order.amount, order.entered, *name, order.customer, static_cast<int32_t>(key), order.lines});
  });
  std::sort(rows.begin(), rows.end(), [](const Q18Row& a, const Q18Row& b) {
    return a.amount != b.amount ? a.amount > b.amount : a.entered < b.entered;
  });
  if (rows.empty()) return "0|NULL|NULL|NULL|NULL";
  int64_t amount = 0, ids = 0, letters = 0, lines = 0;
  for (const Q18Row& row : rows) {
    amount += row.amount;
    ids += int64_t{row.order} * row.customer;
    letters += static_cast<int64_t>(row.name.size());
    lines += row.lines;
  }
  return std::to_string(rows.size()) + "|" + cents(amount) + "|" + std::to_string(ids) + "|" + std::to_string(letters) +
         "|" + std::to_string(lines);
}

}  // namespace

const std::vector<LimitQuery>& limit_queries() {
  static const std::vector<LimitQuery> queries = {
      {1, run_q1, "SELECT ol_number, sum_qty, sum_amount, count_order FROM (%s) q ORDER BY 1"},
      {5, run_q5, "SELECT trim(n_name), revenue FROM (%s) q ORDER BY 2 DESC, 1"},
      {6, run_q6, "SELECT revenue FROM (%s) q"},
      {18, run_q18,
       "SELECT count(*), sum(amount), sum(o_id::bigint * c_id), sum(length(c_last)), sum(o_ol_cnt) FROM (%s) q"},
  };
  return queries;
}

}  // namespace scyper::bench
