#include "parse/setting_text.h"

#include "parse/printer.h"

namespace scyper::query {

namespace {

// A setting's value as text: SET x = 1, on, 'text', -2.5, INTERVAL '1' HOUR.
std::string text_of_value(const ast::Expr& value) {
  if (const auto* cast = ast::node_if<ast::Cast>(&value)) return text_of_value(*cast->arg);
  const auto* literal = ast::node_if<ast::Literal>(&value);
  if (literal == nullptr) return "";
  if (literal->type == ast::LiteralType::kInteger) return std::to_string(literal->int_value);
  if (literal->type == ast::LiteralType::kBool) return literal->bool_value ? "true" : "false";
  return literal->text;
}

}  // namespace

std::vector<std::string> setting_values(const ast::SetStatement& set) {
  std::vector<std::string> values;
  for (const auto& value : set.values) {
    values.push_back(text_of_value(*value));
    // SET TIME ZONE INTERVAL '+02:00' HOUR TO MINUTE
    const bool is_cast = ast::node_if<ast::Cast>(value.get()) != nullptr;
    if (is_cast && set.name == "timezone") values.back() = "INTERVAL '" + values.back() + "'";
  }
  return values;
}

std::string setting_value(const ast::SetStatement& set) {
  std::string text;
  for (const std::string& value : setting_values(set)) {
    text += text.empty() ? "" : ", ";
    text += set.name == "search_path" ? quote_identifier(value) : value;  // names of schemas keep their case
  }
  return text;
}

}  // namespace scyper::query
