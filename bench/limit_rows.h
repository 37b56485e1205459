#pragma once

#include <cstdint>
#include <cstring>
#include <string_view>

#include "client/ch/generator.h"
#include "storage/type.h"

namespace scyper::bench {

// The rows of the hand-written database: what the procedures touch together comes first. Amounts are cents, taxes and
// discounts ten-thousandths, times microseconds since 2000.

// varchar(N) with its bytes inline.
template <size_t N>
struct Text {
  uint16_t size;
  char bytes[N];

  std::string_view view() const { return {bytes, size}; }
  Datum datum() const { return string_datum(bytes, size); }
  void set(std::string_view text) {
    size = static_cast<uint16_t>(text.size());
    std::memcpy(bytes, text.data(), text.size());
  }
};

// char(N) that is always full.
template <size_t N>
struct Fixed {
  char bytes[N];
  std::string_view view() const { return {bytes, N}; }
  Datum datum() const { return string_datum(bytes, N); }
  void set(std::string_view text) { std::memcpy(bytes, text.data(), N); }
};

struct Address {
  Text<20> street_1, street_2, city;
  Fixed<2> state;
  Fixed<9> zip;
};

struct Warehouse {
  int32_t id;
  int32_t tax;
  int64_t ytd;
  Text<10> name;
  Address address;
  uint64_t key() const { return static_cast<uint64_t>(id); }
};

struct District {
  int32_t warehouse;
  int32_t id;
  int32_t next_order;
  int32_t tax;
  int64_t ytd;
  Text<10> name;
  Address address;
  uint64_t key() const { return static_cast<uint64_t>(warehouse) << 8 | static_cast<uint64_t>(id); }
};

struct alignas(64) Customer {
  int32_t warehouse;
  int32_t district;
  int32_t id;
  int32_t discount;
  int64_t balance;
  int64_t ytd_payment;
  int32_t payments;
  int32_t deliveries;
  Fixed<2> credit;
  Text<16> last;
  Text<16> first;
  Fixed<2> middle;
  Address address;
  Fixed<16> phone;
  int64_t since;
  int64_t credit_limit;
  Text<500> data;
  uint64_t key() const { return make_key(warehouse, district, id); }
  static uint64_t make_key(int64_t w, int64_t d, int64_t c) { return static_cast<uint64_t>(w << 40 | d << 32 | c); }
};

struct History {
  int64_t time;
  int32_t customer;
  int32_t customer_warehouse;
  int32_t warehouse;
  int16_t customer_district;
  int16_t district;
  int32_t amount;
  Text<24> data;
};

struct Order {
  int32_t warehouse;
  int32_t id;
  int32_t customer;
  int16_t district;
  int16_t carrier;  // 0 = NULL: carriers count from 1
  int64_t entry_time;
  int16_t lines;
  int16_t all_local;
};

struct OrderLine {
  int32_t warehouse;
  int32_t order;
  int16_t district;
  int16_t number;
  int32_t item;
  int32_t supply_warehouse;
  int32_t amount;
  int64_t delivery_time;  // 0 = NULL: no line was delivered at midnight of 2000-01-01
  int16_t quantity;
  Fixed<24> dist_info;
};

struct Item {
  int32_t id;
  int32_t image;
  int32_t price;
  Text<24> name;
  Text<50> data;
  uint64_t key() const { return static_cast<uint64_t>(id); }
};

struct alignas(64) Stock {
  int32_t warehouse;
  int32_t item;
  int32_t quantity;
  int32_t ytd;
  int32_t orders;
  int32_t remote;
  Text<50> data;
  Fixed<24> dist[10];
  uint64_t key() const { return make_key(warehouse, item); }
  static uint64_t make_key(int64_t w, int64_t i) { return static_cast<uint64_t>(w << 32 | i); }
};

// Ordered keys. Twelve bits of warehouse are enough for a benchmark (checked at load).
constexpr uint64_t order_key(int64_t w, int64_t d, int64_t o) { return static_cast<uint64_t>(w << 40 | d << 32 | o); }
constexpr uint64_t line_key(int64_t w, int64_t d, int64_t o, int64_t number) {
  return static_cast<uint64_t>(w << 44 | d << 40 | o << 8 | number);
}
constexpr uint64_t customer_order_key(int64_t w, int64_t d, int64_t c, int64_t o) {
  return static_cast<uint64_t>(w << 52 | d << 48 | c << 32 | o);
}

// (warehouse, district, last, first, id) in big-endian words: comparing words compares the texts as in the C locale.
struct NameKey {
  uint64_t words[5];

  static NameKey make(int64_t w, int64_t d, std::string_view last, std::string_view first, int64_t c) {
    char bytes[32] = {};
    last.copy(bytes, 16);
    first.copy(bytes + 16, 16);
    NameKey key;
    key.words[0] = static_cast<uint64_t>(w << 32 | d);
    for (int i = 0; i < 4; ++i) {
      uint64_t word;
      std::memcpy(&word, bytes + 8 * i, 8);
      key.words[i + 1] = __builtin_bswap64(word);
    }
    key.customer = static_cast<uint64_t>(c);
    return key;
  }
  bool same_name(const NameKey& other) const {
    return words[0] == other.words[0] && words[1] == other.words[1] && words[2] == other.words[2];
  }
  uint64_t customer;
  friend auto operator<=>(const NameKey&, const NameKey&) = default;
};

}  // namespace scyper::bench
