#pragma once

#include <charconv>
#include <cstdint>
#include <string>
#include <string_view>

namespace scyper::replication {

// A port of an RDMA device, as people write it: "mlx5_0", "mlx5_0:1", "mlx5_0:1:3", "any".
struct RdmaDeviceName {
  std::string device;      // empty: whichever has the interface's address
  uint8_t port = 0;        // from 1; 0: whichever
  int32_t gid_index = -1;  // -1: the one of that address

  // False: it is no such text.
  static bool parse(std::string_view text, RdmaDeviceName* out) {
    *out = {};
    if (text == "any") return true;
    size_t colon = text.find(':');
    out->device = text.substr(0, colon);
    if (out->device.find_first_of(" /") != std::string::npos) return false;
    if (colon == std::string_view::npos) return true;
    if (out->device.empty()) return false;
    text.remove_prefix(colon + 1);
    colon = text.find(':');
    if (!number(text.substr(0, colon), &out->port) || out->port == 0) return false;
    if (colon == std::string_view::npos) return true;
    uint8_t index = 0;  // tables have 256 entries at most
    if (!number(text.substr(colon + 1), &index)) return false;
    out->gid_index = index;
    return true;
  }

 private:
  static bool number(std::string_view text, uint8_t* out) {
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), *out);
    return error == std::errc() && end == text.data() + text.size();
  }
};

}  // namespace scyper::replication
