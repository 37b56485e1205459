#include "bind/shown_expression.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "bind/binder.h"
#include "bind/bound.h"
#include "bind/make.h"
#include "parse/printer.h"
#include "parse/sql_parser.h"
#include "parse/type_resolver.h"
#include "plan/access_path.h"
#include "storage/big_numeric.h"
#include "storage/json_text_type.h"
#include "types/datum_text.h"
#include "types/decimal.h"

namespace scyper::query {

namespace {

bool is_operator(const BoundExpr& e) {
  if (e.kind != BoundKind::kBuiltin) return false;
  const char first = e.builtin->name.empty() ? ' ' : e.builtin->name[0];
  return e.builtin->name == "like" || e.builtin->name == "ilike" ||
         (first != ' ' && first != '_' && !(first >= 'a' && first <= 'z'));
}

// What PostgreSQL knows no operator or function of, as it is called here.
bool has_other_name(const BoundExpr& e) {
  const std::string_view name = e.builtin->name;
  return name.starts_with(' ') || name == "similar to" || name == "extract" || name == "position" ||
         (name == "like" && e.args.size() != 2) || (name == "ilike" && e.args.size() != 2);
}

// As ruleutils.c writes them.
class Shower {
 public:
  Shower(const storage::TableSchema* schema, bool is_pretty) : schema_(schema), is_pretty_(is_pretty) {}

  std::string run(const BoundExpr& e) {
    if (e.kind == BoundKind::kCast && !e.explicit_cast) {  // what its column asks for
      const BoundExpr& arg = *e.args[0];
      return arg.kind == BoundKind::kConst && is_string(arg.type.id) ? constant(arg, e.type) : run(arg);
    }
    if (e.kind == BoundKind::kConst && is_plain_integer(e)) return text_of_constant(e);
    return any(e, nullptr);
  }
  bool is_complete() const { return is_complete_; }

 private:
  std::string give_up() { return is_complete_ = false, ""; }

  static bool is_plain_integer(const BoundExpr& e) {
    return e.type.id == TypeId::kNumeric && !e.value.null && e.value.scale == 0 && e.value.int128() >= 0;
  }
  static std::string text_of_constant(const BoundExpr& e) {
    std::string text;
    append_datum(&text, e.type, e.value);
    return text;
  }

  std::string bracketed(std::string text, bool needs_them) {
    return !is_pretty_ || needs_them ? absl::StrCat("(", text, ")") : text;
  }

  // Brackets that pretty text needs around `e`, a part of `parent`: isSimpleNode().
  static bool stands_alone(const BoundExpr& e, const BoundExpr* parent) {
    if (parent == nullptr) return true;
    const bool in_list = parent->kind == BoundKind::kAnd || parent->kind == BoundKind::kOr ||
                         parent->kind == BoundKind::kNot || parent->kind == BoundKind::kCase ||
                         parent->kind == BoundKind::kCoalesce || parent->kind == BoundKind::kMinMax ||
                         parent->kind == BoundKind::kArray || parent->kind == BoundKind::kUserCall ||
                         (parent->kind == BoundKind::kBuiltin && !is_operator(*parent));
    if (e.kind == BoundKind::kAnd || e.kind == BoundKind::kNot) return in_list && parent->kind != BoundKind::kNot;
    if (e.kind == BoundKind::kOr && e.index != kInListOr)
      return in_list && parent->kind != BoundKind::kNot && parent->kind != BoundKind::kAnd;
    if (!is_operator(e) || !is_operator(*parent)) return in_list;
    constexpr std::string_view kLow = "+-", kHigh = "*/%";
    const std::string_view op = e.builtin->name, outer = parent->builtin->name;
    if (op.size() != 1 || outer.size() != 1 || e.args.size() != 2 || parent->args.size() != 2) return false;
    const bool is_first = parent->args[0].get() == &e;
    const bool is_high = kHigh.find(op) != std::string_view::npos, is_low = kLow.find(op) != std::string_view::npos;
    if (kLow.find(outer) != std::string_view::npos) return is_high || (is_low && is_first);
    return kHigh.find(outer) != std::string_view::npos && is_high && is_first;
  }

