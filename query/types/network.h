#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/status.h"

// inet, cidr, macaddr and macaddr8.
namespace scyper::query {

// An address with the length of its network. As ordered bytes: the family, the network with zeros behind it, its
// length, the whole address. So networks come first, as PostgreSQL has it, and then their addresses.
struct NetworkAddress {
  uint8_t address[16] = {};
  uint8_t bits = 0;
  bool is_v6 = false;

  int size() const { return is_v6 ? 16 : 4; }
  int max_bits() const { return is_v6 ? 128 : 32; }
};

NetworkAddress network_of_bytes(std::string_view bytes);
std::string bytes_of_network(const NetworkAddress& address);

// 22P02.
Status network_parse(std::string_view text, bool is_cidr, std::string* bytes);
// is_full: with the length of the network also where it is that of the address.
std::string network_text(const NetworkAddress& address, bool is_full);
// abbrev(cidr): without the bytes behind the network.
std::string network_abbreviation(const NetworkAddress& network);
Status network_receive(std::string_view sent, bool is_cidr, std::string* bytes);
void network_send(std::string* out, std::string_view bytes, bool is_cidr);

NetworkAddress network_without_host(NetworkAddress address);
// Whether the first `bits` bits are the same.
bool same_network(const NetworkAddress& a, const NetworkAddress& b, int bits);
int common_bits(const NetworkAddress& a, const NetworkAddress& b, int most);
// 22003.
Status network_add(NetworkAddress address, int64_t addend, NetworkAddress* out);
Status network_subtract(const NetworkAddress& a, const NetworkAddress& b, int64_t* out);

// The bytes are the address, in order. is_wide: macaddr8. 22P02, 22003.
Status mac_parse(std::string_view text, bool is_wide, std::string* bytes);
std::string mac_text(std::string_view bytes);
Status mac_receive(std::string_view sent, bool is_wide, std::string* bytes);
std::string mac_widened(std::string_view six);
// 22003: the bytes in the middle are no FF:FE.
Status mac_narrowed(std::string_view eight, std::string* six);

}  // namespace scyper::query
