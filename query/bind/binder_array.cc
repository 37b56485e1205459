#include <algorithm>
#include <set>
#include <string_view>

#include "absl/strings/str_cat.h"
#include "bind/binder.h"
#include "bind/binder_recursion.h"
#include "bind/make.h"

// ARRAY(SELECT ...) and slices of arrays.
namespace scyper::query {

// COALESCE((SELECT array_agg(x ORDER BY ...) FROM (SELECT ...)), '{}')
StatusOr<BoundPtr> Binder::bind_array_of(const ast::SelectStatement& select, const Scope* scope, int32_t location) {
  const Nested nested(this);
  SubqueryAt place(this, scope);
  const RecursionAt at(this, RecursionPlace::kSubquery);
  SCYPER_ASSIGN_OR_RETURN(std::unique_ptr<BoundQuery> rows, bind_select(select, scope));
  place.leave();
  if (rows->visible_outputs() != 1) return error("42601", "subquery must return only one column", location);
  // what only ORDER BY needs becomes columns, for the aggregate to sort by
  auto relation = new_relation(RelationKind::kQuery, "");
  uint32_t element = 0;
  for (uint32_t i = 0; i < rows->outputs.size(); i++) {
    OutputColumn& output = rows->outputs[i];
    if (!output.hidden) element = i;
    output.hidden = false;
    relation->columns.push_back({output.name, output.expr->type, output.expr->nullable, false});
  }
  const SqlType type = relation->columns[element].type;
  if (type.id == TypeId::kArray) return error("0A000", "multidimensional arrays are not supported", location);
  auto column = [&](uint32_t i) {
    return make_column(relation->id, i, relation->columns[i].type, relation->columns[i].nullable, -1);
  };
  Aggregate collect;
  collect.kind = AggregateKind::kArrayAgg;
  collect.type = make_array(type);
  collect.arity = 1;
  collect.args.push_back(column(element));
  for (OrderItem item : rows->order) {
    collect.args.push_back(column(item.output));
    item.output = static_cast<uint32_t>(collect.args.size() - 1);
    collect.order.push_back(item);
  }
  auto query = std::make_unique<BoundQuery>();
  query->id = ++query_count_;
  query->aggregated = true;
  query->correlated = rows->correlated;
  query->aggregates.push_back(std::move(collect));
  relation->query = std::move(rows);
  FromEntry entry;
  entry.relation = std::move(relation);
  query->from.push_back(std::move(entry));
  BoundPtr all = make_expr(BoundKind::kAggregate, make_array(type), true, location);
  all->relation = query->id;
  query->outputs.push_back({"array", std::move(all), false});
  BoundPtr subquery = make_expr(BoundKind::kScalarSubquery, make_array(type), true, location);
  subquery->query = std::move(query);
  BoundPtr result = make_expr(BoundKind::kCoalesce, make_array(type), false, location);
  result->args.push_back(std::move(subquery));
  result->args.push_back(make_expr(BoundKind::kArray, make_array(type), false, location));
  return result;
}

StatusOr<BoundPtr> Binder::bind_array_subquery(const ast::ArraySubquery& expr, const Scope* scope) {
  return bind_array_of(*expr.subquery, scope, expr.location);
}

// x op ANY|ALL (SELECT ...): the same with the array of the rows, NULLs and no rows included.
StatusOr<BoundPtr> Binder::bind_quantified_subquery(const ast::QuantifiedSubquery& expr, const Scope* scope) {
  if (expr.left->kind == ast::ExprKind::kRowConstructor)
    return error("0A000", "rows before ANY and ALL are not supported", expr.location);
  SCYPER_ASSIGN_OR_RETURN(BoundPtr left, bind(*expr.left, scope));
  auto array = bind_array_of(*expr.subquery, scope, expr.location);
  if (!array.ok() && array.status().message() == "subquery must return only one column")
    return error("42601", "subquery has too many columns", expr.location);
  SCYPER_RETURN_IF_ERROR(array.status());
  return make_any_all(expr.op, expr.all, std::move(left), *std::move(array), expr.location);
}

// What is assigned to array[index] or array[from:to], of its type.
StatusOr<BoundPtr> Binder::coerce_to_part(BoundPtr value, const SqlType& type, const ast::SubscriptIndex& index,
                                          std::string_view name, int32_t location) {
  const bool is_document = type.id == TypeId::kJsonb;
  if (type.id != TypeId::kArray && !is_document)
    return error("42804",
                 absl::StrCat("cannot subscript type ", type_name(without_modifiers(type)),
                              " because it does not support subscripting"),
                 location);
  const SqlType given = value->type, wanted = index.slice || is_document ? type : element_of(type);
  auto coerced = coerce(std::move(value), wanted, Coercion::kAssignment);
  if (!coerced.ok() && sqlstate_of(coerced.status()) == "42804")
    return with_hint(error("42804",
                           absl::StrCat("subscripted assignment to \"", std::string(name), "\" requires type ",
                                        type_name(without_modifiers(wanted)), " but expression is of type ",
                                        type_name(without_modifiers(given))),
                           location),
                     "You will need to rewrite or cast the expression.");
  return coerced;
}

// The array with what is assigned to array[index] or array[from:to].
StatusOr<BoundPtr> Binder::replace_part(BoundPtr array, const ast::SubscriptIndex& index, BoundPtr value,
                                        std::string_view name, const Scope* scope, int32_t location) {
  const SqlType type = array->type, integer = make_type(TypeId::kInt4);
  if (type.id == TypeId::kJsonb) {  // document['a']
    auto& only = const_cast<ast::SubscriptIndex&>(index);
    std::vector<ast::SubscriptIndex> indexes;
    indexes.push_back(std::move(only));
    auto replaced = replace_document_part(std::move(array), indexes, std::move(value), name, scope, location);
    only = std::move(indexes[0]);
    return replaced;
  }
  SCYPER_ASSIGN_OR_RETURN(value, coerce_to_part(std::move(value), type, index, name, location));
  auto bound = [&](const ast::ExprPtr& expr) -> StatusOr<BoundPtr> {
    if (expr == nullptr) return make_null(integer, location);
    SCYPER_ASSIGN_OR_RETURN(BoundPtr subscript, bind(*expr, scope));
    const int32_t at = subscript->location;
    auto number = coerce(std::move(subscript), integer, Coercion::kAssignment);
    if (!number.ok() && sqlstate_of(number.status()) == "42804")
      return error("42804", "array subscript must have type integer", at);
    return number;
  };
  BoundPtr call = make_expr(BoundKind::kBuiltin, type, false, location);
  call->builtin = find_builtins(index.slice ? " set slice" : " set element").front();
  call->args.push_back(std::move(array));
  if (index.slice) {
    SCYPER_ASSIGN_OR_RETURN(BoundPtr from, bound(index.lower));
    call->args.push_back(std::move(from));
  }
  SCYPER_ASSIGN_OR_RETURN(BoundPtr to, bound(index.upper));
  call->args.push_back(std::move(to));
  const int64_t has_bounds = (index.lower != nullptr ? 1 : 0) + (index.upper != nullptr ? 2 : 0);
  if (index.slice) call->args.push_back(make_constant(integer, int_datum(has_bounds), location));
  call->args.push_back(std::move(value));
  return call;
}

// SET a[1] = ...: the column as it is, or as an earlier assignment has left it, with this part replaced.
Status Binder::assign_part(const ast::Assignment& assignment, uint32_t column, BoundPtr value, const Scope* scope,
                           BoundDml* dml) {
  if (value == nullptr) return error("0A000", "cannot set an array element to DEFAULT", assignment.location);
  const storage::ColumnDef& definition = dml->schema().columns[column];
  auto earlier = std::find_if(dml->assignments.begin(), dml->assignments.end(),
                              [&](const ColumnAssignment& other) { return other.column == column; });
  BoundPtr array = earlier != dml->assignments.end()
                       ? std::move(earlier->value)
                       : make_column(dml->relation, column, definition.type, !definition.not_null, -1);
  auto replaced = definition.type.id == TypeId::kJsonb
                      ? replace_document_part(std::move(array), assignment.subscripts, std::move(value),
                                              assignment.column, scope, assignment.location)
                      : replace_part(std::move(array), assignment.subscripts[0], std::move(value), assignment.column,
                                     scope, assignment.location);
  SCYPER_RETURN_IF_ERROR(replaced.status());
  if (earlier == dml->assignments.end()) earlier = dml->assignments.insert(earlier, ColumnAssignment{});
  earlier->column = column;
  earlier->value = *std::move(replaced);
  earlier->is_part = true;
  return absl::OkStatus();
}

// SET: every assignment, and what can be said when all of them are there.
Status Binder::bind_set(const std::vector<ast::SetItem>& items, const Scope* scope, BoundDml* dml) {
  SCYPER_RETURN_IF_ERROR(bind_set_items(items, scope, dml));
  const TableRules* rules = rules_of(dml->schema());
  std::set<std::string_view> generated;  // which have no assignment yet
  for (const auto& item : items) {
    for (const ast::Assignment& target : item.targets) {
      SCYPER_ASSIGN_OR_RETURN(const uint32_t column, target_column(*dml, target.column, target.location));
      if (rules == nullptr || rules->columns[column].generated_text.empty()) continue;
      if (!generated.insert(target.column).second)
        return error("42601", absl::StrCat("multiple assignments to same column \"", target.column, "\""), -1);
    }
  }
  for (ColumnAssignment& assignment : dml->assignments) {  // of parts: when all of them are in place
    if (!assignment.is_part || rules == nullptr) continue;
    assignment.value->domain = 0;
    SCYPER_ASSIGN_OR_RETURN(assignment.value,
                            to_domain(std::move(assignment.value), rules->columns[assignment.column].domain));
  }
  return absl::OkStatus();
}

// (a, b) = (SELECT x, y ...): one subquery for each column, of the same rows.
Status Binder::bind_set_query(const ast::SetItem& item, const Scope* scope, BoundDml* dml) {
  const ast::SelectStatement& select = *node_as<ast::ScalarSubquery>(*item.source).subquery;
  for (size_t i = 0; i < item.targets.size(); i++) {
    SubqueryAt place(this, scope);
    SCYPER_ASSIGN_OR_RETURN(std::unique_ptr<BoundQuery> query, bind_select(select, scope));
    place.leave();
    if (query->visible_outputs() != item.targets.size())
      return error("42601", "number of columns does not match number of values", item.source->location);
    if (query->set != SetOp::kNone || query->distinct || !query->order.empty())
      return error("0A000", "set operations, DISTINCT and ORDER BY in SET (columns) = (SELECT ...) are not supported",
                   item.source->location);
    OutputColumn output = std::move(query->outputs[i]);
    query->outputs.clear();
    query->outputs.push_back(std::move(output));
    BoundPtr value = make_expr(BoundKind::kScalarSubquery, query->outputs[0].expr->type, true, item.source->location);
    value->query = std::move(query);
    SCYPER_RETURN_IF_ERROR(add_assignment(item.targets[i], std::move(value), scope, dml));
  }
  return absl::OkStatus();
}

// array[from:to]; a bound that is left out is the array's own.
StatusOr<BoundPtr> Binder::bind_slice(const ast::SubscriptIndex& index, BoundPtr array, const Scope* scope,
                                      int32_t location) {
  const SqlType integer = make_type(TypeId::kInt4);
  auto bound = [&](const ast::ExprPtr& expr, int64_t otherwise) -> StatusOr<BoundPtr> {
    if (expr == nullptr) return make_constant(integer, int_datum(otherwise), location);
    SCYPER_ASSIGN_OR_RETURN(BoundPtr value, bind(*expr, scope));
    return coerce(std::move(value), integer, Coercion::kAssignment);
  };
  std::vector<BoundPtr> args;
  args.push_back(std::move(array));
  SCYPER_ASSIGN_OR_RETURN(BoundPtr from, bound(index.lower, INT32_MIN));
  SCYPER_ASSIGN_OR_RETURN(BoundPtr to, bound(index.upper, INT32_MAX));
  args.push_back(std::move(from));
  args.push_back(std::move(to));
  return make_call(" slice", std::move(args), location);
}

// The type of a function's arrays' elements, and of the values beside them; false: they fit no one type.
bool Binder::find_element(const Builtin& builtin, const std::vector<BoundPtr>& args, SqlType* element) {
  for (size_t i = 0; i < args.size(); i++) {
    const bool is_array = builtin.parameters[i] == TypeId::kArray;
    if (is_array ? builtin.takes_dimensions : builtin.parameters[i] != TypeId::kUnknown) continue;
    const SqlType& type = args[i]->type;
    if (type.id == TypeId::kUnknown) continue;
    if (!is_array && type.id == TypeId::kArray) return false;
    const SqlType next = is_array ? element_of(type) : type;
    const bool fits = element->id == TypeId::kUnknown || without_modifiers(next) == without_modifiers(*element);
    if (!fits && !builtin.elements_meet) return false;
    if (!merge_types(next, element)) return false;
  }
  if (element->id == TypeId::kUnknown) *element = make_type(TypeId::kText);
  *element = type_beside_unknown(args, *element);
  return true;
}

Status Binder::match_array_elements(const Builtin& builtin, const SqlType& element, std::vector<BoundPtr>* args) {
  for (size_t i = 0; i < args->size(); i++) {
    const bool is_array = builtin.parameters[i] == TypeId::kArray;
    if (!is_array && builtin.parameters[i] != TypeId::kUnknown) continue;
    const SqlType dimensions = make_array(make_type(TypeId::kInt4));
    const SqlType target = !is_array ? element : builtin.takes_dimensions ? dimensions : make_array(element);
    SCYPER_ASSIGN_OR_RETURN((*args)[i], coerce(std::move((*args)[i]), target, Coercion::kImplicit));
  }
  return absl::OkStatus();
}

}  // namespace scyper::query