  std::string any(const BoundExpr& e, const BoundExpr* parent) {
    switch (e.kind) {
      case BoundKind::kConst:
        return constant(e, e.type);
      case BoundKind::kColumn:
        return schema_ == nullptr ? "VALUE" : quote_identifier(schema_->columns[e.index].name);
      case BoundKind::kCast:
        return cast(*e.args[0], to_sql(e.explicit_cast ? e.type : plain_type(e.type)), e);
      case BoundKind::kBuiltin:
        if (has_other_name(e)) return give_up();
        return is_operator(e) ? bracketed(operation(e, false), !stands_alone(e, parent))
                              : call(std::string(e.builtin->name), e);
      case BoundKind::kUserCall:
        return call(quote_identifier(e.routine->name), e);
      case BoundKind::kCoalesce:
        return call("COALESCE", e);
      case BoundKind::kMinMax:
        return call(e.builtin->name == ">" || e.builtin->name == ">=" ? "GREATEST" : "LEAST", e);
      case BoundKind::kArray:
        return absl::StrCat("ARRAY[", list(e), "]");
      case BoundKind::kCase:
        return choice(e);
      case BoundKind::kAnd:
      case BoundKind::kOr:
      case BoundKind::kNot:
      case BoundKind::kIsNull:
      case BoundKind::kIsTruth:
      case BoundKind::kDistinct:
        return bracketed(condition(e), !stands_alone(e, parent));
      default:
        return give_up();
    }
  }

  std::string condition(const BoundExpr& e) {
    if (e.kind == BoundKind::kIsNull) return any(*e.args[0], &e) + " IS NULL";
    if (e.kind == BoundKind::kIsTruth) return any(*e.args[0], &e) + (e.index == 1 ? " IS TRUE" : " IS FALSE");
    if (e.kind == BoundKind::kDistinct) return absl::StrCat(operand(e, 0), " IS DISTINCT FROM ", operand(e, 1));
    if (e.kind == BoundKind::kOr && e.index == kInListOr) return membership(e, " = ANY ");
    if (e.kind == BoundKind::kNot) {
      const BoundExpr& arg = *e.args[0];
      if (arg.kind == BoundKind::kOr && arg.index == kInListOr) return membership(arg, " <> ALL ");
      if (arg.kind == BoundKind::kIsNull) return any(*arg.args[0], &arg) + " IS NOT NULL";
      if (arg.kind == BoundKind::kIsTruth)
        return any(*arg.args[0], &arg) + (arg.index == 1 ? " IS NOT TRUE" : " IS NOT FALSE");
      if (is_operator(arg) && (arg.builtin->name == "like" || arg.builtin->name == "ilike"))
        return operation(arg, true);
      return "NOT " + any(arg, &e);
    }
    std::vector<std::string> parts;
    for (const auto& arg : e.args) parts.push_back(any(*arg, &e));
    return absl::StrJoin(parts, e.kind == BoundKind::kAnd ? " AND " : " OR ");
  }

  // a IN (1, 2)
  std::string membership(const BoundExpr& e, const std::string& op) {
    const BoundExpr& first = *e.args[0];
    const BoundExpr& left = *first.args[0];
    const bool is_varchar =
        left.type.id == TypeId::kVarchar ||
        (left.kind == BoundKind::kCast && left.type.id == TypeId::kText && left.args[0]->type.id == TypeId::kVarchar);
    std::vector<std::string> elements;
    for (const auto& equal : e.args) {
      if (equal->kind != BoundKind::kBuiltin || equal->args.size() != 2) return give_up();
      const BoundExpr* part = equal->args[1].get();
      while (is_varchar && part->kind == BoundKind::kCast && is_string(part->type.id)) part = part->args[0].get();
      const BoundExpr& element = *part;
      const bool is_shown_varchar = is_varchar && element.kind == BoundKind::kConst && is_string(element.type.id);
      elements.push_back(is_shown_varchar ? constant(element, make_type(TypeId::kVarchar)) : any(element, equal.get()));
    }
    std::string array = absl::StrCat("ARRAY[", absl::StrJoin(elements, ", "), "]");
    if (is_varchar) array = absl::StrCat(bracketed(array, false), "::text[]");
    return absl::StrCat(operand(first, 0), op, "(", array, ")");
  }

  // varchar has no operators: it is text to them.
  std::string operand(const BoundExpr& e, size_t i) {
    const BoundExpr& arg = *e.args[i];
    if (arg.type.id != TypeId::kVarchar) return any(arg, &e);
    if (arg.kind == BoundKind::kConst) return constant(arg, make_type(TypeId::kText));
    return cast(arg, "text", e);
  }

  std::string operation(const BoundExpr& e, bool is_negated) {
    std::string op(e.builtin->name);
    if (op == "like") op = is_negated ? "!~~" : "~~";
    if (op == "ilike") op = is_negated ? "!~~*" : "~~*";
    if (e.args.size() == 1) return absl::StrCat(op, " ", operand(e, 0));
    return absl::StrCat(operand(e, 0), " ", op, " ", operand(e, 1));
  }

