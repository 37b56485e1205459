#include <cmath>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "bind/binder.h"
#include "bind/make.h"

// TABLESAMPLE, which the parser makes a condition of a query over the table alone.
namespace scyper::query {

using ast::node_as;

namespace {

// A number as it is written; NaN: of another kind. Nothing: NULL.
std::optional<double> written_number(const ast::Expr& expr) {
  double value = std::nan("");
  if (const auto* minus = ast::node_if<ast::UnaryOp>(&expr); minus != nullptr && minus->op == "-") {
    const std::optional<double> positive = written_number(*minus->arg);
    return positive.has_value() ? -*positive : value;
  }
  const auto* literal = ast::node_if<ast::Literal>(&expr);
  if (literal == nullptr) return value;
  if (literal->type == ast::LiteralType::kNull) return std::nullopt;
  if (literal->type == ast::LiteralType::kInteger) return static_cast<double>(literal->int_value);
  if (!absl::SimpleAtod(literal->text, &value)) return std::nan("");
  return value;
}

// What identifies a row: its primary key, or all of it.
std::vector<BoundPtr> identity_of(const Relation& relation) {
  std::vector<uint32_t> columns;
  for (const auto& index : relation.table->schema().indexes)
    if (index.primary) columns.assign(index.columns.begin(), index.columns.end());
  for (uint32_t c = 0; columns.empty() && c < relation.columns.size(); c++)
    if (!relation.columns[c].hidden) columns.push_back(c);
  std::vector<BoundPtr> values;
  for (uint32_t c : columns)
    values.push_back(make_column(relation.id, c, relation.columns[c].type, relation.columns[c].nullable, -1));
  return values;
}

}  // namespace

// " table_sample"(method, seed or the text '', percentage ...): the condition that a row is in the sample. Both methods
// choose row by row, where PostgreSQL's SYSTEM chooses pages. With REPEATABLE by a hash of the row's identity, so the
// same rows while the table does not change.
StatusOr<BoundPtr> Binder::bind_table_sample(const ast::FunctionCall& call, const Scope* scope) {
  const std::string& method = node_as<ast::Literal>(*call.args[0]).text;
  const Relation& relation = *scope->relations[0];
  if (relation.kind != RelationKind::kTable)
    return error("0A000", "TABLESAMPLE clause can only be applied to tables and materialized views",
                 call.args[0]->location);
  if (method != "bernoulli" && method != "system")
    return error("42704", absl::StrCat("tablesample method ", method, " does not exist"), call.location);
  if (call.args.size() != 3)
    return error("2202H",
                 absl::StrCat("tablesample method ", method, " requires 1 argument, not ", call.args.size() - 2),
                 call.location);
  const std::optional<double> percentage = written_number(*call.args[2]), seed = written_number(*call.args[1]);
  const auto* none = ast::node_if<ast::Literal>(call.args[1].get());
  const bool is_repeatable = none == nullptr || none->type != ast::LiteralType::kString || !none->text.empty();
  if (!percentage.has_value()) return error("2202H", "TABLESAMPLE parameter cannot be null", -1);
  if (!seed.has_value()) return error("2202G", "TABLESAMPLE REPEATABLE parameter cannot be null", -1);
  if (std::isnan(*percentage) || (is_repeatable && std::isnan(*seed)))
    return error("0A000", "TABLESAMPLE of other numbers than literals is not supported", call.location);
  if (*percentage < 0 || *percentage > 100) return error("2202H", "sample percentage must be between 0 and 100", -1);
  auto truth = [&](bool value) { return make_constant(make_type(TypeId::kBool), int_datum(value ? 1 : 0), -1); };
  if (*percentage == 0 || *percentage == 100) return truth(*percentage == 100);
  const double fraction = *percentage / 100;
  if (!is_repeatable) {
    SCYPER_ASSIGN_OR_RETURN(BoundPtr drawn, make_call("random", {}, -1));
    const SqlType type = drawn->type;
    return make_operator("<", std::move(drawn),
                         make_constant(type, int_datum(__builtin_bit_cast(int64_t, fraction)), -1), -1);
  }
  std::vector<BoundPtr> args;
  SCYPER_ASSIGN_OR_RETURN(BoundPtr text, make_call(" record", identity_of(relation), -1));
  const SqlType bigint = make_type(TypeId::kInt8);
  args.push_back(std::move(text));
  args.push_back(make_constant(bigint, int_datum(__builtin_bit_cast(int64_t, *seed)), -1));
  SCYPER_ASSIGN_OR_RETURN(BoundPtr hash, make_call("hashtextextended", std::move(args), -1));
  // of the hash as a signed number, this share lies below
  const auto below = static_cast<int64_t>(std::ldexp(fraction - 0.5, 64));
  return make_operator("<", std::move(hash), make_constant(bigint, int_datum(below), -1), -1);
}

}  // namespace scyper::query
