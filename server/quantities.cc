#include <array>
#include <charconv>
#include <cmath>

#include "server/config.h"

namespace scyper::server {

namespace {

struct Unit {
  std::string_view name;
  uint64_t factor;
};
constexpr uint64_t kKb = 1024;
// Powers of 1024 under either name, as PostgreSQL's memory settings.
constexpr std::array<Unit, 13> kByteUnits = {{{"", 1},
                                              {"B", 1},
                                              {"kB", kKb},
                                              {"KB", kKb},
                                              {"KiB", kKb},
                                              {"MB", kKb* kKb},
                                              {"MiB", kKb* kKb},
                                              {"M", kKb* kKb},
                                              {"GB", kKb* kKb* kKb},
                                              {"GiB", kKb* kKb* kKb},
                                              {"G", kKb* kKb* kKb},
                                              {"TB", kKb* kKb* kKb* kKb},
                                              {"TiB", kKb* kKb* kKb* kKb}}};
constexpr std::array<Unit, 5> kTimeUnits = {
    {{"us", 1}, {"ms", 1000}, {"s", 1'000'000}, {"min", 60'000'000}, {"h", 3'600'000'000}}};

std::string_view trim(std::string_view text) {
  while (!text.empty() && text.front() == ' ') text.remove_prefix(1);
  while (!text.empty() && text.back() == ' ') text.remove_suffix(1);
  return text;
}

template <size_t n>
StatusOr<uint64_t> parse_quantity(std::string_view text, const std::array<Unit, n>& units, const char* expected) {
  Status wrong = absl::InvalidArgumentError("\"" + std::string(text) + "\" is not " + expected);
  std::string_view rest = trim(text);
  double number = 0;
  auto [end, error] = std::from_chars(rest.data(), rest.data() + rest.size(), number);
  if (error != std::errc() || !(number >= 0)) return wrong;
  rest = trim(rest.substr(static_cast<size_t>(end - rest.data())));
  for (const Unit& unit : units) {
    if (unit.name != rest) continue;
    double value = number * static_cast<double>(unit.factor);
    if (value >= 9e18) return wrong;
    return static_cast<uint64_t>(std::llround(value));
  }
  return wrong;
}

}  // namespace

StatusOr<uint64_t> parse_bytes(std::string_view text) {
  return parse_quantity(text, kByteUnits, "a size such as 8GB or 512MB");
}
StatusOr<uint64_t> parse_duration_us(std::string_view text) {
  return parse_quantity(text, kTimeUnits, "a duration such as 10s or 200ms");
}

std::string format_bytes(uint64_t bytes) {
  constexpr std::array<Unit, 4> kUnits = {
      {{"TB", kKb * kKb * kKb * kKb}, {"GB", kKb * kKb * kKb}, {"MB", kKb * kKb}, {"kB", kKb}}};
  for (const Unit& unit : kUnits) {
    if (bytes >= unit.factor && bytes % unit.factor == 0)
      return std::to_string(bytes / unit.factor) + std::string(unit.name);
  }
  return std::to_string(bytes) + "B";
}

std::string format_duration_us(uint64_t us) {
  constexpr std::array<Unit, 2> kUnits = {{{"s", 1'000'000}, {"ms", 1000}}};
  for (const Unit& unit : kUnits) {
    if (us >= unit.factor && us % unit.factor == 0) return std::to_string(us / unit.factor) + std::string(unit.name);
  }
  return std::to_string(us) + "us";
}

}  // namespace scyper::server
