#include "types/jsonpath_offsets.h"

#include <string_view>

// The layout of convertToJsonb() in PostgreSQL's jsonb_util.c: a header, an entry for each key and value, the keys, the
// values. Numbers and containers are aligned.
namespace scyper::query {

namespace {

constexpr int64_t kHeaderBytes = 4, kEntryBytes = 4, kAlignment = 4;

int64_t aligned(int64_t size) { return (size + kAlignment - 1) / kAlignment * kAlignment; }

// Of a numeric at rest: base 10000, without zeros at its ends.
int64_t number_bytes(std::string_view digits) {
  constexpr int64_t kGroup = 4, kShortHeader = 6, kLongHeader = 8, kShortScaleMax = 63, kShortWeightMax = 63;
  if (!digits.empty() && digits[0] == '-') digits.remove_prefix(1);
  const size_t point = std::min(digits.find('.'), digits.size());
  const auto whole = static_cast<int64_t>(point);
  const auto scale = static_cast<int64_t>(point < digits.size() ? digits.size() - point - 1 : 0);
  int64_t first = INT64_MAX, last = INT64_MIN;  // groups that are not zero, the units' group is 0
  for (size_t i = 0; i < digits.size(); i++) {
    if (i == point || digits[i] == '0') continue;
    const int64_t place = i < point ? whole - 1 - static_cast<int64_t>(i) : -static_cast<int64_t>(i - point);
    const int64_t group = place >= 0 ? place / kGroup : -((-place + kGroup - 1) / kGroup);
    if (first == INT64_MAX) first = group;
    last = group;
  }
  const int64_t groups = first == INT64_MAX ? 0 : first - last + 1;
  const int64_t weight = groups == 0 ? 0 : first;
  const bool is_short = scale <= kShortScaleMax && weight <= kShortWeightMax && weight >= -kShortWeightMax - 1;
  return (is_short ? kShortHeader : kLongHeader) + groups * 2;
}

class Layout {
 public:
  explicit Layout(const Json* wanted) : wanted_(wanted) {}

  // Places the value from `at` on; returns its end.
  int64_t place(const Json& json, int64_t at) {
    switch (json.kind) {
      case JsonKind::kString:
        return at + static_cast<int64_t>(json.text.size());
      case JsonKind::kNumber:
        return aligned(at) + number_bytes(json.text);
      case JsonKind::kArray:
      case JsonKind::kObject:
        break;
      default:
        return at;
    }
    at = aligned(at);
    if (&json == wanted_) found_ = at;
    const auto entries = static_cast<int64_t>(json.items.size() + json.keys.size());
    at += kHeaderBytes + entries * kEntryBytes;
    for (const std::string& key : json.keys) at += static_cast<int64_t>(key.size());
    for (const Json& item : json.items) at = place(item, at);
    return at;
  }
  int64_t found() const { return found_; }

 private:
  const Json* const wanted_;
  int64_t found_ = 0;
};

}  // namespace

int64_t json_binary_offset(const Json& document, const Json* inner) {
  Layout layout(inner);
  layout.place(document, 0);
  return layout.found();
}

}  // namespace scyper::query
