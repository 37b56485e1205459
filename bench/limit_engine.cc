#include "limit_engine.h"

#include <charconv>

#include "base/check.h"
#include "client/ch/text.h"

namespace scyper::bench {
namespace {

using Operation = RedoLog::Operation;

constexpr uint8_t number_of(ch::Table table) { return static_cast<uint8_t>(table); }

std::string_view text_of(const Datum& value) { return {value.data(), value.size()}; }

// The text of an integer or of cents, in the caller's frame.
class Digits {
 public:
  explicit Digits(int64_t value) : end_(std::to_chars(text_, text_ + sizeof(text_), value).ptr) {}
  static Digits cents(int64_t value) {
    Digits digits(value / 100);
    *digits.end_++ = '.';
    *digits.end_++ = static_cast<char>('0' + value % 100 / 10);
    *digits.end_++ = static_cast<char>('0' + value % 10);
    return digits;
  }
  Digits(const Digits& other) : end_(text_ + other.view().size()) { std::memcpy(text_, other.text_, sizeof(text_)); }
  Digits& operator=(const Digits&) = delete;
  std::string_view view() const { return {text_, static_cast<size_t>(end_ - text_)}; }

 private:
  char text_[32];
  char* end_;
};

}  // namespace

const LimitOutcome& LimitEngine::execute(const ch::Call& call, int64_t time) {
  outcome_.sqlstate = {};
  outcome_.value_count = 0;
  byte_count_ = 0;
  undo_.clear();
  redo_.begin(time);
  switch (call.procedure) {
    case ch::Procedure::kNewOrder:
      new_order(call, time);
      break;
    case ch::Procedure::kPayment:
      payment(call, time);
      break;
    case ch::Procedure::kOrderStatus:
      order_status(call);
      break;
    case ch::Procedure::kDelivery:
      delivery(call, time);
      break;
    case ch::Procedure::kStockLevel:
      stock_level(call);
      break;
  }
  if (outcome_.sqlstate.empty()) redo_.commit();
  return outcome_;
}

void LimitEngine::fail(std::string_view sqlstate) {
  using Kind = UndoLog::Kind;
  outcome_.sqlstate = sqlstate;
  const auto insert_undone = [this](Kind kind, uint64_t key) {
    if (kind == Kind::kNewOrder) {
      CHECK(db_.new_order_tree.erase(key));
      return;
    }
    CHECK(kind == Kind::kOrder);  // no other insert precedes an error
    const Order& order = db_.orders[static_cast<uint32_t>(db_.orders.size() - 1)];
    CHECK(db_.order_tree.erase(key));
    CHECK(db_.customer_order_tree.erase(customer_order_key(order.warehouse, order.district, order.customer, order.id)));
    db_.orders.pop();
  };
  undo_.roll_back(insert_undone, [](Kind, uint64_t) { CHECK(false); });
}

Datum LimitEngine::text(std::initializer_list<std::string_view> parts) {
  const size_t begin = byte_count_;
  for (const std::string_view part : parts) {
    DCHECK(byte_count_ + part.size() <= kResultBytes);
    std::memcpy(&bytes_[byte_count_], part.data(), part.size());
    byte_count_ += part.size();
  }
  return string_datum(&bytes_[begin], byte_count_ - begin);
}

Datum LimitEngine::full_address(const Address& a) {
  return text({a.street_1.view(), ",", a.street_2.view(), ",", a.city.view(), ",", a.state.view(), ",", a.zip.view()});
}

Datum LimitEngine::array(size_t index, TypeId element, int32_t size) {
  arrays_[index] = {size, ch::kMaxLines, 1, element, elements_[index].data()};
  return Datum{reinterpret_cast<int64_t>(&arrays_[index]), 0, 0, 0, {}};
}

// The middle customer of a name by first name (2.5.2.2).
uint32_t LimitEngine::customer_by_name(int64_t w, int64_t d, std::string_view last) {
  const NameKey from = NameKey::make(w, d, last, {}, 0);
  found_.clear();
  for (auto at = db_.name_tree.lower_bound(from); at.valid() && at.key().same_name(from); at.advance()) {
    found_.push_back(at.value());
  }
  CHECK(!found_.empty());
  return found_[(found_.size() + 1) / 2 - 1];
}

void LimitEngine::payment(const ch::Call& call, int64_t time) {
  const auto args = call.args();
  const int64_t w = args[0].lo, d = args[1].lo, c_w = args[2].lo, c_d = args[3].lo, amount = args[6].lo;
  Warehouse& warehouse = db_.warehouses[db_.find_warehouse(w)];
  undo_.image(&warehouse.ytd, sizeof(warehouse.ytd));
  warehouse.ytd += amount;
  redo_.change(number_of(ch::Table::kWarehouse), Operation::kUpdate, warehouse.key());
  redo_.column(8, warehouse.ytd);
  District& district = db_.districts[db_.find_district(w, d)];
  undo_.image(&district.ytd, sizeof(district.ytd));
  district.ytd += amount;
  redo_.change(number_of(ch::Table::kDistrict), Operation::kUpdate, district.key());
  redo_.column(9, district.ytd);

  const uint32_t row =
      args[4].lo == 0 ? customer_by_name(c_w, c_d, text_of(args[5])) : db_.find_customer(c_w, c_d, args[4].lo);
  CHECK(row != HashIndex::kMissing);
  Customer& c = db_.customers[row];
  undo_.image(&c.balance, sizeof(c.balance) + sizeof(c.ytd_payment) + sizeof(c.payments));
  c.balance -= amount;
  c.ytd_payment += amount;
  c.payments += 1;
  redo_.change(number_of(ch::Table::kCustomer), Operation::kUpdate, c.key());
  redo_.column(16, c.balance);
  redo_.column(17, c.ytd_payment);
  redo_.column(18, c.payments);
  const bool bad_credit = c.credit.view() == "BC";
  if (bad_credit) prepend_customer_data(c, args);

  History history{time,
                  c.id,
                  c.warehouse,
                  warehouse.id,
                  static_cast<int16_t>(c_d),
                  static_cast<int16_t>(d),
                  static_cast<int32_t>(amount),
                  {}};
  history.data.set(text_of(text({warehouse.name.view(), "    ", district.name.view()})));
  insert_history(history);

  push(int_datum(c.id));
  push(full_address(warehouse.address));
  push(full_address(district.address));
  const Address& a = c.address;
  push(text({c.first.view(), ",", c.middle.view(), ",", c.last.view(), ",", a.street_1.view(), ",", a.street_2.view(),
             ",", a.city.view(), ",", a.state.view(), ",", a.zip.view()}));
  push(c.phone.datum());
  push(int_datum(c.since));
  push(c.credit.datum());
  push(int128_datum(c.credit_limit, 2));
  push(int128_datum(c.discount, 4));
  push(int128_datum(c.balance, 2));
  push(bad_credit ? text({c.data.view().substr(0, 200)}) : null_datum());
}

// left(c_id || ' ' || c_d_id || ' ' || c_w_id || ' ' || d_id || ' ' || w_id || ' ' || amount || '|' || c_data, 500)
void LimitEngine::prepend_customer_data(Customer& c, std::span<const Datum> args) {
  undo_.image(&c.data, sizeof(c.data));
  const Datum prefix =
      text({Digits(c.id).view(), " ", Digits(c.district).view(), " ", Digits(c.warehouse).view(), " ",
            Digits(args[1].lo).view(), " ", Digits(args[0].lo).view(), " ", Digits::cents(args[6].lo).view(), "|"});
  const size_t kept = std::min(size_t{c.data.size}, sizeof(c.data.bytes) - prefix.size());
  std::memmove(c.data.bytes + prefix.size(), c.data.bytes, kept);
  std::memcpy(c.data.bytes, prefix.data(), prefix.size());
  c.data.size = static_cast<uint16_t>(prefix.size() + kept);
  redo_.column(20, c.data.view());
}

void LimitEngine::insert_history(const History& values) {
  const uint32_t at = db_.histories.append();
  db_.histories[at] = values;
  undo_.inserted(UndoLog::Kind::kHistory, at);
  redo_.change(number_of(ch::Table::kHistory), Operation::kInsert, at);
  redo_.column(0, values.customer);
  redo_.column(1, values.customer_district);
  redo_.column(2, values.customer_warehouse);
  redo_.column(3, values.district);
  redo_.column(4, values.warehouse);
  redo_.column(5, values.time);
  redo_.column(6, values.amount);
  redo_.column(7, values.data.view());
}

void LimitEngine::order_status(const ch::Call& call) {
  const auto args = call.args();
  const int64_t w = args[0].lo, d = args[1].lo;
  const uint32_t row = args[2].lo == 0 ? customer_by_name(w, d, text_of(args[3])) : db_.find_customer(w, d, args[2].lo);
  CHECK(row != HashIndex::kMissing);
  const Customer& c = db_.customers[row];
  push(int_datum(c.id));
  push(c.first.datum());
  push(c.middle.datum());
  push(c.last.datum());
  push(int128_datum(c.balance, 2));
  const auto newest = db_.customer_order_tree.last_below(customer_order_key(w, d, int64_t{c.id} + 1, 0));
  lines_text_.clear();
  if (newest.valid() && newest.key() >> 32 == customer_order_key(w, d, c.id, 0) >> 32) {
    const Order& order = db_.orders[newest.value()];
    push(int_datum(order.id));
    push(int_datum(order.entry_time));
    push(order.carrier == 0 ? null_datum() : int_datum(order.carrier));
    order_lines_text(w, d, order.id);
  } else {
    for (int i = 0; i < 3; ++i) push(null_datum());
  }
  push(string_datum(lines_text_.data(), lines_text_.size()));
}

void LimitEngine::order_lines_text(int64_t w, int64_t d, int64_t o) {
  const uint64_t end = line_key(w, d, o + 1, 0);
  for (auto at = db_.line_tree.lower_bound(line_key(w, d, o, 0)); at.valid() && at.key() < end; at.advance()) {
    const OrderLine& line = db_.lines[at.value()];
    for (const int64_t value : {line.supply_warehouse, line.item, int32_t{line.quantity}}) {
      lines_text_ += Digits(value).view();
      lines_text_ += ',';
    }
    lines_text_ += Digits::cents(line.amount).view();
    if (line.delivery_time != 0) {
      lines_text_ += ',';
      ch::append_text(lines_text_, int_datum(line.delivery_time), make_type(TypeId::kTimestamp));
    }
    lines_text_ += '\n';
  }
}

void LimitEngine::delivery(const ch::Call& call, int64_t time) {
  const auto args = call.args();
  const int64_t w = args[0].lo;
  int64_t delivered = 0;
  for (int64_t d = 1; d <= ch::kDistricts; ++d) {
    const auto oldest = db_.new_order_tree.lower_bound(order_key(w, d, 0));
    if (!oldest.valid() || oldest.key() >= order_key(w, d + 1, 0)) continue;
    const uint64_t key = oldest.key();
    CHECK(db_.new_order_tree.erase(key));
    undo_.removed(UndoLog::Kind::kNewOrder, key);
    redo_.change(number_of(ch::Table::kNewOrder), Operation::kDelete, key);
    deliver(w, d, static_cast<int64_t>(key & 0xffffffff), static_cast<int16_t>(args[1].lo), time);
    ++delivered;
  }
  push(int_datum(delivered));
}

void LimitEngine::deliver(int64_t w, int64_t d, int64_t o, int16_t carrier, int64_t time) {
  const uint64_t key = order_key(w, d, o);
  const auto place = db_.order_tree.lower_bound(key);
  CHECK(place.valid() && place.key() == key);
  Order& order = db_.orders[place.value()];
  undo_.image(&order.carrier, sizeof(order.carrier));
  order.carrier = carrier;
  redo_.change(number_of(ch::Table::kOrders), Operation::kUpdate, key);
  redo_.column(5, carrier);

  int64_t total = 0;
  const uint64_t end = line_key(w, d, o + 1, 0);
  for (auto at = db_.line_tree.lower_bound(line_key(w, d, o, 0)); at.valid() && at.key() < end; at.advance()) {
    OrderLine& line = db_.lines[at.value()];
    undo_.image(&line.delivery_time, sizeof(line.delivery_time));
    line.delivery_time = time;
    total += line.amount;
    redo_.change(number_of(ch::Table::kOrderLine), Operation::kUpdate, at.key());
    redo_.column(6, time);
  }
  Customer& c = db_.customers[db_.find_customer(w, d, order.customer)];
  undo_.image(&c.balance, sizeof(c.balance));
  undo_.image(&c.deliveries, sizeof(c.deliveries));
  c.balance += total;
  c.deliveries += 1;
  redo_.change(number_of(ch::Table::kCustomer), Operation::kUpdate, c.key());
  redo_.column(16, c.balance);
  redo_.column(19, c.deliveries);
}

// Distinct items of the last 20 orders: a small hash set first, then the stocks with their misses in parallel.
void LimitEngine::stock_level(const ch::Call& call) {
  constexpr size_t kSlots = 1024, kMaxItems = 20 * ch::kMaxLines;
  const auto args = call.args();
  const int64_t w = args[0].lo, d = args[1].lo, threshold = args[2].lo;
  const int64_t next = db_.districts[db_.find_district(w, d)].next_order;
  std::array<int32_t, kSlots> seen{};
  std::array<uint64_t, kMaxItems> hashes;
  std::array<int32_t, kMaxItems> items;
  size_t count = 0;
  const uint64_t end = line_key(w, d, next, 0);
  for (auto at = db_.line_tree.lower_bound(line_key(w, d, std::max<int64_t>(next - 20, 0), 0));
       at.valid() && at.key() < end; at.advance()) {
    const int32_t item = db_.lines[at.value()].item;
    size_t slot = (static_cast<uint32_t>(item) * 2654435761U) >> 22;
    while (seen[slot] != 0 && seen[slot] != item) slot = (slot + 1) % kSlots;
    if (seen[slot] == item) continue;
    seen[slot] = item;
    hashes[count] = HashIndex::hash(Stock::make_key(w, item));
    db_.stock_index.prefetch(hashes[count]);
    items[count++] = item;
  }
  for (size_t i = 0; i < count; ++i) {
    const uint32_t row = db_.stock_index.guess(hashes[i]);
    if (row != HashIndex::kMissing) __builtin_prefetch(&db_.stocks[row]);
  }
  int64_t low = 0;
  for (size_t i = 0; i < count; ++i) {
    const uint32_t row = db_.find_stock(Stock::make_key(w, items[i]), hashes[i]);
    low += row != HashIndex::kMissing && db_.stocks[row].quantity < threshold;
  }
  push(int_datum(low));
}

}  // namespace scyper::bench
