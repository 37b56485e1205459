#include "types/network.h"

#include <arpa/inet.h>

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <span>

#include "types/digits.h"

namespace scyper::query {

namespace {

constexpr uint8_t kSentV4 = 2, kSentV6 = 3;  // PostgreSQL's PGSQL_AF_INET and PGSQL_AF_INET6

// The bits of byte `i` that belong to a network of `bits` bits.
uint8_t mask_of(int bits, int i) {
  const int here = std::clamp(bits - i * 8, 0, 8);
  return static_cast<uint8_t>(0xff00 >> here);
}

Status wrong_text(std::string_view type, std::string_view text) {
  return sql_error("22P02", "invalid input syntax for type " + std::string(type) + ": \"" + std::string(text) + "\"");
}

// Reads digits as a number up to `most`; false: none, or more.
bool take_number(std::string_view* text, int most, int* out) {
  if (text->empty() || !is_digit(text->front())) return false;
  *out = 0;
  while (!text->empty() && is_digit(text->front())) {
    *out = *out * 10 + (text->front() - '0');
    if (*out > most) return false;
    text->remove_prefix(1);
  }
  return true;
}

// "/24" up to the end; bits stay -1 where nothing is there.
bool take_bits(std::string_view text, int most, int* bits) {
  if (text.empty()) return true;
  if (text.front() != '/') return false;
  text.remove_prefix(1);
  return take_number(&text, most, bits) && text.empty();
}

bool take_dotted(std::string_view* text, NetworkAddress* out, int* count) {
  for (*count = 0;; ++*count) {
    int byte = 0;
    if (!take_number(text, 255, &byte) || *count == 4) return false;
    out->address[*count] = static_cast<uint8_t>(byte);
    if (text->empty() || text->front() == '/') return ++*count, true;
    if (text->front() != '.') return false;
    text->remove_prefix(1);
  }
}

// 0x0a01: half bytes, the last one filled with zeros.
bool take_hex(std::string_view* text, NetworkAddress* out, int* count) {
  text->remove_prefix(2);
  int digits = 0;
  for (; !text->empty() && hex_value_of(text->front()) >= 0; ++digits) {
    if (digits == 8) return false;
    const int value = hex_value_of(text->front());
    out->address[digits / 2] = static_cast<uint8_t>(out->address[digits / 2] | (digits % 2 == 0 ? value << 4 : value));
    text->remove_prefix(1);
  }
  *count = (digits + 1) / 2;
  return true;
}

// The length of a network of which only the address is known, by the classes of old.
int class_bits(const NetworkAddress& address, int bytes) {
  const uint8_t first = address.address[0];
  int bits = first >= 240 ? 32 : first >= 224 ? 8 : first >= 192 ? 24 : first >= 128 ? 16 : 8;
  bits = std::max(bits, bytes * 8);
  return bits == 8 && first == 224 ? 4 : bits;
}

bool parse_v4(std::string_view text, bool is_cidr, NetworkAddress* out) {
  const bool is_hex =
      is_cidr && text.size() > 2 && text[0] == '0' && (text[1] == 'x' || text[1] == 'X') && hex_value_of(text[2]) >= 0;
  int bytes = 0, bits = -1;
  if (is_hex ? !take_hex(&text, out, &bytes) : !take_dotted(&text, out, &bytes)) return false;
  if (!take_bits(text, 32, &bits)) return false;
  if (bits < 0 && !is_cidr && bytes < 4) return false;
  if (bits < 0) bits = is_cidr ? class_bits(*out, bytes) : 32;
  if (!is_cidr && bits / 8 > bytes) return false;
  out->bits = static_cast<uint8_t>(bits);
  return true;
}

bool parse_v6(std::string_view text, NetworkAddress* out) {
  const size_t slash = std::min(text.find('/'), text.size());
  const std::string address(text.substr(0, slash));
  const std::string_view length = text.substr(slash);
  int bits = -1;
  if (inet_pton(AF_INET6, address.c_str(), out->address) != 1 || address.find('\0') != std::string::npos) return false;
  const bool has_zero = length.size() > 2 && length[1] == '0';
  if (has_zero || !take_bits(length, 128, &bits)) return false;
  out->is_v6 = true;
  out->bits = static_cast<uint8_t>(bits < 0 ? 128 : bits);
  return true;
}

bool has_host(const NetworkAddress& address) {
  for (int i = 0; i < address.size(); ++i)
    if ((address.address[i] & ~mask_of(address.bits, i) & 0xff) != 0) return true;
  return false;
}

std::string dotted(std::span<const uint8_t> bytes) {
  std::string out;
  for (const uint8_t byte : bytes) out += (out.empty() ? "" : ".") + std::to_string(byte);
  return out;
}

std::string hex_word(const uint8_t* bytes) {
  char text[8];
  std::snprintf(text, sizeof text, "%x", bytes[0] * 256 + bytes[1]);
  return text;
}

// The longest run of zero words; size 0: none of two.
struct ZeroRun {
  int start = -1, size = 0;
};
ZeroRun longest_zeros(const uint8_t* bytes, int words) {
  ZeroRun best, run;
  for (int i = 0; i < words; ++i) {
    const bool is_zero = (bytes[2 * i] | bytes[2 * i + 1]) == 0;
    if (!is_zero) run = {};
    if (is_zero) run = {run.size == 0 ? i : run.start, run.size + 1};
    if (run.size > best.size) best = run;
  }
  return best;
}

std::string v6_text(const uint8_t* bytes) {
  constexpr int kWords = 8;
  ZeroRun zeros = longest_zeros(bytes, kWords);
  if (zeros.size < 2) zeros = {};
  const auto word = [&](int i) { return bytes[2 * i] * 256 + bytes[2 * i + 1]; };
  const bool ends_dotted = zeros.start == 0 && (zeros.size == 6 || (zeros.size == 7 && word(7) != 1) ||
                                                (zeros.size == 5 && word(5) == 0xffff));
  std::string out;
  for (int i = 0; i < kWords; ++i) {
    if (zeros.size > 0 && i >= zeros.start && i < zeros.start + zeros.size) {
      if (i == zeros.start) out += ':';
      continue;
    }
    if (i > 0) out += ':';
    if (i == 6 && ends_dotted) return out + dotted({bytes + 12, 4});
    out += hex_word(bytes + 2 * i);
  }
  if (zeros.size > 0 && zeros.start + zeros.size == kWords) out += ':';
  return out;
}

std::string abbreviated_v4(const NetworkAddress& network) {
  std::string out = network.bits == 0 ? "0" : "";
  for (int i = 0; i * 8 < network.bits; ++i)
    out += (i == 0 ? "" : ".") + std::to_string(network.address[i] & mask_of(network.bits, i));
  return out;
}

// As PostgreSQL's inet_cidr_ntop_ipv6().
std::string abbreviated_v6(const NetworkAddress& network) {
  if (network.bits == 0) return "::";
  const NetworkAddress bare = network_without_host(network);
  const uint8_t* bytes = bare.address;
  const int words = std::max(2, (network.bits + 15) / 16);
  const ZeroRun zeros = longest_zeros(bytes, words);
  const bool may_be_v4 = zeros.size == 6 || (zeros.size == 5 && bytes[10] == 0xff && bytes[11] == 0xff) ||
                         (zeros.size == 7 && bytes[14] != 0 && bytes[15] != 1);
  const bool is_v4 = zeros.size != words && zeros.start == 0 && may_be_v4;
  std::string out;
  for (int i = 0; i < words; ++i) {
    if (zeros.size > 0 && i >= zeros.start && i < zeros.start + zeros.size) {
      if (i == zeros.start) out += ':';
      if (i == words - 1) out += ':';
    } else if (is_v4 && i > 5) {
      out += (i == 6 ? ":" : ".") + std::to_string(bytes[2 * i]);
      if (i != 7 || network.bits > 120) out += "." + std::to_string(bytes[2 * i + 1]);
    } else {
      if (!out.empty()) out += ':';
      out += hex_word(bytes + 2 * i);
    }
  }
  return out;
}

}  // namespace

NetworkAddress network_of_bytes(std::string_view bytes) {
  NetworkAddress out;
  out.is_v6 = bytes[0] == 6;
  const auto size = static_cast<size_t>(out.size());
  out.bits = static_cast<uint8_t>(bytes[1 + size]);
  std::memcpy(out.address, bytes.data() + 2 + size, size);
  return out;
}

std::string bytes_of_network(const NetworkAddress& address) {
  const NetworkAddress network = network_without_host(address);
  const auto size = static_cast<size_t>(address.size());
  std::string out(1, address.is_v6 ? 6 : 4);
  out.append(reinterpret_cast<const char*>(network.address), size);
  out += static_cast<char>(address.bits);
  return out.append(reinterpret_cast<const char*>(address.address), size);
}

Status network_parse(std::string_view text, bool is_cidr, std::string* bytes) {
  NetworkAddress address;
  const bool is_v6 = text.find(':') != std::string_view::npos;
  if (is_v6 ? !parse_v6(text, &address) : !parse_v4(text, is_cidr, &address))
    return wrong_text(is_cidr ? "cidr" : "inet", text);
  if (is_cidr && has_host(address))
    return with_detail(sql_error("22P02", "invalid cidr value: \"" + std::string(text) + "\""),
                       "Value has bits set to right of mask.");
  *bytes = bytes_of_network(address);
  return absl::OkStatus();
}

std::string network_text(const NetworkAddress& address, bool is_full) {
  std::string out = address.is_v6 ? v6_text(address.address) : dotted({address.address, 4});
  if (is_full || address.bits != address.max_bits()) out += "/" + std::to_string(address.bits);
  return out;
}

std::string network_abbreviation(const NetworkAddress& network) {
  return (network.is_v6 ? abbreviated_v6(network) : abbreviated_v4(network)) + "/" + std::to_string(network.bits);
}

Status network_receive(std::string_view sent, bool is_cidr, std::string* bytes) {
  const std::string name = is_cidr ? "cidr" : "inet";
  const auto wrong = [&](const char* what) {
    return sql_error("22P03", std::string("invalid ") + what + " in external \"" + name + "\" value");
  };
  constexpr size_t kHeadBytes = 4;
  if (sent.size() < kHeadBytes) return sql_error("08P01", "insufficient data left in message");
  NetworkAddress address;
  if (sent[0] != kSentV4 && sent[0] != kSentV6) return wrong("address family");
  address.is_v6 = sent[0] == kSentV6;
  address.bits = static_cast<uint8_t>(sent[1]);
  if (address.bits > address.max_bits()) return wrong("bits");
  const auto size = static_cast<size_t>(address.size());
  if (static_cast<unsigned char>(sent[3]) != size || sent.size() != kHeadBytes + size) return wrong("length");
  std::memcpy(address.address, sent.data() + kHeadBytes, size);
  if (is_cidr && has_host(address))
    return with_detail(sql_error("22P03", "invalid external \"cidr\" value"), "Value has bits set to right of mask.");
  *bytes = bytes_of_network(address);
  return absl::OkStatus();
}

void network_send(std::string* out, std::string_view bytes, bool is_cidr) {
  const NetworkAddress address = network_of_bytes(bytes);
  *out += static_cast<char>(address.is_v6 ? kSentV6 : kSentV4);
  *out += static_cast<char>(address.bits);
  *out += static_cast<char>(is_cidr ? 1 : 0);
  *out += static_cast<char>(address.size());
  out->append(reinterpret_cast<const char*>(address.address), static_cast<size_t>(address.size()));
}

NetworkAddress network_without_host(NetworkAddress address) {
  for (int i = 0; i < address.size(); ++i) address.address[i] &= mask_of(address.bits, i);
  return address;
}

bool same_network(const NetworkAddress& a, const NetworkAddress& b, int bits) {
  return a.is_v6 == b.is_v6 && common_bits(a, b, bits) == bits;
}

int common_bits(const NetworkAddress& a, const NetworkAddress& b, int most) {
  int bits = 0;
  for (; bits < most; ++bits) {
    const int mask = 0x80 >> (bits % 8);
    if ((a.address[bits / 8] & mask) != (b.address[bits / 8] & mask)) break;
  }
  return bits;
}

Status network_add(NetworkAddress address, int64_t addend, NetworkAddress* out) {
  int carry = 0;
  for (int i = address.size(); i-- > 0;) {
    carry += address.address[i] + static_cast<int>(addend & 0xff);
    address.address[i] = static_cast<uint8_t>(carry & 0xff);
    carry >>= 8;
    addend >>= 8;
  }
  if (!((addend == 0 && carry == 0) || (addend == -1 && carry == 1)))
    return sql_error("22003", "result is out of range");
  *out = address;
  return absl::OkStatus();
}

Status network_subtract(const NetworkAddress& a, const NetworkAddress& b, int64_t* out) {
  uint64_t result = 0;
  int carry = 1, byte = 0;
  for (int i = a.size(); i-- > 0; ++byte) {
    carry += a.address[i] + (~b.address[i] & 0xff);
    const int low = carry & 0xff;
    carry >>= 8;
    if (byte < 8) {
      result |= static_cast<uint64_t>(low) << (byte * 8);
    } else if (low != (static_cast<int64_t>(result) < 0 ? 0xff : 0)) {
      return sql_error("22003", "result is out of range");
    }
  }
  if (carry == 0 && byte < 8) result |= ~uint64_t{0} << (byte * 8);
  *out = static_cast<int64_t>(result);
  return absl::OkStatus();
}

namespace {

Status parse_mac8(std::string_view given, std::string* bytes) {
  std::string_view text = given;
  const auto wrong = [&] { return wrong_text("macaddr8", given); };
  while (!text.empty() && is_space(text.front())) text.remove_prefix(1);
  char spacer = 0;
  bytes->clear();
  while (text.size() > 1) {
    const int high = hex_value_of(text[0]), low = hex_value_of(text[1]);
    if (bytes->size() == 8 || high < 0 || low < 0) return wrong();
    *bytes += static_cast<char>(high << 4 | low);
    text.remove_prefix(2);
    if (!text.empty() && (text[0] == ':' || text[0] == '-' || text[0] == '.')) {
      if (spacer != 0 && spacer != text[0]) return wrong();
      spacer = text[0];
      text.remove_prefix(1);
    }
    const bool may_end = bytes->size() == 6 || bytes->size() == 8;
    if (!may_end || text.empty() || !is_space(text[0])) continue;
    while (!text.empty() && is_space(text[0])) text.remove_prefix(1);
    if (!text.empty()) return wrong();
  }
  if (bytes->size() == 6) *bytes = mac_widened(*bytes);
  return bytes->size() == 8 ? absl::OkStatus() : wrong();
}

Status parse_mac(std::string_view given, std::string* bytes) {
  static constexpr const char* kForms[] = {
      "%x:%x:%x:%x:%x:%x%1s",    "%x-%x-%x-%x-%x-%x%1s",    "%2x%2x%2x:%2x%2x%2x%1s", "%2x%2x%2x-%2x%2x%2x%1s",
      "%2x%2x.%2x%2x.%2x%2x%1s", "%2x%2x-%2x%2x-%2x%2x%1s", "%2x%2x%2x%2x%2x%2x%1s",
  };
  const std::string text(given);
  unsigned parts[6] = {};
  char rest[2];
  const auto reads = [&](const char* form) {
#pragma clang diagnostic push
#pragma clang diagnostic ignored "-Wformat-nonliteral"
    return std::sscanf(text.c_str(), form, &parts[0], &parts[1], &parts[2], &parts[3], &parts[4], &parts[5], rest) == 6;
#pragma clang diagnostic pop
  };
  if (std::none_of(std::begin(kForms), std::end(kForms), reads)) return wrong_text("macaddr", given);
  bytes->clear();
  for (const unsigned part : parts) {
    if (part > 255) return sql_error("22003", "invalid octet value in \"macaddr\" value: \"" + text + "\"");
    *bytes += static_cast<char>(part);
  }
  return absl::OkStatus();
}

}  // namespace

Status mac_parse(std::string_view text, bool is_wide, std::string* bytes) {
  return is_wide ? parse_mac8(text, bytes) : parse_mac(text, bytes);
}

std::string mac_text(std::string_view bytes) {
  std::string out;
  for (const char byte : bytes) {
    char text[4];
    std::snprintf(text, sizeof text, "%02x", static_cast<unsigned char>(byte));
    out += (out.empty() ? "" : ":") + std::string(text);
  }
  return out;
}

Status mac_receive(std::string_view sent, bool is_wide, std::string* bytes) {
  const size_t size = is_wide ? 8 : 6;
  if (sent.size() != size && sent.size() != 6) return sql_error("08P01", "insufficient data left in message");
  *bytes = is_wide && sent.size() == 6 ? mac_widened(sent) : std::string(sent);
  return absl::OkStatus();
}

std::string mac_widened(std::string_view six) {
  return std::string(six.substr(0, 3)) + "\xff\xfe" + std::string(six.substr(3));
}

Status mac_narrowed(std::string_view eight, std::string* six) {
  if (eight.substr(3, 2) != "\xff\xfe")
    return with_hint(sql_error("22003", "macaddr8 data out of range to convert to macaddr"),
                     "Only addresses that have FF and FE as values in the 4th and 5th bytes from the left, for example "
                     "xx:xx:xx:ff:fe:xx:xx:xx, are eligible to be converted from macaddr8 to macaddr.");
  *six = std::string(eight.substr(0, 3)) + std::string(eight.substr(5));
  return absl::OkStatus();
}

}  // namespace scyper::query
