#include "client/ch/generator.h"

#include <algorithm>
#include <cstdio>

#include "base/check.h"
#include "names.h"
#include "reference_data.h"
#include "row.h"

namespace scyper::ch {
namespace {

constexpr std::string_view kAlphabet = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
constexpr int64_t kDay = int64_t{86'400} * 1'000'000;
constexpr std::string_view kOriginal = "ORIGINAL";

// Four symbols per drawn number: 16 bits each, so that the bias is below 0.1 %.
void fill(Random& random, char* out, size_t size, std::string_view symbols) {
  uint64_t bits = 0;
  for (size_t i = 0; i < size; ++i) {
    if (i % 4 == 0) bits = random.next();
    out[i] = symbols[((bits & 0xffff) * symbols.size()) >> 16];
    bits >>= 16;
  }
}

void fill_letters(Random& random, char* out, size_t size) { fill(random, out, size, kAlphabet); }
void fill_digits(Random& random, char* out, size_t size) { fill(random, out, size, kAlphabet.substr(0, 10)); }

uint64_t mix_bits(uint64_t x) {
  x = (x ^ (x >> 32)) * 0xd6e8feb86659fd93;
  x = (x ^ (x >> 32)) * 0xd6e8feb86659fd93;
  return x ^ (x >> 32);
}

}  // namespace

Generator::Generator(const GeneratorOptions& options) : options_(options) {
  const Scale& scale = options.scale;
  CHECK(scale.warehouses >= 1 && scale.items >= 1 && scale.customers_per_district >= 1);
  CHECK(scale.orders_per_district >= 1 && scale.suppliers >= 1);
  if (census()) names_ = std::make_unique<NameSampler>();
}

Generator::~Generator() = default;

Random Generator::stream(Table table, int64_t a, int64_t b, int64_t c, int64_t d) const {
  uint64_t h = mix_bits(options_.seed * 0x9e3779b97f4a7c15 + static_cast<uint64_t>(table) + 1);
  h = mix_bits(h ^ (static_cast<uint64_t>(a) << 32 | static_cast<uint64_t>(b)));
  return Random(mix_bits(h ^ (static_cast<uint64_t>(c) << 16 | static_cast<uint64_t>(d))));
}

int64_t Generator::row_count(Table table, int32_t warehouse) const {
  const Scale& s = options_.scale;
  switch (table) {
    case Table::kRegion:
      return std::size(kRegionNames);
    case Table::kNation:
      return std::size(kNations);
    case Table::kSupplier:
      return s.suppliers;
    case Table::kItem:
      return s.items;
    default:
      break;
  }
  if (warehouse < 1 || warehouse > s.warehouses) return 0;
  switch (table) {
    case Table::kWarehouse:
      return 1;
    case Table::kDistrict:
      return kDistricts;
    case Table::kCustomer:
    case Table::kHistory:
      return int64_t{kDistricts} * s.customers_per_district;
    case Table::kOrders:
      return int64_t{kDistricts} * s.orders_per_district;
    case Table::kNewOrder:
      return int64_t{kDistricts} * (s.orders_per_district - s.delivered_per_district());
    case Table::kOrderLine:
      return int64_t{kDistricts} * s.orders_per_district * 10;
    default:
      return s.items;
  }
}

// --- strings ---

void Generator::string(Row& row, Random& random, int64_t lo, int64_t hi) const {
  if (!census()) {
    const size_t size = static_cast<size_t>(random.between(lo, hi));
    fill_letters(random, row.bytes(), size);
    row.finish(size);
    return;
  }
  // One name for a short string, names up to the smallest length for a long one.
  size_t size = 0;
  do {
    std::string_view name = names_->draw(random);
    if (size > 0) row.bytes()[size++] = ' ';
    name = name.substr(0, static_cast<size_t>(hi) - size);
    std::memcpy(row.bytes() + size, name.data(), name.size());
    size += name.size();
  } while (lo > 24 && size + 1 < static_cast<size_t>(lo));
  row.finish(size);
}

// i_data and s_data: 26 to 50 letters, in 10 % "ORIGINAL" at a random place. The varied profile makes the beginnings
// and ends of i_data that the queries ask for more frequent, so that small databases have them too.
void Generator::data_string(Row& row, Random& random, bool of_item) const {
  char* const bytes = row.bytes();
  string(row, random, 26, 50);
  const size_t size = static_cast<size_t>(row.bytes() - bytes);
  if (of_item && varied()) {
    const int64_t kind = random.between(0, 39);
    if (kind == 0) std::memcpy(bytes, "co", 2);
    if (kind == 1) std::memcpy(bytes, "PR", 2);
    if (kind == 2) std::memcpy(bytes + size - 2, "BB", 2);
    if (kind == 3 || kind == 0) bytes[size - 1] = 'b';
  }
  if (random.one_in(10)) {
    const int64_t margin = varied() ? 2 : 0;
    const int64_t place = random.between(margin, static_cast<int64_t>(size - kOriginal.size()) - margin);
    std::memcpy(bytes + place, kOriginal.data(), kOriginal.size());
  }
}

void Generator::address(Row& row, Random& random) const {
  string(row, random, 10, 20);
  string(row, random, 10, 20);
  string(row, random, 10, 20);
  fill_letters(random, row.bytes(), 2);
  row.finish(2);
  fill_digits(random, row.bytes(), 4);
  std::memcpy(row.bytes() + 4, "11111", 5);
  row.finish(9);
}

void Generator::name_and_address(Row& row, Random& random) const {
  string(row, random, 6, 10);
  address(row, random);
}

size_t Generator::customer_last_name(int32_t w, int32_t d, int32_t c, char* out) const {
  Random random = stream(Table::kCustomer, w, d, c, 1);
  if (census()) {
    const std::string_view name = names_->draw(random);
    std::memcpy(out, name.data(), name.size());
    return name.size();
  }
  const int32_t names = options_.scale.last_names();
  return write_last_name(c <= names ? c - 1 : nurand(random, 255, kNameLoad, 0, names - 1), out);
}

// --- shared tables ---

void Generator::region_row(int32_t key, Row& row) const {
  Random random = stream(Table::kRegion, 0, 0, key);
  row.integer(key);
  row.fixed(kRegionNames[key], 25);
  string(row, random, 31, 115);
}

void Generator::nation_row(int32_t index, Row& row) const {
  Random random = stream(Table::kNation, 0, 0, index);
  row.integer(kNations[index].key);
  row.fixed(kNations[index].name, 25);
  row.integer(kNations[index].region);
  string(row, random, 31, 114);
}

// As TPC-H's supplier; a comment with "bad" in one of a hundred, for query 16.
void Generator::supplier_row(int32_t key, Row& row) const {
  Random random = stream(Table::kSupplier, 0, 0, key);
  char text[32];
  row.integer(key);
  std::snprintf(text, sizeof(text), "Supplier#%09d", key);
  row.fixed(text, 25);
  string(row, random, 10, 40);
  const int32_t nation = static_cast<int32_t>(random.below(std::size(kNations)));
  row.integer(kNations[nation].key);
  std::snprintf(text, sizeof(text), "%02d-%03d-%03d-%04d", 10 + nation, static_cast<int>(random.between(100, 999)),
                static_cast<int>(random.between(100, 999)), static_cast<int>(random.between(1000, 9999)));
  row.fixed(text, 15);
  row.numeric(random.between(-99'999, 999'999), 2);
  char* const comment = row.bytes();
  string(row, random, 25, 100);
  if (random.one_in(100)) std::memcpy(comment + random.between(0, 20), "bad", 3);
}

int64_t Generator::price_cents(int32_t item) const { return stream(Table::kItem, 0, 0, item, 1).between(100, 10'000); }

void Generator::item_row(int32_t i, Row& row) const {
  Random random = stream(Table::kItem, 0, 0, i);
  row.integer(i);
  row.integer(random.between(1, 10'000));
  string(row, random, 14, 24);
  row.numeric(price_cents(i), 2);
  data_string(row, random, true);
}

// --- warehouse, district, customer ---

void Generator::warehouse_row(int32_t w, int64_t paid_cents, Row& row) const {
  Random random = stream(Table::kWarehouse, w, 0, 0);
  row.integer(w);
  name_and_address(row, random);
  row.numeric(random.between(0, 2000), 4);
  row.numeric(paid_cents, 2);
}

void Generator::district_row(int32_t w, int32_t d, const DistrictState& state, Row& row) const {
  Random random = stream(Table::kDistrict, w, d, 0);
  row.integer(d);
  row.integer(w);
  name_and_address(row, random);
  row.numeric(random.between(0, 2000), 4);
  row.numeric(state.paid_cents, 2);
  row.integer(options_.scale.orders_per_district + 1);
}

void Generator::customer_row(int32_t w, int32_t d, int32_t c, const DistrictState& state, Row& row) const {
  Random random = stream(Table::kCustomer, w, d, c);
  row.integer(c);
  row.integer(d);
  row.integer(w);
  string(row, random, 8, 16);
  row.text("OE");
  row.finish(customer_last_name(w, d, c, row.bytes()));
  address(row, random);
  fill_digits(random, row.bytes(), 16);
  row.finish(16);
  row.timestamp(varied() ? options_.load_time - random.between(0, 5 * 365) * kDay : options_.load_time);
  row.text(random.one_in(10) ? "BC" : "GC");
  row.numeric(5'000'000, 2);
  row.numeric(random.between(0, 5000), 4);
  const int64_t paid = payment_cents(w, d, c);
  row.numeric(state.delivered_cents[static_cast<size_t>(c - 1)] - paid, 2);
  row.numeric(paid, 2);
  row.integer(1);
  row.integer(state.deliveries[static_cast<size_t>(c - 1)]);
  string(row, random, 300, 500);
}

// The single payment of the initial population: 10.00. Varied: between 1 and 5,000, and refunds to a third of the
// customers without an order, so that some of them have a balance above the average (query 22).
int64_t Generator::payment_cents(int32_t w, int32_t d, int32_t c) const {
  if (!varied()) return 1'000;
  Random random = stream(Table::kHistory, w, d, c, 1);
  return c % 9 == 0 ? -random.between(100, 999'999) : random.between(100, 500'000);
}

int64_t Generator::paid_cents(int32_t w, int32_t d) const {
  int64_t sum = 0;
  for (int32_t c = 1; c <= options_.scale.customers_per_district; ++c) sum += payment_cents(w, d, c);
  return sum;
}

void Generator::history_row(int32_t w, int32_t d, int32_t c, Row& row) const {
  Random random = stream(Table::kHistory, w, d, c);
  row.integer(c);
  row.integer(d);
  row.integer(w);
  row.integer(d);
  row.integer(w);
  row.timestamp(varied() ? options_.load_time - random.between(0, 365) * kDay : options_.load_time);
  row.numeric(payment_cents(w, d, c), 2);
  string(row, random, 12, 24);
}

// --- orders ---

// Spec: a permutation of the customers (again from the start if there are more orders). Varied: like TPC-H, a third of
// the customers has no order and the others have any number.
void Generator::assign_customers(int32_t w, int32_t d, std::vector<int32_t>& customer_of_order) const {
  const int32_t customers = options_.scale.customers_per_district;
  Random random = stream(Table::kOrders, w, d, 0);
  customer_of_order.resize(static_cast<size_t>(options_.scale.orders_per_district));
  if (varied() && customers >= 3) {
    for (int32_t& customer : customer_of_order) {
      do {
        customer = static_cast<int32_t>(random.between(1, customers));
      } while (customer % 3 == 0);
    }
    return;
  }
  std::vector<int32_t> permutation(static_cast<size_t>(customers));
  for (int32_t i = 0; i < customers; ++i) permutation[static_cast<size_t>(i)] = i + 1;
  for (size_t i = permutation.size(); i > 1; --i) std::swap(permutation[i - 1], permutation[random.below(i)]);
  for (size_t i = 0; i < customer_of_order.size(); ++i) customer_of_order[i] = permutation[i % permutation.size()];
}

DistrictState Generator::district_state(int32_t w, int32_t d) const {
  const Scale& scale = options_.scale;
  DistrictState state;
  assign_customers(w, d, state.customer_of_order);
  state.delivered_cents.resize(static_cast<size_t>(scale.customers_per_district));
  state.deliveries.resize(static_cast<size_t>(scale.customers_per_district));
  state.paid_cents = paid_cents(w, d);
  if (!varied()) return state;  // the amounts of delivered lines are 0
  for (int32_t o = 1; o <= scale.delivered_per_district(); ++o) {
    const size_t customer = static_cast<size_t>(state.customer_of_order[static_cast<size_t>(o - 1)] - 1);
    const Order basics = order(w, d, o);
    for (int32_t number = 1; number <= basics.lines; ++number) {
      Random random = stream(Table::kOrderLine, w, d, o, number);
      state.delivered_cents[customer] += line(basics, random).amount_cents;
    }
    ++state.deliveries[customer];
  }
  return state;
}

// Varied: the delivered orders of a district come evenly from 2007-06-01 to half a year before the load, the open ones
// from then on (query 20 asks for deliveries after 2010-05-23).
Generator::Order Generator::order(int32_t w, int32_t d, int32_t o) const {
  const int32_t delivered = options_.scale.delivered_per_district();
  Random random = stream(Table::kOrders, w, d, o);
  Order result;
  result.lines = static_cast<int32_t>(random.between(5, kMaxLines));
  result.carrier = o <= delivered ? static_cast<int32_t>(random.between(1, 10)) : 0;
  result.entry_time = options_.load_time;
  if (varied()) {
    constexpr int64_t kOldest = 1644 * kDay, kOpen = 184 * kDay;
    const int64_t step = o <= delivered ? (kOldest - kOpen) / delivered
                                        : (kOpen - kDay) / (options_.scale.orders_per_district - delivered);
    result.entry_time += o <= delivered ? -kOldest + step * (o - 1) : -kOpen + step * (o - delivered - 1);
    result.entry_time += random.between(0, step / 1'000'000) * 1'000'000;
  }
  return result;
}

Generator::Line Generator::line(const Order& order, Random& random) const {
  Line result{};
  result.item = static_cast<int32_t>(random.between(1, options_.scale.items));
  if (varied()) {
    result.quantity = static_cast<int32_t>(random.between(1, 10));
    result.amount_cents = result.quantity * price_cents(result.item);
    if (order.carrier != 0) result.delivery_time = order.entry_time + random.between(0, 90) * kDay;
    return result;
  }
  result.quantity = 5;
  result.amount_cents = order.carrier != 0 ? 0 : random.between(1, 999'999);
  result.delivery_time = order.carrier != 0 ? order.entry_time : 0;
  return result;
}

void Generator::order_row(int32_t w, int32_t d, int32_t o, const DistrictState& state, Row& row) const {
  const Order basics = order(w, d, o);
  row.integer(o);
  row.integer(d);
  row.integer(w);
  row.integer(state.customer_of_order[static_cast<size_t>(o - 1)]);
  row.timestamp(basics.entry_time);
  if (basics.carrier != 0) {
    row.integer(basics.carrier);
  } else {
    row.null();
  }
  row.integer(basics.lines);
  row.integer(1);
}

void Generator::line_row(int32_t w, int32_t d, int32_t o, const Order& order, int32_t number, Row& row) const {
  Random random = stream(Table::kOrderLine, w, d, o, number);
  const Line values = line(order, random);
  row.integer(o);
  row.integer(d);
  row.integer(w);
  row.integer(number);
  row.integer(values.item);
  row.integer(w);
  if (order.carrier != 0) {
    row.timestamp(values.delivery_time);
  } else {
    row.null();
  }
  row.integer(values.quantity);
  row.numeric(values.amount_cents, 2);
  if (census()) {
    row.fixed(names_->draw(random), 24);
  } else {
    fill_letters(random, row.bytes(), 24);
    row.finish(24);
  }
}

// Varied: one of 200 items per warehouse was ordered much more often than the others, whatever the number of
// warehouses, so that query 11 finds items above its half percent.
void Generator::stock_row(int32_t w, int32_t i, Row& row) const {
  Random random = stream(Table::kStock, w, 0, i);
  row.integer(i);
  row.integer(w);
  row.integer(random.between(10, 100));
  for (int k = 0; k < 10; ++k) {
    if (census()) {
      row.fixed(names_->draw(random), 24);
    } else {
      fill_letters(random, row.bytes(), 24);
      row.finish(24);
    }
  }
  int64_t orders = 0;
  if (varied()) {
    const int64_t warehouses = options_.scale.warehouses;
    orders = random.between(0, 9);
    if (random.one_in(static_cast<uint64_t>(200 * warehouses))) orders = random.between(100, 400) * warehouses;
  }
  row.integer(orders * 5);
  row.integer(orders);
  row.integer(0);
  data_string(row, random, false);
}

}  // namespace scyper::ch
