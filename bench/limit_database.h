#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <span>

#include "client/ch/generator.h"
#include "limit_index.h"
#include "limit_rows.h"
#include "limit_store.h"

namespace scyper::bench {

struct LimitOptions {
  bool huge_pages = true;
};

// The hand-written TPC-C database that bounds what an engine can reach: rows with inline strings, hash indexes for full
// unique keys, B+-trees for order, everything on huge pages. Supplier, nation and region are not loaded.
// Threads: none. Source: findings/compilation.md section 4.
class LimitDatabase {
 public:
  LimitDatabase(const ch::Generator& generator, const LimitOptions& options);

  // Room for this many more transactions of the mix, touched in advance.
  void prefault(size_t transactions);

  // Calls `visit` with every row of a table as the schema has it.
  void for_each_row(ch::Table table, const std::function<void(std::span<const Datum>)>& visit) const;

  uint32_t find_warehouse(int64_t w) const {
    return warehouse_index.find(static_cast<uint64_t>(w), [this](uint32_t row) { return warehouses[row].key(); });
  }
  uint32_t find_district(int64_t w, int64_t d) const {
    return district_index.find(static_cast<uint64_t>(w << 8 | d),
                               [this](uint32_t row) { return districts[row].key(); });
  }
  uint32_t find_customer(int64_t w, int64_t d, int64_t c) const {
    return customer_index.find(Customer::make_key(w, d, c), [this](uint32_t row) { return customers[row].key(); });
  }
  uint32_t find_item(uint64_t key, uint64_t hash) const {
    return item_index.find_hashed(key, hash, [this](uint32_t row) { return items[row].key(); });
  }
  uint32_t find_stock(uint64_t key, uint64_t hash) const {
    return stock_index.find_hashed(key, hash, [this](uint32_t row) { return stocks[row].key(); });
  }

  Store<Warehouse> warehouses;
  Store<District> districts;
  Store<Customer> customers;
  Store<History> histories;
  Store<Order> orders;
  Store<OrderLine> lines;
  Store<Item> items;
  Store<Stock> stocks;

  HashIndex warehouse_index, district_index, customer_index, item_index, stock_index;
  using KeyTree = Tree<uint64_t, 60, 62>;
  KeyTree order_tree;           // (w, d, o)
  KeyTree customer_order_tree;  // (w, d, c, o)
  KeyTree new_order_tree;       // (w, d, o); the table itself: it has no other columns
  KeyTree line_tree;            // (w, d, o, number)
  Tree<NameKey, 24, 32> name_tree;

 private:
  void reserve(const ch::Scale& scale, bool huge);
  void load(const ch::Generator& generator, ch::Table table, int32_t warehouse);
  void add_row(ch::Table table, std::span<const Datum> row);
  void add_warehouse(std::span<const Datum> row);
  void add_district(std::span<const Datum> row);
  void add_customer(std::span<const Datum> row);
  void add_history(std::span<const Datum> row);
  void add_order(std::span<const Datum> row);
  void add_line(std::span<const Datum> row);
  void add_item(std::span<const Datum> row);
  void add_stock(std::span<const Datum> row);
};

}  // namespace scyper::bench
