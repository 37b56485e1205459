#include <algorithm>

#include "runtime/function_body.h"
#include "types/network.h"

// inet, cidr, macaddr and macaddr8. Declared where the builtins are listed (bind/builtins_network.cc).
namespace scyper::query {

// clang-format off: as in runtime/functions.h
#define SCYPER_NETWORK_FUNCTIONS(X) \
  X(inet_text) X(inet_host) X(inet_family) X(inet_masklen) X(inet_broadcast) X(inet_network) X(inet_netmask) \
  X(inet_hostmask) X(inet_abbrev) X(cidr_abbrev) X(inet_set_masklen) X(cidr_set_masklen) X(inet_same_family) \
  X(inet_merge) X(inet_below) X(inet_below_or_equal) X(inet_above) X(inet_above_or_equal) X(inet_overlaps) X(inet_not) \
  X(inet_and) X(inet_or) X(inet_add) X(inet_add_reversed) X(inet_subtract_number) X(inet_subtract) X(mac_not) \
  X(mac_and) X(mac_or) X(mac_trunc) X(mac8_set7bit)
// clang-format on
#define SCYPER_DECLARE_FUNCTION(name) extern const ir::External k_fn_##name;
SCYPER_NETWORK_FUNCTIONS(SCYPER_DECLARE_FUNCTION)
#undef SCYPER_DECLARE_FUNCTION

namespace {

NetworkAddress address_of(const Datum& datum) { return network_of_bytes(text_of(datum)); }

int32_t give_address(ExecContext* c, Datum* out, const NetworkAddress& address) {
  return give_copy(c, out, bytes_of_network(address));
}

// A network of `bits` ones.
NetworkAddress ones(const NetworkAddress& like, int bits) {
  NetworkAddress mask = like;
  std::fill(std::begin(mask.address), std::end(mask.address), uint8_t{0xff});
  mask.bits = static_cast<uint8_t>(bits);
  return network_without_host(mask);
}

NetworkAddress inverted(NetworkAddress address) {
  for (uint8_t& byte : address.address) byte = static_cast<uint8_t>(~byte);
  return address;
}

// Whether a is a part of b; is_strict: and smaller.
int32_t give_below(const Datum& a, const Datum& b, bool is_strict, Datum* out) {
  const NetworkAddress inner = address_of(a), outer = address_of(b);
  const bool is_longer = is_strict ? inner.bits > outer.bits : inner.bits >= outer.bits;
  return give_bool(out, is_longer && same_network(inner, outer, outer.bits));
}

int32_t set_length(ExecContext* c, const Datum* args, bool is_cidr, Datum* out) {
  NetworkAddress address = address_of(args[0]);
  const int64_t given = args[1].lo, bits = given == -1 ? address.max_bits() : given;
  if (bits < 0 || bits > address.max_bits()) return c->fail("22023", "invalid mask length: " + std::to_string(given));
  address.bits = static_cast<uint8_t>(bits);
  return give_address(c, out, is_cidr ? network_without_host(address) : address);
}

template <class Combine>
int32_t combine(ExecContext* c, const Datum* args, const char* name, Combine one, Datum* out) {
  NetworkAddress a = address_of(args[0]);
  const NetworkAddress b = address_of(args[1]);
  if (a.is_v6 != b.is_v6) return c->fail("22023", std::string("cannot ") + name + " inet values of different sizes");
  for (size_t i = 0; i < std::size(a.address); ++i) a.address[i] = one(a.address[i], b.address[i]);
  a.bits = std::max(a.bits, b.bits);
  return give_address(c, out, a);
}

int32_t give_sum(ExecContext* c, const Datum& address, int64_t addend, Datum* out) {
  NetworkAddress sum;
  const Status status = network_add(address_of(address), addend, &sum);
  return status.ok() ? give_address(c, out, sum) : c->fail(status);
}

template <class Combine>
int32_t combine_macs(ExecContext* c, const Datum* args, Combine one, Datum* out) {
  std::string bytes(text_of(args[0]));
  const std::string_view other = text_of(args[1]);
  for (size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<char>(one(bytes[i], other[i]));
  return give_copy(c, out, bytes);
}

extern "C" {

SCYPER_FUNCTION(inet_text) { return give_copy(c, out, network_text(address_of(args[0]), true)); }
SCYPER_FUNCTION(inet_host) {
  NetworkAddress address = address_of(args[0]);
  address.bits = static_cast<uint8_t>(address.max_bits());
  return give_copy(c, out, network_text(address, false));
}
SCYPER_FUNCTION(inet_family) { return give(out, int64_t{address_of(args[0]).is_v6 ? 6 : 4}); }
SCYPER_FUNCTION(inet_masklen) { return give(out, int64_t{address_of(args[0]).bits}); }
SCYPER_FUNCTION(inet_broadcast) {
  NetworkAddress address = address_of(args[0]);
  const NetworkAddress hosts = inverted(ones(address, address.bits));
  for (size_t i = 0; i < std::size(address.address); ++i) address.address[i] |= hosts.address[i];
  return give_address(c, out, address);
}
SCYPER_FUNCTION(inet_network) { return give_address(c, out, network_without_host(address_of(args[0]))); }
SCYPER_FUNCTION(inet_netmask) {
  NetworkAddress mask = ones(address_of(args[0]), address_of(args[0]).bits);
  mask.bits = static_cast<uint8_t>(mask.max_bits());
  return give_address(c, out, mask);
}
SCYPER_FUNCTION(inet_hostmask) {
  NetworkAddress mask = inverted(ones(address_of(args[0]), address_of(args[0]).bits));
  mask.bits = static_cast<uint8_t>(mask.max_bits());
  return give_address(c, out, mask);
}
SCYPER_FUNCTION(inet_abbrev) { return give_copy(c, out, network_text(address_of(args[0]), false)); }
SCYPER_FUNCTION(cidr_abbrev) { return give_copy(c, out, network_abbreviation(address_of(args[0]))); }
SCYPER_FUNCTION(inet_set_masklen) { return set_length(c, args, false, out); }
SCYPER_FUNCTION(cidr_set_masklen) { return set_length(c, args, true, out); }
SCYPER_FUNCTION(inet_same_family) { return give_bool(out, address_of(args[0]).is_v6 == address_of(args[1]).is_v6); }
SCYPER_FUNCTION(inet_merge) {
  NetworkAddress a = address_of(args[0]);
  const NetworkAddress b = address_of(args[1]);
  if (a.is_v6 != b.is_v6) return c->fail("22023", "cannot merge addresses from different families");
  a.bits = static_cast<uint8_t>(common_bits(a, b, std::min(a.bits, b.bits)));
  return give_address(c, out, network_without_host(a));
}
SCYPER_FUNCTION(inet_below) { return give_below(args[0], args[1], true, out); }
SCYPER_FUNCTION(inet_below_or_equal) { return give_below(args[0], args[1], false, out); }
SCYPER_FUNCTION(inet_above) { return give_below(args[1], args[0], true, out); }
SCYPER_FUNCTION(inet_above_or_equal) { return give_below(args[1], args[0], false, out); }
SCYPER_FUNCTION(inet_overlaps) {
  const NetworkAddress a = address_of(args[0]), b = address_of(args[1]);
  return give_bool(out, same_network(a, b, std::min(a.bits, b.bits)));
}
SCYPER_FUNCTION(inet_not) { return give_address(c, out, inverted(address_of(args[0]))); }
SCYPER_FUNCTION(inet_and) {
  return combine(c, args, "AND", [](uint8_t a, uint8_t b) { return static_cast<uint8_t>(a & b); }, out);
}
SCYPER_FUNCTION(inet_or) {
  return combine(c, args, "OR", [](uint8_t a, uint8_t b) { return static_cast<uint8_t>(a | b); }, out);
}
SCYPER_FUNCTION(inet_add) { return give_sum(c, args[0], args[1].lo, out); }
SCYPER_FUNCTION(inet_add_reversed) { return give_sum(c, args[1], args[0].lo, out); }
SCYPER_FUNCTION(inet_subtract_number) {
  if (args[1].lo == INT64_MIN) return c->fail("22003", "result is out of range");
  return give_sum(c, args[0], -args[1].lo, out);
}
SCYPER_FUNCTION(inet_subtract) {
  const NetworkAddress a = address_of(args[0]), b = address_of(args[1]);
  if (a.is_v6 != b.is_v6) return c->fail("22023", "cannot subtract inet values of different sizes");
  int64_t difference = 0;
  const Status status = network_subtract(a, b, &difference);
  return status.ok() ? give(out, difference) : c->fail(status);
}
SCYPER_FUNCTION(mac_not) {
  std::string bytes(text_of(args[0]));
  for (char& byte : bytes) byte = static_cast<char>(~byte);
  return give_copy(c, out, bytes);
}
SCYPER_FUNCTION(mac_and) {
  return combine_macs(c, args, [](char a, char b) { return a & b; }, out);
}
SCYPER_FUNCTION(mac_or) {
  return combine_macs(c, args, [](char a, char b) { return a | b; }, out);
}
// The manufacturer's part: three bytes.
SCYPER_FUNCTION(mac_trunc) {
  std::string bytes(text_of(args[0]));
  std::fill(bytes.begin() + 3, bytes.end(), '\0');
  return give_copy(c, out, bytes);
}
SCYPER_FUNCTION(mac8_set7bit) {
  std::string bytes(text_of(args[0]));
  bytes.front() = static_cast<char>(bytes.front() | 0x02);
  return give_copy(c, out, bytes);
}

}  // extern "C"

}  // namespace

SCYPER_NETWORK_FUNCTIONS(SCYPER_DEFINE_FUNCTION)

}  // namespace scyper::query
