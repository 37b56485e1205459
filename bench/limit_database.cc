#include "limit_database.h"

#include "base/check.h"

namespace scyper::bench {
namespace {

std::string_view text_of(const Datum& value) { return {value.data(), value.size()}; }
int32_t int_of(const Datum& value) { return static_cast<int32_t>(value.lo); }
int16_t small_of(const Datum& value) { return static_cast<int16_t>(value.lo); }

// Columns street_1 .. zip.
void read_address(Address& address, std::span<const Datum> row, size_t at) {
  address.street_1.set(text_of(row[at]));
  address.street_2.set(text_of(row[at + 1]));
  address.city.set(text_of(row[at + 2]));
  address.state.set(text_of(row[at + 3]));
  address.zip.set(text_of(row[at + 4]));
}

// Collects the datums of a row in the order of the schema.
class RowText {
 public:
  RowText& integer(int64_t value) { return add(int_datum(value)); }
  RowText& numeric(int64_t value, int32_t scale) { return add(int128_datum(value, scale)); }
  RowText& add(const Datum& value) {
    values_[count_++] = value;
    return *this;
  }
  RowText& address(const Address& a) {
    return add(a.street_1.datum()).add(a.street_2.datum()).add(a.city.datum()).add(a.state.datum()).add(a.zip.datum());
  }
  std::span<const Datum> row() const { return {values_.data(), count_}; }

