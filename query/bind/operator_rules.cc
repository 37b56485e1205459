#include "bind/operator_rules.h"

#include "storage/json_text_type.h"

namespace scyper::query {

namespace {

bool is_unknown(const SqlType& type) { return type.id == TypeId::kUnknown; }

OperatorFit fit_json(std::string_view op, const SqlType& left, const SqlType& right) {
  const bool both = is_json_text(left) && is_json_text(right);
  const bool looks_into = op == "->" || op == "->>" || op == "#>" || op == "#>>";
  if (looks_into) return is_json_text(right) ? OperatorFit::kMissing : OperatorFit::kOpen;
  const SqlType& other = is_json_text(left) ? right : left;
  const bool appends = op == "||" && !both && (is_string(other.id) || is_unknown(other) || other.id == TypeId::kArray);
  return appends ? OperatorFit::kOpen : OperatorFit::kMissing;
}

// Is there arithmetic of `type` with anything that a literal could be?
OperatorFit fit_literal(std::string_view op, const SqlType& type, bool is_left) {
  switch (type.id) {
    case TypeId::kDate:
      if (op == "+") return OperatorFit::kNotUnique;
      return op == "-" ? OperatorFit::kOpen : OperatorFit::kMissing;
    case TypeId::kTimestamp:
    case TypeId::kTimestamptz:
      return op == "+" || op == "-" ? OperatorFit::kOpen : OperatorFit::kMissing;
    case TypeId::kTime:
    case TypeId::kInterval:
      return op == "%" || (op == "/" && !is_left) ? OperatorFit::kMissing : OperatorFit::kOpen;
    case TypeId::kTimetz:
      if (op == "+") return OperatorFit::kNotUnique;
      return op == "-" && is_left ? OperatorFit::kOpen : OperatorFit::kMissing;
    case TypeId::kInet:
    case TypeId::kCidr:
      return op == "+" || op == "-" ? OperatorFit::kOpen : OperatorFit::kMissing;
    case TypeId::kMoney:
      return op == "%" ? OperatorFit::kMissing : OperatorFit::kOpen;
    case TypeId::kInt4range:
    case TypeId::kInt8range:
    case TypeId::kDaterange:
    case TypeId::kTsrange:
    case TypeId::kTstzrange:
      return op == "/" || op == "%" ? OperatorFit::kMissing : OperatorFit::kOpen;
    case TypeId::kMacaddr:
    case TypeId::kMacaddr8:
    case TypeId::kBit:
    case TypeId::kVarbit:
    case TypeId::kUuid:
    case TypeId::kBool:
    case TypeId::kBytea:
    case TypeId::kTsvector:
    case TypeId::kTsquery:
      return OperatorFit::kMissing;
    default:
      return OperatorFit::kOpen;
  }
}

}  // namespace

OperatorFit operator_fit(std::string_view op, const SqlType& left, const SqlType& right) {
  // of arrays, jsonb and ranges: the container has to be known
  const auto is_element = [](const SqlType& type) {
    return !is_unknown(type) && type.id != TypeId::kArray && type.id != TypeId::kJsonb && type.id != TypeId::kRecord &&
           !is_range(type.id) && !is_multirange(type.id) && type.id != TypeId::kTsquery;
  };
  if ((op == "<@" && is_unknown(right) && is_element(left)) || (op == "@>" && is_unknown(left) && is_element(right)))
    return OperatorFit::kNotUnique;
  if (is_json_text(left) || is_json_text(right)) return fit_json(op, left, right);
  const auto are = [&](TypeId a, TypeId b) { return left.id == a && right.id == b; };
  if (are(TypeId::kMacaddr, TypeId::kMacaddr8) || are(TypeId::kMacaddr8, TypeId::kMacaddr))
    return OperatorFit::kNotUnique;  // each becomes the other
  const bool is_arithmetic = op == "+" || op == "-" || op == "*" || op == "/" || op == "%";
  if (is_arithmetic && is_unknown(left) != is_unknown(right))
    return fit_literal(op, is_unknown(left) ? right : left, is_unknown(right));
  if (op == "+" && left.id == TypeId::kTime && right.id == TypeId::kTime) return OperatorFit::kNotUnique;
  if ((op == "->" || op == "->>") && is_unknown(left) &&
      (is_string(right.id) || right.id == TypeId::kInt2 || right.id == TypeId::kInt4))
    return OperatorFit::kNotUnique;
  if ((op == "<<" || op == ">>") && is_unknown(left) && right.id == TypeId::kInt2) return OperatorFit::kNotUnique;
  return OperatorFit::kOpen;
}

}  // namespace scyper::query
