#include "bind/builtin_table.h"

namespace scyper::query {

using T = TypeId;

// runtime/functions_network.cc
#define SCYPER_DECLARE_FUNCTION(name) extern const ir::External k_fn_##name;
SCYPER_DECLARE_FUNCTION(inet_text)
SCYPER_DECLARE_FUNCTION(inet_host)
SCYPER_DECLARE_FUNCTION(inet_family)
SCYPER_DECLARE_FUNCTION(inet_masklen)
SCYPER_DECLARE_FUNCTION(inet_broadcast)
SCYPER_DECLARE_FUNCTION(inet_network)
SCYPER_DECLARE_FUNCTION(inet_netmask)
SCYPER_DECLARE_FUNCTION(inet_hostmask)
SCYPER_DECLARE_FUNCTION(inet_abbrev)
SCYPER_DECLARE_FUNCTION(cidr_abbrev)
SCYPER_DECLARE_FUNCTION(inet_set_masklen)
SCYPER_DECLARE_FUNCTION(cidr_set_masklen)
SCYPER_DECLARE_FUNCTION(inet_same_family)
SCYPER_DECLARE_FUNCTION(inet_merge)
SCYPER_DECLARE_FUNCTION(inet_below)
SCYPER_DECLARE_FUNCTION(inet_below_or_equal)
SCYPER_DECLARE_FUNCTION(inet_above)
SCYPER_DECLARE_FUNCTION(inet_above_or_equal)
SCYPER_DECLARE_FUNCTION(inet_overlaps)
SCYPER_DECLARE_FUNCTION(inet_not)
SCYPER_DECLARE_FUNCTION(inet_and)
SCYPER_DECLARE_FUNCTION(inet_or)
SCYPER_DECLARE_FUNCTION(inet_add)
SCYPER_DECLARE_FUNCTION(inet_add_reversed)
SCYPER_DECLARE_FUNCTION(inet_subtract_number)
SCYPER_DECLARE_FUNCTION(inet_subtract)
SCYPER_DECLARE_FUNCTION(mac_not)
SCYPER_DECLARE_FUNCTION(mac_and)
SCYPER_DECLARE_FUNCTION(mac_or)
SCYPER_DECLARE_FUNCTION(mac_trunc)
SCYPER_DECLARE_FUNCTION(mac8_set7bit)
#undef SCYPER_DECLARE_FUNCTION

namespace {

void add_network_operators(BuiltinTable* t) {
  const auto pair = [&](std::string_view op, const ir::External& function) {
    t->runtime(op, {T::kInet, T::kInet}, T::kBool, function);
  };
  pair("<<", k_fn_inet_below);
  pair("<<=", k_fn_inet_below_or_equal);
  pair(">>", k_fn_inet_above);
  pair(">>=", k_fn_inet_above_or_equal);
  pair("&&", k_fn_inet_overlaps);
  t->runtime("~", {T::kInet}, T::kInet, k_fn_inet_not);
  t->runtime("&", {T::kInet, T::kInet}, T::kInet, k_fn_inet_and);
  t->runtime("|", {T::kInet, T::kInet}, T::kInet, k_fn_inet_or);
  t->runtime("+", {T::kInet, T::kInt8}, T::kInet, k_fn_inet_add);
  t->runtime("+", {T::kInt8, T::kInet}, T::kInet, k_fn_inet_add_reversed);
  t->runtime("-", {T::kInet, T::kInt8}, T::kInet, k_fn_inet_subtract_number);
  t->runtime("-", {T::kInet, T::kInet}, T::kInt8, k_fn_inet_subtract);
  for (T type : {T::kMacaddr, T::kMacaddr8}) {
    t->runtime("~", {type}, type, k_fn_mac_not);
    t->runtime("&", {type, type}, type, k_fn_mac_and);
    t->runtime("|", {type, type}, type, k_fn_mac_or);
  }
}

}  // namespace

void add_network_functions(BuiltinTable* t) {
  add_network_operators(t);
  t->runtime(" inet_text", {T::kInet}, T::kText, k_fn_inet_text);  // text(inet): as a cast
  t->runtime("host", {T::kInet}, T::kText, k_fn_inet_host);
  t->runtime("family", {T::kInet}, T::kInt4, k_fn_inet_family);
  t->runtime("masklen", {T::kInet}, T::kInt4, k_fn_inet_masklen);
  t->runtime("broadcast", {T::kInet}, T::kInet, k_fn_inet_broadcast);
  t->runtime("network", {T::kInet}, T::kCidr, k_fn_inet_network);
  t->runtime("netmask", {T::kInet}, T::kInet, k_fn_inet_netmask);
  t->runtime("hostmask", {T::kInet}, T::kInet, k_fn_inet_hostmask);
  t->runtime("abbrev", {T::kInet}, T::kText, k_fn_inet_abbrev);
  t->runtime("abbrev", {T::kCidr}, T::kText, k_fn_cidr_abbrev);
  t->runtime("set_masklen", {T::kInet, T::kInt4}, T::kInet, k_fn_inet_set_masklen);
  t->runtime("set_masklen", {T::kCidr, T::kInt4}, T::kCidr, k_fn_cidr_set_masklen);
  t->runtime("inet_same_family", {T::kInet, T::kInet}, T::kBool, k_fn_inet_same_family);
  t->runtime("inet_merge", {T::kInet, T::kInet}, T::kCidr, k_fn_inet_merge);
  t->runtime("trunc", {T::kMacaddr}, T::kMacaddr, k_fn_mac_trunc);
  t->runtime("trunc", {T::kMacaddr8}, T::kMacaddr8, k_fn_mac_trunc);
  t->runtime("macaddr8_set7bit", {T::kMacaddr8}, T::kMacaddr8, k_fn_mac8_set7bit);
}

}  // namespace scyper::query