 private:
  std::array<Datum, 24> values_;
  size_t count_ = 0;
};

RowText datums_of(const Warehouse& w) {
  return RowText().integer(w.id).add(w.name.datum()).address(w.address).numeric(w.tax, 4).numeric(w.ytd, 2);
}

RowText datums_of(const District& d) {
  RowText row;
  row.integer(d.id).integer(d.warehouse).add(d.name.datum()).address(d.address);
  return row.numeric(d.tax, 4).numeric(d.ytd, 2).integer(d.next_order);
}

RowText datums_of(const Customer& c) {
  RowText row;
  row.integer(c.id).integer(c.district).integer(c.warehouse);
  row.add(c.first.datum()).add(c.middle.datum()).add(c.last.datum()).address(c.address).add(c.phone.datum());
  row.integer(c.since).add(c.credit.datum()).numeric(c.credit_limit, 2).numeric(c.discount, 4);
  row.numeric(c.balance, 2).numeric(c.ytd_payment, 2).integer(c.payments).integer(c.deliveries);
  return row.add(c.data.datum());
}

RowText datums_of(const History& h) {
  RowText row;
  row.integer(h.customer).integer(h.customer_district).integer(h.customer_warehouse);
  row.integer(h.district).integer(h.warehouse).integer(h.time).numeric(h.amount, 2);
  return row.add(h.data.datum());
}

RowText datums_of(const Order& o) {
  RowText row;
  row.integer(o.id).integer(o.district).integer(o.warehouse).integer(o.customer).integer(o.entry_time);
  row.add(o.carrier == 0 ? null_datum() : int_datum(o.carrier));
  return row.integer(o.lines).integer(o.all_local);
}

RowText datums_of(const OrderLine& l) {
  RowText row;
  row.integer(l.order).integer(l.district).integer(l.warehouse).integer(l.number).integer(l.item);
  row.integer(l.supply_warehouse).add(l.delivery_time == 0 ? null_datum() : int_datum(l.delivery_time));
  return row.integer(l.quantity).numeric(l.amount, 2).add(l.dist_info.datum());
}

RowText datums_of(const Item& i) {
  return RowText().integer(i.id).integer(i.image).add(i.name.datum()).numeric(i.price, 2).add(i.data.datum());
}

RowText datums_of(const Stock& s) {
  RowText row;
  row.integer(s.item).integer(s.warehouse).integer(s.quantity);
  for (const auto& dist : s.dist) row.add(dist.datum());
  return row.integer(s.ytd).integer(s.orders).integer(s.remote).add(s.data.datum());
}

template <typename T>
void visit_store(const Store<T>& store, const std::function<void(std::span<const Datum>)>& visit) {
  for (uint32_t i = 0; i < store.size(); ++i) visit(datums_of(store[i]).row());
}

}  // namespace

LimitDatabase::LimitDatabase(const ch::Generator& generator, const LimitOptions& options) {
  const ch::Scale& scale = generator.scale();
  CHECK(scale.warehouses < 4096 && scale.customers_per_district < 65'536);
  reserve(scale, options.huge_pages);
  load(generator, ch::Table::kItem, 0);
  for (const ch::TableInfo& info : ch::all_tables()) {
    if (info.warehouse_column < 0) continue;
    for (int32_t w = 1; w <= scale.warehouses; ++w) load(generator, info.table, w);
  }
}

void LimitDatabase::reserve(const ch::Scale& scale, bool huge) {
  warehouses.reserve(huge);
  districts.reserve(huge);
  customers.reserve(huge);
  histories.reserve(huge);
  orders.reserve(huge);
  lines.reserve(huge);
  items.reserve(huge);
  stocks.reserve(huge);
  const size_t w = static_cast<size_t>(scale.warehouses);
  warehouse_index.reserve(w, huge);
  district_index.reserve(w * ch::kDistricts, huge);
  customer_index.reserve(w * ch::kDistricts * static_cast<size_t>(scale.customers_per_district), huge);
  item_index.reserve(static_cast<size_t>(scale.items), huge);
  stock_index.reserve(w * static_cast<size_t>(scale.items), huge);
  order_tree.reserve(huge);
  customer_order_tree.reserve(huge);
  new_order_tree.reserve(huge);
  line_tree.reserve(huge);
  name_tree.reserve(huge);
}

void LimitDatabase::prefault(size_t transactions) {
  const size_t new_orders = transactions * 45 / 100;
  orders.prefault(new_orders);
  lines.prefault(new_orders * 10);
  histories.prefault(transactions * 43 / 100);
  order_tree.prefault(new_orders);
  customer_order_tree.prefault(new_orders);
  line_tree.prefault(new_orders * 10);
}

void LimitDatabase::load(const ch::Generator& generator, ch::Table table, int32_t warehouse) {
  ch::RowCursor cursor(generator, table, warehouse);
  for (ch::RowBatch batch = cursor.next(); batch.rows > 0; batch = cursor.next()) {
    for (size_t r = 0; r < batch.rows; ++r) add_row(table, batch.row(r));
  }
}

void LimitDatabase::add_row(ch::Table table, std::span<const Datum> row) {
  switch (table) {
    case ch::Table::kWarehouse:
      return add_warehouse(row);
    case ch::Table::kDistrict:
      return add_district(row);
    case ch::Table::kCustomer:
      return add_customer(row);
    case ch::Table::kHistory:
      return add_history(row);
    case ch::Table::kOrders:
      return add_order(row);
    case ch::Table::kNewOrder:
      return new_order_tree.insert(order_key(row[2].lo, row[1].lo, row[0].lo), 0);
    case ch::Table::kOrderLine:
      return add_line(row);
    case ch::Table::kItem:
      return add_item(row);
    default:
      CHECK(table == ch::Table::kStock);
      add_stock(row);
  }
}

void LimitDatabase::add_warehouse(std::span<const Datum> row) {
  const uint32_t at = warehouses.append();
  Warehouse& w = warehouses[at];
  w.id = int_of(row[0]);
  w.name.set(text_of(row[1]));
  read_address(w.address, row, 2);
  w.tax = int_of(row[7]);
  w.ytd = row[8].lo;
  warehouse_index.insert(w.key(), at);
}

void LimitDatabase::add_district(std::span<const Datum> row) {
  const uint32_t at = districts.append();
  District& d = districts[at];
  d.id = int_of(row[0]);
  d.warehouse = int_of(row[1]);
  d.name.set(text_of(row[2]));
  read_address(d.address, row, 3);
  d.tax = int_of(row[8]);
  d.ytd = row[9].lo;
  d.next_order = int_of(row[10]);
  district_index.insert(d.key(), at);
}

void LimitDatabase::add_customer(std::span<const Datum> row) {
  const uint32_t at = customers.append();
  Customer& c = customers[at];
  c.id = int_of(row[0]);
  c.district = int_of(row[1]);
  c.warehouse = int_of(row[2]);
  c.first.set(text_of(row[3]));
  c.middle.set(text_of(row[4]));
  c.last.set(text_of(row[5]));
  read_address(c.address, row, 6);
  c.phone.set(text_of(row[11]));
  c.since = row[12].lo;
  c.credit.set(text_of(row[13]));
  c.credit_limit = row[14].lo;
  c.discount = int_of(row[15]);
  c.balance = row[16].lo;
  c.ytd_payment = row[17].lo;
  c.payments = int_of(row[18]);
  c.deliveries = int_of(row[19]);
  c.data.set(text_of(row[20]));
  customer_index.insert(c.key(), at);
  name_tree.insert(NameKey::make(c.warehouse, c.district, c.last.view(), c.first.view(), c.id), at);
}

void LimitDatabase::add_history(std::span<const Datum> row) {
  History& h = histories[histories.append()];
  h.customer = int_of(row[0]);
  h.customer_district = small_of(row[1]);
  h.customer_warehouse = int_of(row[2]);
  h.district = small_of(row[3]);
  h.warehouse = int_of(row[4]);
  h.time = row[5].lo;
  h.amount = int_of(row[6]);
  h.data.set(text_of(row[7]));
}

void LimitDatabase::add_order(std::span<const Datum> row) {
  const uint32_t at = orders.append();
  Order& o = orders[at];
  o.id = int_of(row[0]);
  o.district = small_of(row[1]);
  o.warehouse = int_of(row[2]);
  o.customer = int_of(row[3]);
  o.entry_time = row[4].lo;
  o.carrier = row[5].null ? int16_t{0} : small_of(row[5]);
  o.lines = small_of(row[6]);
  o.all_local = small_of(row[7]);
  order_tree.insert(order_key(o.warehouse, o.district, o.id), at);
  customer_order_tree.insert(customer_order_key(o.warehouse, o.district, o.customer, o.id), at);
}

void LimitDatabase::add_line(std::span<const Datum> row) {
  const uint32_t at = lines.append();
  OrderLine& l = lines[at];
  l.order = int_of(row[0]);
  l.district = small_of(row[1]);
  l.warehouse = int_of(row[2]);
  l.number = small_of(row[3]);
  l.item = int_of(row[4]);
  l.supply_warehouse = int_of(row[5]);
  l.delivery_time = row[6].null ? 0 : row[6].lo;
  l.quantity = small_of(row[7]);
  l.amount = int_of(row[8]);
  l.dist_info.set(text_of(row[9]));
  line_tree.insert(line_key(l.warehouse, l.district, l.order, l.number), at);
}

void LimitDatabase::add_item(std::span<const Datum> row) {
  const uint32_t at = items.append();
  Item& i = items[at];
  i.id = int_of(row[0]);
  i.image = int_of(row[1]);
  i.name.set(text_of(row[2]));
  i.price = int_of(row[3]);
  i.data.set(text_of(row[4]));
  item_index.insert(i.key(), at);
}

void LimitDatabase::add_stock(std::span<const Datum> row) {
  const uint32_t at = stocks.append();
  Stock& s = stocks[at];
  s.item = int_of(row[0]);
  s.warehouse = int_of(row[1]);
  s.quantity = int_of(row[2]);
  for (size_t k = 0; k < 10; ++k) s.dist[k].set(text_of(row[3 + k]));
  s.ytd = int_of(row[13]);
  s.orders = int_of(row[14]);
  s.remote = int_of(row[15]);
  s.data.set(text_of(row[16]));
  stock_index.insert(s.key(), at);
}

void LimitDatabase::for_each_row(ch::Table table, const std::function<void(std::span<const Datum>)>& visit) const {
  switch (table) {
    case ch::Table::kWarehouse:
      return visit_store(warehouses, visit);
    case ch::Table::kDistrict:
      return visit_store(districts, visit);
    case ch::Table::kCustomer:
      return visit_store(customers, visit);
    case ch::Table::kHistory:
      return visit_store(histories, visit);
    case ch::Table::kOrders:
      return visit_store(orders, visit);
    case ch::Table::kOrderLine:
      return visit_store(lines, visit);
    case ch::Table::kItem:
      return visit_store(items, visit);
    case ch::Table::kStock:
      return visit_store(stocks, visit);
    case ch::Table::kNewOrder:
      for (auto at = new_order_tree.lower_bound(0); at.valid(); at.advance()) {
        const uint64_t key = at.key();
        visit(RowText()
                  .integer(static_cast<int64_t>(key & 0xffffffff))
                  .integer(static_cast<int64_t>(key >> 32 & 0xff))
                  .integer(static_cast<int64_t>(key >> 40))
                  .row());
      }
      return;
    default:
      CHECK(table == ch::Table::kSupplier || table == ch::Table::kNation || table == ch::Table::kRegion);
  }
}

}  // namespace scyper::bench
