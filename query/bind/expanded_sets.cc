#include "bind/expanded_sets.h"

#include <algorithm>
#include <map>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/invariant.h"
#include "base/object_name.h"
#include "bind/binder.h"
#include "bind/builtins.h"
#include "bind/target_name.h"
#include "parse/printer.h"
#include "parse/sql_parser.h"

namespace scyper::query {

namespace {

constexpr std::string_view kExpandArray = "_pg_expandarray";

const ast::FunctionCall* call_of(const ast::Expr& expr) { return ast::node_if<ast::FunctionCall>(&expr); }

bool is_expand_array(const ast::FunctionCall& call) {
  return call.args.size() == 1 && bare_name(call.name.back()) == kExpandArray;
}

// PostgreSQL's own functions that give rows of several fields.
bool gives_fields(const ast::FunctionCall& call) {
  static constexpr std::string_view kPairs[] = {"json_each", "json_each_text", "jsonb_each",   "jsonb_each_text",
                                                "ts_debug",  "ts_parse",       "ts_token_type"};
  static constexpr std::string_view kRecords[] = {"jsonb_populate_record", "jsonb_populate_recordset"};
  const auto is_one_of = [&](const auto& names) {
    return std::find(std::begin(names), std::end(names), bare_name(call.name.back())) != std::end(names);
  };
  return is_one_of(kPairs) || (is_one_of(kRecords) && call.args.size() == 2);
}

bool returns_rows(const ast::FunctionCall& call, const Catalog& catalog) {
  const auto range = catalog.routines.equal_range(call.name.back());
  return std::any_of(range.first, range.second, [](const auto& entry) { return entry.second->returns_set; });
}

// The call that the target's field is of.
const ast::FunctionCall* selected_call(const ast::SelectTarget& target, const Catalog& catalog) {
  const auto* field = ast::node_if<ast::FieldSelect>(target.expr.get());
  if (field == nullptr || field->star) return nullptr;
  const ast::FunctionCall* call = call_of(*field->arg);
  const bool is_set =
      call != nullptr && (is_expand_array(*call) || gives_fields(*call) || returns_rows(*call, catalog));
  return is_set ? call : nullptr;
}

// The call of which the target has all fields, or that it is.
const ast::FunctionCall* call_of_fields(const ast::SelectTarget& target) {
  const auto* field = ast::node_if<ast::FieldSelect>(target.expr.get());
  if (field != nullptr && !field->star) return nullptr;
  const ast::FunctionCall* call = call_of(field != nullptr ? *field->arg : *target.expr);
  return call != nullptr && gives_fields(*call) ? call : nullptr;
}

const ast::FunctionCall* whole_call(const ast::SelectTarget& target) {
  const ast::FunctionCall* call = call_of(*target.expr);
  return call != nullptr && is_expand_array(*call) ? call : nullptr;
}

bool is_set_call(const ast::FunctionCall& call, IsSetFunction is_set) {
  return call.over == nullptr && is_set(bare_name(call.name.back()));
}

// The set-returning calls that the expression is made of by functions and casts.
void collect_sets(ast::ExprPtr* expr, IsSetFunction is_set, std::vector<ast::ExprPtr*>* found) {
  if ((*expr)->kind == ast::ExprKind::kCast) return collect_sets(&static_cast<ast::Cast&>(**expr).arg, is_set, found);
  if ((*expr)->kind != ast::ExprKind::kFunctionCall) return;
  auto* call = static_cast<ast::FunctionCall*>(expr->get());
  if (is_set_call(*call, is_set)) return found->push_back(expr);
  if (find_builtins(bare_name(call->name.back())).empty()) return;
  for (ast::ExprPtr& arg : call->args) collect_sets(&arg, is_set, found);
}

// The set-returning call that is inside of another one, where that is the only item of the select list that is more
// than a column or a literal. nullptr: none, or several, whose rows come side by side.
ast::ExprPtr* nested_call(ast::SelectStatement* select, IsSetFunction is_set) {
  if (!select->group_by.empty() || select->having != nullptr) return nullptr;
  ast::FunctionCall* outer = nullptr;
  for (ast::SelectTarget& target : select->targets) {
    const ast::ExprKind kind = target.expr->kind;
    if (kind == ast::ExprKind::kColumnRef || kind == ast::ExprKind::kLiteral) continue;
    const ast::FunctionCall* call = call_of(*target.expr);
    if (call == nullptr || outer != nullptr || !is_set_call(*call, is_set)) return nullptr;
    outer = static_cast<ast::FunctionCall*>(target.expr.get());
  }
  std::vector<ast::ExprPtr*> inner;
  for (size_t i = 0; outer != nullptr && i < outer->args.size(); i++) collect_sets(&outer->args[i], is_set, &inner);
  return inner.size() == 1 ? inner[0] : nullptr;
}

// Calls that look the same are one function: they give their rows side by side.
class SetsInFrom {
 public:
  std::string alias_of(const ast::FunctionCall& call) {
    const std::string text = is_expand_array(call) ? absl::StrCat("(", expand_array_query(call), ")") : to_sql(call);
    const auto [found, is_new] = aliases_.emplace(text, absl::StrCat(" set ", aliases_.size()));
    if (is_new)
      absl::StrAppend(&from_, from_.empty() ? "" : ", ", "LATERAL ", text, " AS ", quote_identifier(found->second));
    return found->second;
  }
  const std::string& from() const { return from_; }

