#include "types/datetime_pattern.h"

#include <algorithm>
#include <iterator>

#include "types/digits.h"
#include "types/text.h"

namespace scyper::query {

namespace {

struct Keyword {
  std::string_view text;  // in capitals
  Field field;
};
// The first that fits counts, in PostgreSQL's order.
constexpr Keyword kKeywords[] = {
    {"A.D.", Field::kEraDots},     {"A.M.", Field::kHalfDayDots},  {"AD", Field::kEra},
    {"AM", Field::kHalfDay},       {"B.C.", Field::kEraDots},      {"BC", Field::kEra},
    {"CC", Field::kCentury},       {"DAY", Field::kDayName},       {"DDD", Field::kDayOfYear},
    {"DD", Field::kDay},           {"DY", Field::kDayShort},       {"D", Field::kDayOfWeek},
    {"FF1", Field::kFraction},     {"FF2", Field::kFraction},      {"FF3", Field::kFraction},
    {"FF4", Field::kFraction},     {"FF5", Field::kFraction},      {"FF6", Field::kFraction},
    {"FX", Field::kFixed},         {"HH24", Field::kHour24},       {"HH12", Field::kHour12},
    {"HH", Field::kHour12},        {"IDDD", Field::kIsoDayOfYear}, {"ID", Field::kIsoDayOfWeek},
    {"IW", Field::kIsoWeek},       {"IYYY", Field::kIsoYear},      {"IYY", Field::kIsoYear3},
    {"IY", Field::kIsoYear2},      {"I", Field::kIsoYear1},        {"J", Field::kJulian},
    {"MI", Field::kMinute},        {"MM", Field::kMonth},          {"MONTH", Field::kMonthName},
    {"MON", Field::kMonthShort},   {"MS", Field::kMilli},          {"OF", Field::kZoneOffset},
    {"P.M.", Field::kHalfDayDots}, {"PM", Field::kHalfDay},        {"Q", Field::kQuarter},
    {"RM", Field::kRoman},         {"SSSSS", Field::kSecondOfDay}, {"SSSS", Field::kSecondOfDay},
    {"SS", Field::kSecond},        {"TZH", Field::kZoneHour},      {"TZM", Field::kZoneMinute},
    {"TZ", Field::kZone},          {"US", Field::kMicro},          {"WW", Field::kWeek},
    {"W", Field::kWeekOfMonth},    {"Y,YYY", Field::kYearComma},   {"YYYY", Field::kYear},
    {"YYY", Field::kYear3},        {"YY", Field::kYear2},          {"Y", Field::kYear1}};

bool is_name(Field field) {
  return field == Field::kDayName || field == Field::kDayShort || field == Field::kMonthName ||
         field == Field::kMonthShort;
}

// In capitals or in small letters throughout; names also with one capital.
bool has_keyword(std::string_view text, const Keyword& keyword) {
  const size_t size = keyword.text.size();
  if (text.size() < size) return false;
  if (text.substr(0, size) == keyword.text) return true;
  for (size_t i = 1; i < size; ++i)
    if (text[i] != to_lower(keyword.text[i])) return false;
  return text[0] == to_lower(keyword.text[0]) || (text[0] == keyword.text[0] && is_name(keyword.field));
}

bool takes_word(std::string_view text, std::string_view capitals, std::string_view small) {
  return text.starts_with(capitals) || text.starts_with(small);
}

void add_character(std::string_view text, bool is_quoted, std::vector<Node>* nodes) {
  Node node;
  node.text = text.substr(0, std::min(character_size(text[0]), text.size()));
  if (!is_quoted && is_separator(text[0])) {
    node.field = Field::kSeparator;
  } else if (!is_quoted && is_space(text[0])) {
    node.field = Field::kSpace;
  }
  nodes->push_back(node);
}

// Behind the opening quote; returns what is left behind the closing one.
std::string_view add_quoted(std::string_view text, std::vector<Node>* nodes) {
  while (!text.empty()) {
    if (text[0] == '"') return text.substr(1);
    if (text[0] == '\\' && text.size() > 1) text.remove_prefix(1);
    add_character(text, true, nodes);
    text.remove_prefix(nodes->back().text.size());
  }
  return text;
}

}  // namespace

bool is_digit_field(Field field) {
  switch (field) {
    case Field::kLiteral:
    case Field::kSeparator:
    case Field::kSpace:
    case Field::kFixed:
    case Field::kHalfDay:
    case Field::kHalfDayDots:
    case Field::kEra:
    case Field::kEraDots:
    case Field::kDayName:
    case Field::kDayShort:
    case Field::kMonthName:
    case Field::kMonthShort:
    case Field::kRoman:
    case Field::kZone:
    case Field::kZoneOffset:
    case Field::kZoneHour:
      return false;
    default:
      return true;
  }
}

bool is_separator(char c) {
  const bool is_letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
  return c > ' ' && c < 0x7f && !is_letter && !is_digit(c);
}

std::vector<Node> read_pattern(std::string_view rest) {
  std::vector<Node> nodes;
  while (!rest.empty()) {
    Node node;
    if (takes_word(rest, "FM", "fm")) {
      node.fill = true;
      rest.remove_prefix(2);
    } else if (takes_word(rest, "TM", "tm")) {
      node.localized = true;
      rest.remove_prefix(2);
    }
    if (rest.empty()) break;
    const auto* known = std::find_if(std::begin(kKeywords), std::end(kKeywords),
                                     [&](const Keyword& keyword) { return has_keyword(rest, keyword); });
    if (known == std::end(kKeywords)) {  // a prefix before something else is lost
      if (rest[0] == '"') {
        rest = add_quoted(rest.substr(1), &nodes);
        continue;
      }
      if (rest[0] == '\\' && rest.size() > 1 && rest[1] == '"') rest.remove_prefix(1);
      add_character(rest, false, &nodes);
      rest.remove_prefix(nodes.back().text.size());
      continue;
    }
    node.field = known->field;
    node.text = rest.substr(0, known->text.size());
    rest.remove_prefix(node.text.size());
    if (takes_word(rest, "TH", "th")) {
      node.ordinal = rest[0];
      rest.remove_prefix(2);
    } else if (rest.starts_with("SP")) {
      rest.remove_prefix(2);
    }
    nodes.push_back(node);
  }
  return nodes;
}

}  // namespace scyper::query