  std::string cast(const BoundExpr& arg, const std::string& type, const BoundExpr& e) {
    if (arg.kind == BoundKind::kConst && is_string(arg.type.id) && e.kind == BoundKind::kCast)
      return absl::StrCat(constant(arg, e.type));
    const bool is_alone = stands_alone(arg, &e) || arg.kind == BoundKind::kColumn || arg.kind == BoundKind::kConst ||
                          arg.kind == BoundKind::kUserCall || (arg.kind == BoundKind::kBuiltin && !is_operator(arg));
    const std::string inner = run_part(arg);
    const bool has_them = !is_pretty_ && inner.starts_with('(') && is_operator(arg);
    return absl::StrCat(has_them ? "(" + inner + ")" : bracketed(inner, !is_alone), "::", type);
  }
  std::string run_part(const BoundExpr& e) {
    return e.kind == BoundKind::kConst && is_plain_integer(e) ? text_of_constant(e) : any(e, nullptr);
  }

  std::string list(const BoundExpr& e) {
    std::vector<std::string> args;
    for (const auto& arg : e.args) args.push_back(any(*arg, &e));
    return absl::StrJoin(args, ", ");
  }
  std::string call(const std::string& name, const BoundExpr& e) { return absl::StrCat(name, "(", list(e), ")"); }

  std::string choice(const BoundExpr& e) {
    std::string text = "\nCASE";
    for (size_t i = 0; i + 1 < e.args.size(); i += 2)
      absl::StrAppend(&text, "\n    WHEN ", any(*e.args[i], &e), " THEN ", any(*e.args[i + 1], &e));
    return absl::StrCat(text, "\n    ELSE ", any(*e.args.back(), &e), "\nEND");
  }

  // type: as what it is shown
  std::string constant(const BoundExpr& e, const SqlType& type) {
    const std::string name = type.id == TypeId::kChar ? "bpchar" : to_sql(plain_type(type));
    if (e.value.null) return "NULL::" + name;
    if (e.type.id == TypeId::kBool) return e.value.lo != 0 ? "true" : "false";
    const std::string text = text_of_constant(e);
    const bool is_small = is_integer(e.type.id) && e.value.lo >= 0 && e.value.lo <= INT32_MAX;
    if (is_small) return text;
    if (e.type.id == TypeId::kNumeric && !text.starts_with('-') && e.value.scale >= kBigScale)
      return text.find('.') != std::string::npos ? text : absl::StrCat(bracketed(text, false), "::numeric");
    const bool is_int4 = is_integer(e.type.id) && e.value.lo >= INT32_MIN && e.value.lo <= INT32_MAX;
    return absl::StrCat(quote_literal(text), "::", is_int4 ? "integer" : name);
  }

  const storage::TableSchema* const schema_;
  const bool is_pretty_;
  bool is_complete_ = true;
};

StatusOr<BoundPtr> bind_shown(Binder* binder, const ast::Expr& expr, const ShownExpression& where) {
  if (where.table == nullptr)
    return where.place == ExpressionPlace::kCondition ? binder->bind_domain_check(expr, where.base)
                                                      : binder->bind_constant(expr, where.base);
  switch (where.place) {
    case ExpressionPlace::kCondition:
      return binder->bind_check(expr, where.table);
    case ExpressionPlace::kDefault:
      return binder->bind_constant(expr, where.table->schema().columns[where.column].type);
    case ExpressionPlace::kGenerated:
      return binder->bind_generated(expr, where.table, where.column);
    case ExpressionPlace::kIndex:
      return binder->bind_index_part(expr, where.table, false);
  }
  return sql_error("XX000", "unknown place of an expression");
}

}  // namespace

std::string shown_expression(const Catalog& catalog, const std::string& text, const ShownExpression& where,
                             bool is_pretty) {
  auto parsed = parse_expression(text, TextOf::kSystem);
  if (!parsed.ok()) return text;
  if ((*parsed)->kind == ast::ExprKind::kValueFunction) return to_sql(**parsed);
  Binder binder(catalog, text);
  auto bound = bind_shown(&binder, **parsed, where);
  if (!bound.ok()) return text;
  Shower shower(where.table == nullptr ? nullptr : &where.table->schema(), is_pretty);
  std::string shown = shower.run(**bound);
  return shower.is_complete() ? shown : text;
}

std::vector<uint32_t> columns_of_expression(const Catalog& catalog, const std::string& text,
                                            const ShownExpression& where) {
  std::vector<uint32_t> columns;
  auto parsed = parse_expression(text, TextOf::kSystem);
  if (!parsed.ok()) return columns;
  Binder binder(catalog, text);
  auto bound = bind_shown(&binder, **parsed, where);
  if (!bound.ok()) return columns;
  visit(**bound, [&](const BoundExpr& e) {
    const bool is_new = std::find(columns.begin(), columns.end(), e.index) == columns.end();
    if (e.kind == BoundKind::kColumn && is_new) columns.push_back(e.index);
  });
  return columns;
}

}  // namespace scyper::query