 private:
  std::map<std::string, std::string> aliases_;
  std::string from_;
};

ast::SelectTarget field_target(const std::string& relation, const std::string& field, std::string alias) {
  auto column = std::make_unique<ast::ColumnRef>();
  column->name = {relation, field};
  ast::SelectTarget target;
  target.expr = std::move(column);
  target.alias = std::move(alias);
  return target;
}

// The rows of the function: all their fields, or each as one value.
ast::SelectTarget row_target(const ast::Expr& expr, const std::string& relation, const std::string& alias) {
  auto row = std::make_unique<ast::ColumnRef>();
  row->name = {relation};
  row->star = expr.kind == ast::ExprKind::kFieldSelect;
  ast::SelectTarget target;
  if (!row->star) target.alias = alias;
  target.expr = std::move(row);
  return target;
}

}  // namespace

bool has_expanded_sets(const ast::SelectStatement& select, const Catalog& catalog, IsSetFunction is_set) {
  if (nested_call(const_cast<ast::SelectStatement*>(&select), is_set) != nullptr) return true;
  return std::any_of(select.targets.begin(), select.targets.end(), [&](const ast::SelectTarget& target) {
    return selected_call(target, catalog) != nullptr || whole_call(target) != nullptr ||
           call_of_fields(target) != nullptr;
  });
}

std::string with_expanded_sets(const ast::SelectStatement& select, const Catalog& catalog, IsSetFunction is_set) {
  auto parsed = parse_sql(to_sql(select), TextOf::kSystem);
  if (!parsed.ok()) return "";
  auto& copy = static_cast<ast::SelectStatement&>(*(*parsed)[0]);
  SetsInFrom sets;
  if (ast::ExprPtr* inner = nested_call(&copy, is_set); inner != nullptr) {
    auto value = std::make_unique<ast::ColumnRef>();
    value->name = {sets.alias_of(ast::node_as<ast::FunctionCall>(**inner))};
    *inner = std::move(value);
  }
  std::vector<ast::SelectTarget> targets;
  for (ast::SelectTarget& target : copy.targets) {
    if (const ast::FunctionCall* call = selected_call(target, catalog); call != nullptr) {
      const std::string field = ast::node_as<ast::FieldSelect>(*target.expr).field;
      targets.push_back(field_target(sets.alias_of(*call), field, target.alias.empty() ? field : target.alias));
    } else if (call = call_of_fields(target); call != nullptr) {
      const std::string name = target.alias.empty() ? name_of_target(*call) : target.alias;
      targets.push_back(row_target(*target.expr, sets.alias_of(*call), name));
    } else if (call = whole_call(target); call != nullptr) {
      const std::string name = target.alias.empty() ? std::string(kExpandArray) : target.alias;
      const std::string relation = sets.alias_of(*call);
      for (const char* field : {"x", "n"})
        targets.push_back(field_target(relation, field, expanded_column(name, field)));
    } else {
      targets.push_back(std::move(target));
    }
  }
  copy.targets = std::move(targets);
  auto from = parse_sql("SELECT 1 FROM " + sets.from(), TextOf::kSystem);
  if (!from.ok()) return "";
  for (auto& item : static_cast<ast::SelectStatement&>(*(*from)[0]).from) copy.from.push_back(std::move(item));
  return to_sql(copy);
}

StatusOr<std::unique_ptr<BoundQuery>> Binder::bind_expanded_sets(const ast::SelectStatement& select,
                                                                 const Scope* parent, bool keep_unknown) {
  const std::string text = with_expanded_sets(select, catalog_, is_set_function);
  SCYPER_ASSIGN_OR_RETURN(auto statements, parse_sql(text, TextOf::kSystem));
  INVARIANT(statements.size() == 1);
  const std::string_view saved = std::exchange(source_, text);
  auto query = bind_select(ast::node_as<ast::SelectStatement>(*statements[0]), parent, keep_unknown);
  source_ = saved;
  return query;
}

std::string expand_array_query(const ast::FunctionCall& call) {
  if (!is_expand_array(call)) return "";
  return absl::StrCat("SELECT u.x, u.n::int4 AS n FROM unnest(", to_sql(*call.args[0]),
                      ") WITH ORDINALITY AS u (x, n)");
}

std::string expanded_column(const std::string& column, const std::string& field) {
  return absl::StrCat(column, ".", field);
}

}  // namespace scyper::query
