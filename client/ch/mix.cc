#include "client/ch/mix.h"

#include <algorithm>

#include "base/check.h"

namespace scyper::ch {
namespace {

constexpr SqlType kInt = make_type(TypeId::kInt4);
constexpr SqlType kText = make_type(TypeId::kText);
constexpr SqlType kVarchar = make_type(TypeId::kVarchar);
constexpr SqlType kChar = make_type(TypeId::kChar);  // a parameter's length is not part of its type
constexpr SqlType kNumeric = make_type(TypeId::kNumeric);
constexpr SqlType kTime = make_type(TypeId::kTimestamp);
constexpr SqlType kInts = make_array(kInt);

constexpr SqlType kNewOrderIn[] = {kInt, kInt, kInt, kInts, kInts, kInts};
constexpr SqlType kNewOrderOut[] = {kInt,
                                    kVarchar,
                                    kChar,
                                    kNumeric,
                                    kNumeric,
                                    kNumeric,
                                    kNumeric,
                                    make_array(kText),
                                    make_array(kNumeric),
                                    make_array(kNumeric),
                                    kInts,
                                    kText};
constexpr SqlType kPaymentIn[] = {kInt, kInt, kInt, kInt, kInt, kVarchar, kNumeric};
constexpr SqlType kPaymentOut[] = {kInt, kText, kText, kText, kChar, kTime, kChar, kNumeric, kNumeric, kNumeric, kText};
constexpr SqlType kOrderStatusIn[] = {kInt, kInt, kInt, kVarchar};
constexpr SqlType kOrderStatusOut[] = {kInt, kVarchar, kChar, kVarchar, kNumeric, kInt, kTime, kInt, kText};
constexpr SqlType kDeliveryIn[] = {kInt, kInt};
constexpr SqlType kDeliveryOut[] = {kInt};
constexpr SqlType kStockLevelIn[] = {kInt, kInt, kInt};
constexpr SqlType kStockLevelOut[] = {kInt};

struct Signature {
  std::string_view name;
  std::span<const SqlType> in, out;
};
constexpr Signature kSignatures[kProcedureCount] = {
    {"tpcc_new_order", kNewOrderIn, kNewOrderOut},          {"tpcc_payment", kPaymentIn, kPaymentOut},
    {"tpcc_order_status", kOrderStatusIn, kOrderStatusOut}, {"tpcc_delivery", kDeliveryIn, kDeliveryOut},
    {"tpcc_stock_level", kStockLevelIn, kStockLevelOut},
};
const Signature& signature(Procedure procedure) { return kSignatures[static_cast<size_t>(procedure)]; }

}  // namespace

std::string_view procedure_name(Procedure procedure) { return signature(procedure).name; }
std::span<const SqlType> parameter_types(Procedure procedure) { return signature(procedure).in; }
std::span<const SqlType> result_types(Procedure procedure) { return signature(procedure).out; }

InputStream::InputStream(const Generator& generator, const MixOptions& options)
    : generator_(generator), options_(options), scale_(generator.scale()), random_(options.seed) {
  for (const int32_t home : options_.homes) CHECK(home >= 1 && home <= scale_.warehouses);
}

bool InputStream::hits(double percent) { return percent > 0 && random_.real() * 100 < percent; }

void InputStream::next(Call& call) {
  call.home = options_.homes.empty() ? static_cast<int32_t>(random_.between(1, scale_.warehouses))
                                     : options_.homes[random_.below(options_.homes.size())];
  call.remote = false;
  call.rolls_back = false;
  int dice = static_cast<int>(random_.below(100));
  if ((dice -= options_.new_order_percent) < 0) return new_order(call);
  if ((dice -= options_.payment_percent) < 0) return payment(call);
  if ((dice -= options_.order_status_percent) < 0) return order_status(call);
  if ((dice -= options_.delivery_percent) < 0) return delivery(call);
  stock_level(call);
}

// One of [low, high], by nurand() or by the skew.
int64_t InputStream::draw(int64_t a, int64_t c, int64_t low, int64_t high) {
  const Skew& skew = options_.skew;
  if (skew.hot_percent <= 0) return nurand(random_, a, c, low, high);
  constexpr int64_t kScatter = 7919;  // prime, and no divisor of any scale's numbers
  const int64_t all = high - low + 1;
  const auto part = [&](double percent) {
    return std::clamp<int64_t>(static_cast<int64_t>(static_cast<double>(all) * percent / 100), 1, all);
  };
  const int64_t hot = part(skew.hot_percent);
  const int64_t used = part(skew.hot_percent + skew.warm_percent);
  const int64_t rank =
      hits(skew.hot_reads_percent) || used == hot ? random_.between(0, hot - 1) : random_.between(hot, used - 1);
  return low + rank * kScatter % all;
}

int32_t InputStream::customer() {
  return static_cast<int32_t>(draw(1023, kCustomerRun, 1, scale_.customers_per_district));
}

int32_t InputStream::other_warehouse(int32_t home) {
  const int32_t other = static_cast<int32_t>(random_.between(1, scale_.warehouses - 1));
  return other < home ? other : other + 1;
}

// A last name that at least one customer of the district has. Spec: every number below 1000 is a customer's (4.3.3.1);
// census: names are drawn by frequency, so take the one of some customer.
void InputStream::last_name(Call& call, size_t arg, int32_t w, int32_t d) {
  const size_t size = generator_.options().profile == Profile::kCensus
                          ? generator_.customer_last_name(w, d, customer(), call.last_name.data())
                          : write_last_name(draw(255, kNameRun, 0, scale_.last_names() - 1), call.last_name.data());
  call.values[arg] = string_datum(call.last_name.data(), size);
}

void InputStream::new_order(Call& call) {
  call.procedure = Procedure::kNewOrder;
  call.value_count = 6;
  call.values[0] = int_datum(call.home);
  call.values[1] = int_datum(random_.between(1, kDistricts));
  call.values[2] = int_datum(customer());
  const int32_t lines = static_cast<int32_t>(random_.between(5, kMaxLines));
  for (size_t a = 0; a < 3; ++a) {
    call.arrays[a] = {lines, kMaxLines, 1, TypeId::kInt4, call.elements[a].data()};
    call.values[3 + a] = Datum{reinterpret_cast<int64_t>(&call.arrays[a]), 0, 0, 0, {}};
  }
  const bool several = scale_.warehouses > 1;
  // the one remote line of a crossing NewOrder, -1 = none
  const int32_t crossing = several && !options_.spec_remote && hits(options_.crossing_percent)
                               ? static_cast<int32_t>(random_.below(static_cast<uint64_t>(lines)))
                               : -1;
  for (int32_t i = 0; i < lines; ++i) {
    const size_t slot = static_cast<size_t>(i);
    int32_t supply = call.home;
    if (i == crossing || (several && options_.spec_remote && random_.one_in(100))) {
      supply = other_warehouse(call.home);
      call.remote = true;
    }
    call.elements[0][slot] = int_datum(draw(8191, kItemRun, 1, scale_.items));
    call.elements[1][slot] = int_datum(supply);
    call.elements[2][slot] = int_datum(random_.between(1, 10));
  }
  if (static_cast<int>(random_.below(100)) < options_.rollback_percent) {
    call.rolls_back = true;
    call.elements[0][static_cast<size_t>(lines - 1)] = int_datum(scale_.items + 1);
  }
}

void InputStream::payment(Call& call) {
  call.procedure = Procedure::kPayment;
  call.value_count = 7;
  const int64_t district = random_.between(1, kDistricts);
  int32_t customer_warehouse = call.home;
  int64_t customer_district = district;
  const bool remote = options_.spec_remote ? random_.below(100) < 15 : hits(options_.crossing_percent);
  if (remote && scale_.warehouses > 1) {
    customer_warehouse = other_warehouse(call.home);
    customer_district = random_.between(1, kDistricts);
    call.remote = true;
  }
  call.values[0] = int_datum(call.home);
  call.values[1] = int_datum(district);
  call.values[2] = int_datum(customer_warehouse);
  call.values[3] = int_datum(customer_district);
  if (random_.below(100) < 60) {
    call.values[4] = int_datum(0);
    last_name(call, 5, customer_warehouse, static_cast<int32_t>(customer_district));
  } else {
    call.values[4] = int_datum(customer());
    call.values[5] = string_datum(call.last_name.data(), 0);
  }
  call.values[6] = int128_datum(random_.between(100, 500'000), 2);
}

void InputStream::order_status(Call& call) {
  call.procedure = Procedure::kOrderStatus;
  call.value_count = 4;
  const int64_t district = random_.between(1, kDistricts);
  call.values[0] = int_datum(call.home);
  call.values[1] = int_datum(district);
  if (random_.below(100) < 60) {
    call.values[2] = int_datum(0);
    last_name(call, 3, call.home, static_cast<int32_t>(district));
  } else {
    call.values[2] = int_datum(customer());
    call.values[3] = string_datum(call.last_name.data(), 0);
  }
}

void InputStream::delivery(Call& call) {
  call.procedure = Procedure::kDelivery;
  call.value_count = 2;
  call.values[0] = int_datum(call.home);
  call.values[1] = int_datum(random_.between(1, 10));
}

void InputStream::stock_level(Call& call) {
  call.procedure = Procedure::kStockLevel;
  call.value_count = 3;
  call.values[0] = int_datum(call.home);
  call.values[1] = int_datum(random_.between(1, kDistricts));
  call.values[2] = int_datum(random_.between(10, 20));
}

}  // namespace scyper::ch
