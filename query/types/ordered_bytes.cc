#include "types/ordered_bytes.h"

#include <algorithm>
#include <chrono>
#include <iterator>

#include "storage/time_modifier.h"
#include "types/big_endian.h"
#include "types/bit_string.h"
#include "types/datetime.h"
#include "types/decimal.h"
#include "types/money.h"
#include "types/multirange.h"
#include "types/network.h"
#include "types/range.h"
#include "types/text_query.h"
#include "types/text_vector.h"
#include "types/timezone.h"
#include "types/zoned_time.h"

namespace scyper::query {

namespace {

// --- input, output and binary formats, a type each ---

struct OrderedType {
  TypeId id;
  char category;
  bool is_preferred;
  Status (*parse)(const SqlType& type, std::string_view text, std::string* bytes);
  void (*append)(std::string* out, const SqlType& type, std::string_view bytes);
  Status (*receive)(const SqlType& type, std::string_view sent, std::string* bytes);
  void (*send)(std::string* out, const SqlType& type, std::string_view bytes);
};

Status parse_network(const SqlType& type, std::string_view text, std::string* bytes) {
  return network_parse(text, type.id == TypeId::kCidr, bytes);
}
void append_network(std::string* out, const SqlType& type, std::string_view bytes) {
  *out += network_text(network_of_bytes(bytes), type.id == TypeId::kCidr);
}
Status receive_network(const SqlType& type, std::string_view sent, std::string* bytes) {
  return network_receive(sent, type.id == TypeId::kCidr, bytes);
}
void send_network(std::string* out, const SqlType& type, std::string_view bytes) {
  network_send(out, bytes, type.id == TypeId::kCidr);
}

Status parse_mac(const SqlType& type, std::string_view text, std::string* bytes) {
  return mac_parse(text, type.id == TypeId::kMacaddr8, bytes);
}
void append_mac(std::string* out, const SqlType&, std::string_view bytes) { *out += mac_text(bytes); }
Status receive_mac(const SqlType& type, std::string_view sent, std::string* bytes) {
  return mac_receive(sent, type.id == TypeId::kMacaddr8, bytes);
}
void send_bytes(std::string* out, const SqlType&, std::string_view bytes) { *out += bytes; }

Status parse_bits(const SqlType& type, std::string_view text, std::string* bytes) {
  std::string bits;
  SCYPER_RETURN_IF_ERROR(bits_parse(text, type.id == TypeId::kVarbit, type.length, &bits));
  *bytes = bytes_of_bits(bits);
  return absl::OkStatus();
}
void append_bits(std::string* out, const SqlType&, std::string_view bytes) { *out += bits_of_bytes(bytes); }
Status receive_bits(const SqlType& type, std::string_view sent, std::string* bytes) {
  std::string bits;
  SCYPER_RETURN_IF_ERROR(bits_receive(sent, type.id == TypeId::kVarbit, type.length, &bits));
  *bytes = bytes_of_bits(bits);
  return absl::OkStatus();
}
void send_bits(std::string* out, const SqlType&, std::string_view bytes) {
  query::bits_send(out, bits_of_bytes(bytes));
}

Status parse_money(const SqlType&, std::string_view text, std::string* bytes) {
  int64_t cents = 0;
  SCYPER_RETURN_IF_ERROR(money_parse(text, &cents));
  *bytes = bytes_of_cents(cents);
  return absl::OkStatus();
}
void append_money(std::string* out, const SqlType&, std::string_view bytes) {
  *out += money_text(cents_of_bytes(bytes));
}
Status receive_money(const SqlType&, std::string_view sent, std::string* bytes) {
  if (sent.size() != sizeof(int64_t)) return sql_error("08P01", "insufficient data left in message");
  *bytes = bytes_of_cents(static_cast<int64_t>(big_endian_of(sent)));
  return absl::OkStatus();
}
void send_money(std::string* out, const SqlType&, std::string_view bytes) {
  append_big_endian(out, static_cast<uint64_t>(cents_of_bytes(bytes)), sizeof(int64_t));
}

int64_t now() {
  if (NowScope::current != nullptr) return *NowScope::current;
  constexpr int64_t kEpochSeconds = 946'684'800;  // 2000-01-01
  const auto since = std::chrono::system_clock::now().time_since_epoch();
  return std::chrono::duration_cast<std::chrono::microseconds>(since).count() - kEpochSeconds * kMicrosPerSecond;
}

Status parse_timetz(const SqlType& type, std::string_view text, std::string* bytes) {
  ZonedTime time;
  std::string_view word;
  const ValueError error = zoned_time_parse(text, second_digits(type), now(), &time, &word);
  const bool names_word = error == ValueError::kTimezoneUnknown || error == ValueError::kDatetimeSpecial;
  if (error != ValueError::kNone) return error_status(error, type, names_word ? word : text);
  *bytes = bytes_of_zoned_time(time);
  return absl::OkStatus();
}
void append_timetz(std::string* out, const SqlType&, std::string_view bytes) {
  *out += zoned_time_text(zoned_time_of_bytes(bytes));
}
Status receive_timetz(const SqlType& type, std::string_view sent, std::string* bytes) {
  constexpr size_t kTimeBytes = 8, kZoneBytes = 4;
  constexpr int32_t kMostWest = 16 * 3600;  // PostgreSQL's TZDISP_LIMIT
  if (sent.size() != kTimeBytes + kZoneBytes) return sql_error("08P01", "insufficient data left in message");
  const uint64_t time = big_endian_of(sent.substr(0, kTimeBytes));
  if (time > static_cast<uint64_t>(kMicrosPerDay)) return sql_error("22008", "time out of range");
  const auto zone = static_cast<int32_t>(big_endian_of(sent.substr(kTimeBytes)));
  if (zone <= -kMostWest || zone >= kMostWest) return sql_error("22009", "time zone displacement out of range");
  *bytes = bytes_of_zoned_time({round_time(static_cast<int64_t>(time), second_digits(type)), zone});
  return absl::OkStatus();
}
void send_timetz(std::string* out, const SqlType&, std::string_view bytes) {
  const ZonedTime time = zoned_time_of_bytes(bytes);
  append_big_endian(out, static_cast<uint64_t>(time.time), sizeof time.time);
  append_big_endian(out, static_cast<uint64_t>(time.west), sizeof time.west);
}

Status parse_range(const SqlType& type, std::string_view text, std::string* bytes) {
  return range_parse(type, text, bytes);
}
void append_range(std::string* out, const SqlType& type, std::string_view bytes) {
  range_append(out, type, range_of_bytes(bytes));
}
Status receive_range(const SqlType& type, std::string_view sent, std::string* bytes) {
  return range_receive(type, sent, bytes);
}
void send_range(std::string* out, const SqlType& type, std::string_view bytes) {
  range_send(out, type, range_of_bytes(bytes));
}

Status parse_multirange(const SqlType& type, std::string_view text, std::string* bytes) {
  return multirange_parse(type, text, bytes);
}
void append_multirange(std::string* out, const SqlType& type, std::string_view bytes) {
  multirange_append(out, type, multirange_of_bytes(bytes));
}
Status receive_multirange(const SqlType& type, std::string_view sent, std::string* bytes) {
  return multirange_receive(type, sent, bytes);
}
void send_multirange(std::string* out, const SqlType& type, std::string_view bytes) {
  multirange_send(out, type, multirange_of_bytes(bytes));
}

Status parse_vector(const SqlType&, std::string_view text, std::string* bytes) {
  TextVector vector;
  SCYPER_RETURN_IF_ERROR(text_vector_parse(text, &vector));
  *bytes = bytes_of_text_vector(vector);
  return absl::OkStatus();
}
void append_vector(std::string* out, const SqlType&, std::string_view bytes) {
  *out += text_vector_text(text_vector_of_bytes(bytes));
}
Status receive_vector(const SqlType&, std::string_view sent, std::string* bytes) {
  TextVector vector;
  SCYPER_RETURN_IF_ERROR(text_vector_receive(sent, &vector));
  *bytes = bytes_of_text_vector(vector);
  return absl::OkStatus();
}
void send_vector(std::string* out, const SqlType&, std::string_view bytes) {
  text_vector_send(out, text_vector_of_bytes(bytes));
}

Status parse_query(const SqlType&, std::string_view text, std::string* bytes) {
  TextQuery query;
  SCYPER_RETURN_IF_ERROR(text_query_parse(text, &query));
  *bytes = bytes_of_text_query(query);
  return absl::OkStatus();
}
void append_query(std::string* out, const SqlType&, std::string_view bytes) {
  *out += text_query_text(text_query_of_bytes(bytes));
}
Status receive_query(const SqlType&, std::string_view sent, std::string* bytes) {
  TextQuery query;
  SCYPER_RETURN_IF_ERROR(text_query_receive(sent, &query));
  *bytes = bytes_of_text_query(query);
  return absl::OkStatus();
}
void send_query(std::string* out, const SqlType&, std::string_view bytes) {
  text_query_send(out, text_query_of_bytes(bytes));
}

constexpr OrderedType kTypes[] = {
    {TypeId::kInet, 'I', true, parse_network, append_network, receive_network, send_network},
    {TypeId::kCidr, 'I', false, parse_network, append_network, receive_network, send_network},
    {TypeId::kMacaddr, 'U', false, parse_mac, append_mac, receive_mac, send_bytes},
    {TypeId::kMacaddr8, 'U', false, parse_mac, append_mac, receive_mac, send_bytes},
    {TypeId::kBit, 'V', false, parse_bits, append_bits, receive_bits, send_bits},
    {TypeId::kVarbit, 'V', true, parse_bits, append_bits, receive_bits, send_bits},
    {TypeId::kMoney, 'N', false, parse_money, append_money, receive_money, send_money},
    {TypeId::kTimetz, 'D', false, parse_timetz, append_timetz, receive_timetz, send_timetz},
    {TypeId::kInt4range, 'R', false, parse_range, append_range, receive_range, send_range},
    {TypeId::kInt8range, 'R', false, parse_range, append_range, receive_range, send_range},
    {TypeId::kDaterange, 'R', false, parse_range, append_range, receive_range, send_range},
    {TypeId::kTsrange, 'R', false, parse_range, append_range, receive_range, send_range},
    {TypeId::kTstzrange, 'R', false, parse_range, append_range, receive_range, send_range},
    {TypeId::kNumrange, 'R', false, parse_range, append_range, receive_range, send_range},
    {TypeId::kInt4multirange, 'R', false, parse_multirange, append_multirange, receive_multirange, send_multirange},
    {TypeId::kInt8multirange, 'R', false, parse_multirange, append_multirange, receive_multirange, send_multirange},
    {TypeId::kDatemultirange, 'R', false, parse_multirange, append_multirange, receive_multirange, send_multirange},
    {TypeId::kTsmultirange, 'R', false, parse_multirange, append_multirange, receive_multirange, send_multirange},
    {TypeId::kTstzmultirange, 'R', false, parse_multirange, append_multirange, receive_multirange, send_multirange},
    {TypeId::kNummultirange, 'R', false, parse_multirange, append_multirange, receive_multirange, send_multirange},
    {TypeId::kTsvector, 'U', false, parse_vector, append_vector, receive_vector, send_vector},
    {TypeId::kTsquery, 'U', false, parse_query, append_query, receive_query, send_query},
};

const OrderedType* find_type(TypeId id) {
  const auto* found =
      std::find_if(std::begin(kTypes), std::end(kTypes), [&](const OrderedType& type) { return type.id == id; });
  return found == std::end(kTypes) ? nullptr : found;
}

// --- casts ---

Status network_to_cidr(const Datum& in, const SqlType&, const SqlType&, bool, std::string* bytes, Datum*) {
  *bytes = bytes_of_network(network_without_host(network_of_bytes({in.data(), in.size()})));
  return absl::OkStatus();
}

Status widen_mac(const Datum& in, const SqlType&, const SqlType&, bool, std::string* bytes, Datum*) {
  *bytes = mac_widened({in.data(), in.size()});
  return absl::OkStatus();
}

Status narrow_mac(const Datum& in, const SqlType&, const SqlType&, bool, std::string* bytes, Datum*) {
  return mac_narrowed({in.data(), in.size()}, bytes);
}

Status fit_bits(const Datum& in, const SqlType&, const SqlType& to, bool is_explicit, std::string* bytes, Datum*) {
  std::string bits;
  SCYPER_RETURN_IF_ERROR(
      bits_fit(bits_of_bytes({in.data(), in.size()}), to.id == TypeId::kVarbit, to.length, is_explicit, &bits));
  *bytes = bytes_of_bits(bits);
  return absl::OkStatus();
}

Status integer_to_bits(const Datum& in, const SqlType&, const SqlType& to, bool, std::string* bytes, Datum*) {
  *bytes = bytes_of_bits(bits_of_integer(in.lo, to.length));
  return absl::OkStatus();
}

Status bits_to_integer(const Datum& in, const SqlType&, const SqlType& to, bool, std::string*, Datum* value) {
  int64_t integer = 0;
  SCYPER_RETURN_IF_ERROR(
      integer_of_bits(bits_of_bytes({in.data(), in.size()}), to.id == TypeId::kInt4 ? 32 : 64, &integer));
  *value = int_datum(integer);
  return absl::OkStatus();
}

Status integer_to_money(const Datum& in, const SqlType& from, const SqlType&, bool, std::string* bytes, Datum*) {
  int64_t cents = 0;
  if (__builtin_mul_overflow(in.lo, kCentsPerUnit, &cents))
    return sql_error("22003", from.id == TypeId::kInt8 ? "bigint out of range" : "money out of range");
  *bytes = bytes_of_cents(cents);
  return absl::OkStatus();
}

Status numeric_to_money(const Datum& in, const SqlType&, const SqlType&, bool, std::string* bytes, Datum*) {
  Decimal cents;
  ValueError error = decimal_multiply(decimal_of(in), decimal_of_int(kCentsPerUnit), &cents);
  int64_t value = 0;
  if (error == ValueError::kNone) error = decimal_to_int8(cents, &value);
  if (error != ValueError::kNone) return error_status(error, make_type(TypeId::kInt8));
  *bytes = bytes_of_cents(value);
  return absl::OkStatus();
}

Status money_to_numeric(const Datum& in, const SqlType&, const SqlType&, bool, std::string*, Datum* value) {
  *value = int128_datum(cents_of_bytes({in.data(), in.size()}), 2);
  return absl::OkStatus();
}

Status fit_timetz(const Datum& in, const SqlType&, const SqlType& to, bool, std::string* bytes, Datum*) {
  ZonedTime time = zoned_time_of_bytes({in.data(), in.size()});
  time.time = round_time(time.time, second_digits(to));
  *bytes = bytes_of_zoned_time(time);
  return absl::OkStatus();
}

Status time_to_timetz(const Datum& in, const SqlType&, const SqlType& to, bool, std::string* bytes, Datum*) {
  const auto west = static_cast<int32_t>(-session_zone_east(now()));
  *bytes = bytes_of_zoned_time({round_time(in.lo, second_digits(to)), west});
  return absl::OkStatus();
}

Status moment_to_timetz(const Datum& in, const SqlType&, const SqlType& to, bool, std::string* bytes, Datum* value) {
  if (!is_finite_timestamp(in.lo)) {
    *value = null_datum();
    return absl::OkStatus();
  }
  const int64_t local = session_clock(in.lo);
  ZonedTime time;
  split_timestamp(local, &time.time);
  time.time = round_time(time.time, second_digits(to));
  time.west = static_cast<int32_t>((in.lo - local) / kMicrosPerSecond);
  *bytes = bytes_of_zoned_time(time);
  return absl::OkStatus();
}

Status timetz_to_time(const Datum& in, const SqlType&, const SqlType& to, bool, std::string*, Datum* value) {
  *value = int_datum(round_time(zoned_time_of_bytes({in.data(), in.size()}).time, second_digits(to)));
  return absl::OkStatus();
}

Status range_to_multirange(const Datum& in, const SqlType&, const SqlType&, bool, std::string* bytes, Datum*) {
  *bytes = bytes_of_multirange(make_multirange({range_of_bytes({in.data(), in.size()})}));
  return absl::OkStatus();
}

using C = OrderedCastContext;
constexpr OrderedCast kCasts[] = {
    {TypeId::kCidr, TypeId::kInet, C::kImplicit, nullptr},
    {TypeId::kInet, TypeId::kCidr, C::kAssignment, network_to_cidr},
    {TypeId::kMacaddr, TypeId::kMacaddr8, C::kImplicit, widen_mac},
    {TypeId::kMacaddr8, TypeId::kMacaddr, C::kImplicit, narrow_mac},
    {TypeId::kBit, TypeId::kBit, C::kImplicit, fit_bits},
    {TypeId::kBit, TypeId::kVarbit, C::kImplicit, fit_bits},
    {TypeId::kVarbit, TypeId::kBit, C::kImplicit, fit_bits},
    {TypeId::kVarbit, TypeId::kVarbit, C::kImplicit, fit_bits},
    {TypeId::kInt4, TypeId::kBit, C::kExplicit, integer_to_bits},
    {TypeId::kInt8, TypeId::kBit, C::kExplicit, integer_to_bits},
    {TypeId::kBit, TypeId::kInt4, C::kExplicit, bits_to_integer},
    {TypeId::kBit, TypeId::kInt8, C::kExplicit, bits_to_integer},
    {TypeId::kInt4, TypeId::kMoney, C::kAssignment, integer_to_money},
    {TypeId::kInt8, TypeId::kMoney, C::kAssignment, integer_to_money},
    {TypeId::kNumeric, TypeId::kMoney, C::kAssignment, numeric_to_money},
    {TypeId::kMoney, TypeId::kNumeric, C::kAssignment, money_to_numeric},
    {TypeId::kTimetz, TypeId::kTimetz, C::kImplicit, fit_timetz},
    {TypeId::kTime, TypeId::kTimetz, C::kImplicit, time_to_timetz},
    {TypeId::kTimestamptz, TypeId::kTimetz, C::kAssignment, moment_to_timetz},
    {TypeId::kTimetz, TypeId::kTime, C::kAssignment, timetz_to_time},
    {TypeId::kInt4range, TypeId::kInt4multirange, C::kExplicit, range_to_multirange},
    {TypeId::kInt8range, TypeId::kInt8multirange, C::kExplicit, range_to_multirange},
    {TypeId::kDaterange, TypeId::kDatemultirange, C::kExplicit, range_to_multirange},
    {TypeId::kTsrange, TypeId::kTsmultirange, C::kExplicit, range_to_multirange},
    {TypeId::kTstzrange, TypeId::kTstzmultirange, C::kExplicit, range_to_multirange},
    {TypeId::kNumrange, TypeId::kNummultirange, C::kExplicit, range_to_multirange},
};

}  // namespace

Status parse_ordered_bytes(const SqlType& type, std::string_view text, std::string* bytes) {
  const OrderedType* found = find_type(type.id);
  return found != nullptr ? found->parse(type, text, bytes) : sql_error("0A000", type_name(type) + " is not supported");
}

void append_ordered_bytes(std::string* out, const SqlType& type, std::string_view bytes) {
  if (const OrderedType* found = find_type(type.id)) found->append(out, type, bytes);
}

Status receive_ordered_bytes(const SqlType& type, std::string_view sent, std::string* bytes) {
  const OrderedType* found = find_type(type.id);
  return found != nullptr ? found->receive(type, sent, bytes)
                          : sql_error("0A000", type_name(type) + " is not supported");
}

void send_ordered_bytes(std::string* out, const SqlType& type, std::string_view bytes) {
  if (const OrderedType* found = find_type(type.id)) found->send(out, type, bytes);
}

const OrderedCast* find_ordered_cast(TypeId from, TypeId to) {
  const auto* found = std::find_if(std::begin(kCasts), std::end(kCasts),
                                   [&](const OrderedCast& cast) { return cast.from == from && cast.to == to; });
  return found == std::end(kCasts) ? nullptr : found;
}

bool keeps_ordered_bytes(const SqlType& from, const SqlType& to) {
  if (!is_ordered_bytes(from.id) || !is_ordered_bytes(to.id)) return false;
  if (from.id == to.id && (to.length < 0 || to.length == from.length)) return true;
  const OrderedCast* cast = find_ordered_cast(from.id, to.id);
  return cast != nullptr && (cast->convert == nullptr || (cast->convert == fit_bits && to.length < 0));
}

char ordered_category(TypeId id) {
  const OrderedType* found = find_type(id);
  return found == nullptr ? 'U' : found->category;
}

bool is_preferred_ordered(TypeId id) {
  const OrderedType* found = find_type(id);
  return found != nullptr && found->is_preferred;
}

TypeId ordered_operand(TypeId id) { return id == TypeId::kCidr ? TypeId::kInet : id; }

}  // namespace scyper::query
