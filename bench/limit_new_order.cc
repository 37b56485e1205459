#include "base/check.h"
#include "limit_engine.h"

namespace scyper::bench {
namespace {

using Operation = RedoLog::Operation;

std::span<const Datum> elements(const Datum& value) {
  const ArrayValue& array = *reinterpret_cast<const ArrayValue*>(value.lo);
  return {array.elements, static_cast<size_t>(array.size)};
}

bool has_original(std::string_view data) { return data.find("ORIGINAL") != std::string_view::npos; }

void prefetch_range(const void* begin, size_t size) {
  const char* const end = static_cast<const char*>(begin) + size;
  for (const char* at = static_cast<const char*>(begin); at < end; at += 64) __builtin_prefetch(at, 1);
}

}  // namespace

void LimitEngine::new_order(const ch::Call& call, int64_t time) {
  const auto args = call.args();
  const int64_t w = args[0].lo, d = args[1].lo, c = args[2].lo;
  const auto items = elements(args[3]), supplies = elements(args[4]);
  prefetch_lines(items, supplies, d);

  const Warehouse& warehouse = db_.warehouses[db_.find_warehouse(w)];
  const uint32_t district_row = db_.find_district(w, d), customer_row = db_.find_customer(w, d, c);
  CHECK(district_row != HashIndex::kMissing && customer_row != HashIndex::kMissing);
  District& district = db_.districts[district_row];
  const Customer& customer = db_.customers[customer_row];
  undo_.image(&district.next_order, sizeof(district.next_order));
  const int32_t order = district.next_order++;
  redo_.change(static_cast<uint8_t>(ch::Table::kDistrict), Operation::kUpdate, district.key());
  redo_.column(10, district.next_order);

  bool all_local = true;
  for (const Datum& supply : supplies) all_local &= supply.lo == w;
  insert_order({static_cast<int32_t>(w), order, static_cast<int32_t>(c), static_cast<int16_t>(d), 0, time,
                static_cast<int16_t>(items.size()), all_local});

  int64_t sum_cents = 0;
  if (!new_order_lines(call, order, sum_cents)) return fail("TPCC1");

  const int64_t tax = int64_t{10'000} + warehouse.tax + district.tax;
  push(int_datum(order));
  push(customer.last.datum());
  push(customer.credit.datum());
  push(int128_datum(customer.discount, 4));
  push(int128_datum(warehouse.tax, 4));
  push(int128_datum(district.tax, 4));
  push(int128_datum(static_cast<__int128>(sum_cents) * (10'000 - customer.discount) * tax, 10));
  const int32_t lines = static_cast<int32_t>(items.size());
  push(array(0, TypeId::kText, lines));
  push(array(1, TypeId::kNumeric, lines));
  push(array(2, TypeId::kNumeric, lines));
  push(array(3, TypeId::kInt4, lines));
  push(string_datum(brands_.data(), items.size()));
}

// Index slots first, then rows: two rounds of independent misses instead of a chain per line.
void LimitEngine::prefetch_lines(std::span<const Datum> items, std::span<const Datum> supplies, int64_t district) {
  for (size_t i = 0; i < items.size(); ++i) {
    rows_.item_hash[i] = HashIndex::hash(static_cast<uint64_t>(items[i].lo));
    rows_.stock_hash[i] = HashIndex::hash(Stock::make_key(supplies[i].lo, items[i].lo));
    db_.stock_index.prefetch(rows_.stock_hash[i]);
    db_.item_index.prefetch(rows_.item_hash[i]);
  }
  for (size_t i = 0; i < items.size(); ++i) {
    const uint32_t item = db_.item_index.guess(rows_.item_hash[i]);
    const uint32_t stock = db_.stock_index.guess(rows_.stock_hash[i]);
    if (item != HashIndex::kMissing) prefetch_range(&db_.items[item], sizeof(Item));
    if (stock == HashIndex::kMissing) continue;
    const Stock& row = db_.stocks[stock];
    prefetch_range(&row, 64);
    prefetch_range(&row.dist[district - 1], sizeof(row.dist[0]));
  }
}

void LimitEngine::insert_order(const Order& values) {
  const uint32_t at = db_.orders.append();
  db_.orders[at] = values;
  const uint64_t key = order_key(values.warehouse, values.district, values.id);
  db_.order_tree.insert(key, at);
  db_.customer_order_tree.insert(customer_order_key(values.warehouse, values.district, values.customer, values.id), at);
  undo_.inserted(UndoLog::Kind::kOrder, key);
  redo_.change(static_cast<uint8_t>(ch::Table::kOrders), Operation::kInsert, key);
  redo_.column(3, values.customer);
  redo_.column(4, values.entry_time);
  redo_.column(6, values.lines);
  redo_.column(7, values.all_local);

  db_.new_order_tree.insert(key, 0);
  undo_.inserted(UndoLog::Kind::kNewOrder, key);
  redo_.change(static_cast<uint8_t>(ch::Table::kNewOrder), Operation::kInsert, key);
}

void LimitEngine::update_stock(Stock& stock, int32_t quantity, bool remote) {
  undo_.image(&stock.quantity, 4 * sizeof(int32_t));  // quantity, ytd, orders, remote
  stock.quantity = stock.quantity >= quantity + 10 ? stock.quantity - quantity : stock.quantity - quantity + 91;
  stock.ytd += quantity;
  stock.orders += 1;
  stock.remote += remote;
  redo_.change(static_cast<uint8_t>(ch::Table::kStock), Operation::kUpdate, stock.key());
  redo_.column(2, static_cast<int16_t>(stock.quantity));
  redo_.column(13, stock.ytd);
  redo_.column(14, stock.orders);
  redo_.column(15, stock.remote);
}

// False if an item is unknown. The lines go into the index together, at the end: their keys are neighbours.
bool LimitEngine::new_order_lines(const ch::Call& call, int32_t order, int64_t& sum_cents) {
  const auto args = call.args();
  const int64_t w = args[0].lo, d = args[1].lo;
  const auto items = elements(args[3]), supplies = elements(args[4]), quantities = elements(args[5]);
  const uint32_t first_row = static_cast<uint32_t>(db_.lines.size());
  for (size_t i = 0; i < items.size(); ++i) {
    const uint32_t item_row = db_.find_item(static_cast<uint64_t>(items[i].lo), rows_.item_hash[i]);
    if (item_row == HashIndex::kMissing) {
      while (db_.lines.size() > first_row) db_.lines.pop();
      return false;
    }
    const Item& item = db_.items[item_row];
    const uint32_t stock_row = db_.find_stock(Stock::make_key(supplies[i].lo, items[i].lo), rows_.stock_hash[i]);
    CHECK(stock_row != HashIndex::kMissing);
    Stock& stock = db_.stocks[stock_row];
    const int32_t quantity = static_cast<int32_t>(quantities[i].lo);
    update_stock(stock, quantity, supplies[i].lo != w);
    const int32_t amount = quantity * item.price;
    sum_cents += amount;

    const uint32_t at = db_.lines.append();
    db_.lines[at] = {static_cast<int32_t>(w),
                     order,
                     static_cast<int16_t>(d),
                     static_cast<int16_t>(i + 1),
                     item.id,
                     static_cast<int32_t>(supplies[i].lo),
                     amount,
                     0,
                     static_cast<int16_t>(quantity),
                     stock.dist[d - 1]};
    redo_.change(static_cast<uint8_t>(ch::Table::kOrderLine), Operation::kInsert,
                 line_key(w, d, order, static_cast<int64_t>(i + 1)));
    redo_.column(4, item.id);
    redo_.column(5, static_cast<int32_t>(supplies[i].lo));
    redo_.column(7, static_cast<int16_t>(quantity));
    redo_.column(8, amount);
    redo_.column(9, stock.dist[d - 1].view());

    elements_[0][i] = item.name.datum();
    elements_[1][i] = int128_datum(item.price, 2);
    elements_[2][i] = int128_datum(amount, 2);
    elements_[3][i] = int_datum(stock.quantity);
    brands_[i] = has_original(item.data.view()) && has_original(stock.data.view()) ? 'B' : 'G';
  }
  db_.line_tree.insert_run(line_key(w, d, order, 1), first_row, static_cast<uint32_t>(items.size()));
  undo_.inserted(UndoLog::Kind::kLine, line_key(w, d, order, 1));
  return true;
}

}  // namespace scyper::bench
