#include "types/date_style.h"

#include <strings.h>

#include <optional>

#include "types/digits.h"

namespace scyper::query {

namespace {

constexpr std::string_view kForms[] = {"ISO", "SQL", "Postgres", "German"};
constexpr std::string_view kOrders[] = {"MDY", "DMY", "YMD"};

bool is_word(std::string_view text, std::string_view word) {
  return text.size() == word.size() && strncasecmp(text.data(), word.data(), word.size()) == 0;
}
bool starts_with(std::string_view text, std::string_view prefix) {
  return text.size() >= prefix.size() && is_word(text.substr(0, prefix.size()), prefix);
}

std::string_view trimmed(std::string_view text) {
  while (!text.empty() && is_space(text.front())) text.remove_prefix(1);
  while (!text.empty() && is_space(text.back())) text.remove_suffix(1);
  if (text.size() >= 2 && text.front() == '"' && text.back() == '"') text = text.substr(1, text.size() - 2);
  return text;
}

std::optional<DateForm> form_of(std::string_view word) {
  if (is_word(word, "ISO")) return DateForm::kIso;
  if (is_word(word, "SQL")) return DateForm::kSql;
  if (starts_with(word, "POSTGRES")) return DateForm::kPostgres;
  if (is_word(word, "GERMAN")) return DateForm::kGerman;
  return std::nullopt;
}

std::optional<DateOrder> order_of(std::string_view word) {
  if (is_word(word, "YMD")) return DateOrder::kYearFirst;
  if (is_word(word, "DMY") || starts_with(word, "EURO")) return DateOrder::kDayFirst;
  if (is_word(word, "MDY") || is_word(word, "US") || starts_with(word, "NONEURO")) return DateOrder::kMonthFirst;
  return std::nullopt;
}

}  // namespace

std::string date_style_name(const DateStyle& style) {
  std::string name(kForms[static_cast<size_t>(style.form)]);
  return name.append(", ").append(kOrders[static_cast<size_t>(style.order)]);
}

std::string read_date_style(std::string_view value, DateStyle* style) {
  std::optional<DateForm> form;
  std::optional<DateOrder> order;
  bool conflicts = false;
  std::string_view rest = trimmed(value);
  while (!rest.empty()) {
    const size_t comma = rest.find(',');
    const std::string_view word = trimmed(rest.substr(0, comma));
    rest = comma == rest.npos ? std::string_view() : rest.substr(comma + 1);
    if (word.empty() || (comma != std::string_view::npos && trimmed(rest).empty())) return "List syntax is invalid.";
    if (is_word(word, "DEFAULT")) {
      if (!form.has_value()) form = DateForm::kIso;
      if (!order.has_value()) order = DateOrder::kMonthFirst;
    } else if (const auto named = form_of(word); named.has_value()) {
      conflicts |= form.has_value() && *form != *named;
      form = named;
      if (*named == DateForm::kGerman && !order.has_value()) order = DateOrder::kDayFirst;
    } else if (const auto wanted = order_of(word); wanted.has_value()) {
      // German stands for an order of its own only where none is named
      conflicts |= order.has_value() && *order != *wanted && form != DateForm::kGerman;
      order = wanted;
    } else {
      return "Unrecognized key word: \"" + std::string(word) + "\".";
    }
  }
  if (conflicts) return "Conflicting \"datestyle\" specifications.";
  if (form.has_value()) style->form = *form;
  if (order.has_value()) style->order = *order;
  return "";
}

}  // namespace scyper::query
