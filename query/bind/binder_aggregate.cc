#include <algorithm>
#include <set>

#include "absl/strings/str_cat.h"
#include "bind/binder.h"
#include "bind/make.h"
#include "bind/unordered_types.h"
#include "plan/access_path.h"
#include "storage/json_text_type.h"
#include "types/ordered_bytes.h"

namespace scyper::query {

namespace {
void columns_of(const BoundExpr& expr, std::vector<uint32_t>* relations) {
  if (expr.kind == BoundKind::kColumn) relations->push_back(expr.relation);
  for (const auto& arg : expr.args) columns_of(*arg, relations);
}

// A sum in 128 bits has room for 10,000 values of fewer digits and of one sign; the others are summed at any length.
bool is_too_wide_to_sum(const SqlType& type) {
  constexpr uint8_t kSummedPrecision = 34;
  return type.id == TypeId::kNumeric && type.precision > kSummedPrecision;
}

SqlType sum_type(const SqlType& arg) {
  switch (arg.id) {
    case TypeId::kInt2:
    case TypeId::kInt4:
      return make_type(TypeId::kInt8);
    case TypeId::kInt8:
      return make_numeric(kMaxPrecision, 0);
    case TypeId::kFloat4:
    case TypeId::kFloat8:
      return arg;
    case TypeId::kNumeric:
      return arg.precision == 0 ? make_numeric(0, 0) : make_numeric(kMaxPrecision, arg.scale);
    default:
      return SqlType{};
  }
}
struct Name {
  std::string_view name;
  AggregateKind kind;
  size_t arity;
};
constexpr Name kNames[] = {
    {"count", AggregateKind::kCount, 1},
    {"sum", AggregateKind::kSum, 1},
    {"avg", AggregateKind::kAvg, 1},
    {"min", AggregateKind::kMin, 1},
    {"max", AggregateKind::kMax, 1},
    {"bool_and", AggregateKind::kBoolAnd, 1},
    {"every", AggregateKind::kBoolAnd, 1},
    {"bool_or", AggregateKind::kBoolOr, 1},
    {"string_agg", AggregateKind::kStringAgg, 2},
    {"jsonb_agg", AggregateKind::kArrayAgg, 1},  // of what it gives a document is made
    {"jsonb_object_agg", AggregateKind::kArrayAgg, 1},
    {"json_agg", AggregateKind::kArrayAgg, 1},
    {"json_object_agg", AggregateKind::kArrayAgg, 1},
    {"array_agg", AggregateKind::kArrayAgg, 1},
    {"bit_and", AggregateKind::kBitAnd, 1},
    {"bit_or", AggregateKind::kBitOr, 1},
    {"bit_xor", AggregateKind::kBitXor, 1},
    {"range_agg", AggregateKind::kRangeAgg, 1},
    {"range_intersect_agg", AggregateKind::kRangeIntersectAgg, 1},
    {"var_pop", AggregateKind::kVarPop, 1},
    {"var_samp", AggregateKind::kVarSamp, 1},
    {"variance", AggregateKind::kVarSamp, 1},
    {"stddev_pop", AggregateKind::kStddevPop, 1},
    {"stddev_samp", AggregateKind::kStddevSamp, 1},
    {"stddev", AggregateKind::kStddevSamp, 1},
    {"covar_pop", AggregateKind::kCovarPop, 2},
    {"covar_samp", AggregateKind::kCovarSamp, 2},
    {"corr", AggregateKind::kCorr, 2},
    {"regr_count", AggregateKind::kRegrCount, 2},
    {"regr_sxx", AggregateKind::kRegrSxx, 2},
    {"regr_syy", AggregateKind::kRegrSyy, 2},
    {"regr_sxy", AggregateKind::kRegrSxy, 2},
    {"regr_avgx", AggregateKind::kRegrAvgx, 2},
    {"regr_avgy", AggregateKind::kRegrAvgy, 2},
    {"regr_r2", AggregateKind::kRegrR2, 2},
    {"regr_slope", AggregateKind::kRegrSlope, 2},
    {"regr_intercept", AggregateKind::kRegrIntercept, 2},
    {"mode", AggregateKind::kMode, 0},
    {"percentile_cont", AggregateKind::kPercentileCont, 1},
    {"percentile_disc", AggregateKind::kPercentileDisc, 1},
    {"rank", AggregateKind::kHypotheticalRank, 0},
    {"dense_rank", AggregateKind::kHypotheticalDenseRank, 0},
    {"percent_rank", AggregateKind::kHypotheticalPercentRank, 0},
    {"cume_dist", AggregateKind::kHypotheticalCumeDist, 0},
};

const Name* find_name(std::string_view name) {
  const auto* found = std::find_if(std::begin(kNames), std::end(kNames), [&](const Name& n) { return n.name == name; });
  return found == std::end(kNames) ? nullptr : found;
}

bool is_ordered_set(AggregateKind kind) { return kind >= AggregateKind::kMode; }
bool is_two_dimensional(AggregateKind kind) {
  return kind >= AggregateKind::kCovarPop && kind <= AggregateKind::kRegrIntercept;
}

// PostgreSQL has min() and max() of few types of ordered bytes.
bool has_extremes(TypeId id) {
  return !is_ordered_bytes(id) || ordered_operand(id) == TypeId::kInet || id == TypeId::kMoney || id == TypeId::kTimetz;
}

// The type of the result; unknown where there is no such function. May change the kind (sums of intervals).
SqlType result_of(AggregateKind* kind, const SqlType& arg) {
  switch (*kind) {
    case AggregateKind::kCountStar:
    case AggregateKind::kCount:
    case AggregateKind::kRegrCount:
      return make_type(TypeId::kInt8);
    case AggregateKind::kSum:
      if (arg.id == TypeId::kInterval) return *kind = AggregateKind::kSumInterval, arg;
      return sum_type(arg);
    case AggregateKind::kAvg:
      if (arg.id == TypeId::kInterval) return *kind = AggregateKind::kAvgInterval, arg;
      if (is_float(arg.id)) return make_type(TypeId::kFloat8);
      return is_number(arg.id) ? make_numeric(0, 0) : SqlType{};
    case AggregateKind::kMin:
    case AggregateKind::kMax:
      if (arg.id == TypeId::kBool || arg.id == TypeId::kUuid || arg.id == TypeId::kBytea || arg.id == TypeId::kJsonb ||
          is_checked_text(arg) || !has_extremes(arg.id))
        return SqlType{};
      if (is_ordered_bytes(arg.id)) return make_type(ordered_operand(arg.id));
      return arg.id == TypeId::kVarchar ? make_type(TypeId::kText) : arg;
    case AggregateKind::kBoolAnd:
    case AggregateKind::kBoolOr:
      return arg.id == TypeId::kBool ? arg : SqlType{};
    case AggregateKind::kStringAgg:
      return is_string(arg.id) ? make_type(TypeId::kText) : arg.id == TypeId::kBytea ? arg : SqlType{};
    case AggregateKind::kArrayAgg:
      return arg.id != TypeId::kArray ? make_array(arg) : SqlType{};
    case AggregateKind::kBitAnd:
    case AggregateKind::kBitOr:
    case AggregateKind::kBitXor:
      return is_integer(arg.id) ? arg : SqlType{};
    case AggregateKind::kRangeAgg:
    case AggregateKind::kRangeIntersectAgg:
      return SqlType{};
    case AggregateKind::kVarPop:
    case AggregateKind::kVarSamp:
    case AggregateKind::kStddevPop:
    case AggregateKind::kStddevSamp:
      if (is_float(arg.id)) return make_type(TypeId::kFloat8);
      return is_number(arg.id) ? make_numeric(0, 0) : SqlType{};
    case AggregateKind::kHypotheticalRank:
    case AggregateKind::kHypotheticalDenseRank:
      return make_type(TypeId::kInt8);
    case AggregateKind::kHypotheticalPercentRank:
    case AggregateKind::kHypotheticalCumeDist:
      return make_type(TypeId::kFloat8);
    case AggregateKind::kMode:
    case AggregateKind::kPercentileDisc:
      return arg.id == TypeId::kVarchar ? make_type(TypeId::kText) : arg;
    case AggregateKind::kPercentileCont:
      return arg.id == TypeId::kInterval ? arg : is_number(arg.id) ? make_type(TypeId::kFloat8) : SqlType{};
    default:
      return is_number(arg.id) ? make_type(TypeId::kFloat8) : SqlType{};
  }
}
}  // namespace

namespace {
// Aggregates that collect values and make one document of them.
bool makes_json(const ast::FunctionCall& call) {  // a text
  return call.name.back() == "json_agg" || call.name.back() == "json_object_agg";
}
bool makes_document(const ast::FunctionCall& call) {
  return makes_json(call) || call.name.back() == "jsonb_agg" || call.name.back() == "jsonb_object_agg";
}
bool is_row_document(const BoundExpr& e) {
  return is_json_text(e.type) && e.builtin != nullptr &&
         (e.builtin->name.starts_with(" json_row") || e.builtin->name == " array_json");
}
}  // namespace

// An aggregate belongs to the innermost query whose columns it is over, or to its own one.
StatusOr<BoundQuery*> Binder::query_of(const Aggregate& aggregate, const Scope* scope, int32_t location) {
  std::set<uint32_t> used;
  for (const auto& arg : aggregate.args) collect_relations(*arg, &used);
  if (aggregate.filter != nullptr) collect_relations(*aggregate.filter, &used);
  auto is_over = [&](const Scope& level) {
    return std::any_of(level.relations.begin(), level.relations.end(),
                       [&](const Relation* relation) { return used.count(relation->id) != 0; });
  };
  const Scope* level = scope;
  while (level != nullptr && !is_over(*level)) level = level->parent;
  AggregatePlace place{aggregate_query_, aggregate_clause_, false};
  // VALUES have no scope of their own
  auto around = level == nullptr ? aggregate_places_.end() : aggregate_places_.find(level);
  if (around != aggregate_places_.end() && around->second != nullptr)
    place = *around->second;
  else if (level != nullptr && level != scope)
    return error("42803", "aggregate functions are not allowed in FROM clause of their own query level", location);
  if (place.in_aggregate) return error("42803", "aggregate function calls cannot be nested", location);
  if (place.query != nullptr) return place.query;
  return error("42803",
               absl::StrCat("aggregate functions are not allowed in ",
                            place.clause.empty() ? "this context" : std::string(place.clause)),
               location);
}

// A literal without a type: what the aggregate's only candidate takes, or the preferred one of those of one category.
StatusOr<BoundPtr> Binder::resolve_unknown(BoundPtr literal, const Aggregate& aggregate,
                                           const ast::FunctionCall& call) {
  const bool is_argument = aggregate.args.size() < call.args.size();
  TypeId type = TypeId::kText;
  switch (aggregate.kind) {
    case AggregateKind::kStringAgg:
      if (!aggregate.args.empty() && aggregate.args[0]->type.id == TypeId::kBytea) type = TypeId::kBytea;
      break;
    case AggregateKind::kBoolAnd:
    case AggregateKind::kBoolOr:
      if (is_argument) type = TypeId::kBool;
      break;
    case AggregateKind::kSum:
    case AggregateKind::kAvg:
    case AggregateKind::kBitAnd:
    case AggregateKind::kBitOr:
    case AggregateKind::kBitXor:
    case AggregateKind::kArrayAgg:
      if (!is_argument || call.name.back().ends_with("_object_agg")) break;
      return with_hint(
          error("42725", absl::StrCat("function ", call.name.back(), "(unknown) is not unique"), call.location),
          "Could not choose a best candidate function. You might need to add explicit type casts.");
    default:
      if (aggregate.kind >= AggregateKind::kVarPop && aggregate.kind <= AggregateKind::kRegrIntercept)
        type = TypeId::kFloat8;
  }
  return coerce(std::move(literal), make_type(type), Coercion::kImplicit);
}

// Arguments, FILTER and ORDER BY. An ordered-set aggregate's first argument is what its rows are ordered by, its direct
// argument comes second.
Status Binder::bind_aggregate_input(const ast::FunctionCall& call, const Scope* scope, Aggregate* aggregate) {
  auto bind_one = [&](const ast::Expr& expr) -> StatusOr<BoundPtr> {
    SCYPER_ASSIGN_OR_RETURN(BoundPtr bound, bind(expr, scope));
    if (bound->kind == BoundKind::kRow && makes_document(call))
      return row_json(std::move(bound), makes_json(call) ? " json_row" : "jsonb_build_object");
    const bool is_counted = call.name.back() == "count" && bound->kind == BoundKind::kRow;
    if (is_counted && call.distinct) return row_key(std::move(bound));
    if (is_counted) return row_text(std::move(bound));  // what is NULL as a whole does not count
    return bound->type.id == TypeId::kUnknown ? resolve_unknown(std::move(bound), *aggregate, call) : std::move(bound);
  };
  for (const auto& arg : call.args) {
    SCYPER_ASSIGN_OR_RETURN(BoundPtr bound, call.within_group ? bind(*arg, scope) : bind_one(*arg));
    aggregate->args.push_back(std::move(bound));
    BoundPtr& last = aggregate->args.back();
    if (last->type.id != TypeId::kArray || !makes_document(call) || call.args.size() != 1) continue;
    std::vector<BoundPtr> array;  // arrays of arrays are not there
    array.push_back(std::move(last));
    SCYPER_ASSIGN_OR_RETURN(last,
                            make_call(makes_json(call) ? " array_json" : "to_jsonb", std::move(array), call.location));
  }
  const bool makes_object = call.name.back() == "jsonb_object_agg" || call.name.back() == "json_object_agg";
  if (makes_object && aggregate->args.size() == 2) {
    SCYPER_ASSIGN_OR_RETURN(BoundPtr pair, make_call(makes_json(call) ? " json_pair" : " jsonb_pair",
                                                     std::move(aggregate->args), call.location));
    aggregate->args.clear();
    aggregate->args.push_back(std::move(pair));
  } else if (makes_object) {
    return error("42883", absl::StrCat(call.name.back(), " takes a key and a value"), call.location);
  }
  aggregate->arity = aggregate->args.size();
  for (const BoundPtr& arg : aggregate->args)
    if (aggregate->distinct && !makes_document(call) && is_checked_text(arg->type))
      return error("42883", lacks_equality(arg->type), arg->location);
  for (const auto& item : call.order_by) {
    if (item.direction == ast::SortDirection::kUsing)
      return error("0A000", "ORDER BY USING is not supported", item.location);
    SCYPER_ASSIGN_OR_RETURN(BoundPtr bound, bind_one(*item.expr));
    OrderItem order;
    order.descending = item.direction == ast::SortDirection::kDescending;
    order.nulls_first =
        item.nulls == ast::NullsOrder::kDefault ? order.descending : item.nulls == ast::NullsOrder::kFirst;
    auto known = std::find_if(aggregate->args.begin(), aggregate->args.end(),
                              [&](const BoundPtr& arg) { return same(*arg, *bound); });
    order.output = static_cast<uint32_t>(known - aggregate->args.begin());
    if (known == aggregate->args.end() || call.within_group) {
      if (aggregate->distinct)
        return error("42P10", "in an aggregate with DISTINCT, ORDER BY expressions must appear in argument list",
                     item.expr->location);
      order.output = static_cast<uint32_t>(aggregate->args.size());
      aggregate->args.push_back(std::move(bound));
    }
    aggregate->order.push_back(order);
  }
  if (call.filter != nullptr) {
    SCYPER_ASSIGN_OR_RETURN(aggregate->filter, bind_condition(*call.filter, scope, "FILTER"));
  }
  return absl::OkStatus();
}

bool Binder::is_aggregate(std::string_view name) { return find_name(name) != nullptr; }

// rank(a, b) WITHIN GROUP (ORDER BY x, y): x, y, then what they are compared with, in common types.
Status Binder::arrange_hypothetical(Aggregate* aggregate, size_t direct, int32_t /*location*/) {
  size_t keys = aggregate->order.size();
  std::rotate(aggregate->args.begin(), aggregate->args.begin() + static_cast<ptrdiff_t>(direct), aggregate->args.end());
  aggregate->arity = aggregate->args.size();
  for (size_t i = 0; i < keys; i++) {
    aggregate->order[i].output = static_cast<uint32_t>(i);
    std::vector<BoundPtr> both;
    both.push_back(std::move(aggregate->args[i]));
    both.push_back(std::move(aggregate->args[keys + i]));
    SCYPER_ASSIGN_OR_RETURN(SqlType type, common_type(both, "WITHIN GROUP"));
    SCYPER_ASSIGN_OR_RETURN(aggregate->args[i], coerce(std::move(both[0]), type, Coercion::kImplicit));
    SCYPER_ASSIGN_OR_RETURN(aggregate->args[keys + i], coerce(std::move(both[1]), type, Coercion::kImplicit));
  }
  return absl::OkStatus();
}

// The fraction may be computed from constants, parameters and variables only: it is one for all groups.
Status Binder::arrange_ordered_set(Aggregate* aggregate, int32_t location) {
  bool has_fraction = aggregate->kind != AggregateKind::kMode;
  if (aggregate->order.size() != 1)
    return error("42883", "an ordered-set aggregate is ordered by one expression", location);
  std::rotate(aggregate->args.begin(), aggregate->args.end() - 1, aggregate->args.end());
  aggregate->order[0].output = 0;
  aggregate->arity = aggregate->args.size();
  BoundPtr& value = aggregate->args[0];
  if (aggregate->kind == AggregateKind::kPercentileCont && is_number(value->type.id)) {
    SCYPER_ASSIGN_OR_RETURN(value, coerce(std::move(value), make_type(TypeId::kFloat8), Coercion::kImplicit));
  }
  if (!has_fraction) return absl::OkStatus();
  BoundPtr& fraction = aggregate->args[1];
  std::vector<uint32_t> used;
  columns_of(*fraction, &used);
  if (!used.empty()) return error("0A000", "a fraction that depends on columns is not supported", location);
  SqlType wanted = make_type(TypeId::kFloat8);
  if (fraction->type.id == TypeId::kArray) wanted = make_array(wanted);
  SCYPER_ASSIGN_OR_RETURN(fraction, coerce(std::move(fraction), wanted, Coercion::kImplicit));
  return absl::OkStatus();
}

StatusOr<BoundPtr> Binder::bind_aggregate(const ast::FunctionCall& call, const Scope* scope) {
  if (in_aggregate_) return error("42803", "aggregate function calls cannot be nested", call.location);
  in_aggregate_ = true;
  StatusOr<Aggregate> aggregate = make_aggregate(call, scope);
  in_aggregate_ = false;
  SCYPER_RETURN_IF_ERROR(aggregate.status());
  SCYPER_ASSIGN_OR_RETURN(BoundQuery* const query, query_of(*aggregate, scope, call.location));
  const bool is_json = !aggregate->args.empty() && is_json_text(aggregate->args[0]->type);
  const bool has_lines = is_json && is_row_document(*aggregate->args[0]);
  const std::string_view finisher = finisher_of(*aggregate);
  BoundPtr result = add_aggregate(*std::move(aggregate), query, call.location);
  if (!makes_document(call)) return finish_aggregate(finisher, std::move(result), call.location);
  std::vector<BoundPtr> args;
  args.push_back(std::move(result));
  if (call.name.back() == "json_object_agg") return make_call(" json_of_pairs", std::move(args), call.location);
  if (makes_json(call)) {
    for (const bool flag : {is_json, has_lines})
      args.push_back(make_constant(make_type(TypeId::kBool), int_datum(flag ? 1 : 0), call.location));
    return make_call(" json_agg", std::move(args), call.location);
  }
  return make_call(call.name.back() == "jsonb_agg" ? "to_jsonb" : " jsonb_of_pairs", std::move(args), call.location);
}

namespace {
// Aggregates of ordered bytes are made of others: a function marks what is aggregated, another makes the result of the
// other aggregate's.
struct MadeAggregate {
  AggregateKind kind;
  TypeId type;
  std::string_view marker, finisher;
  AggregateKind made_of;
};
constexpr MadeAggregate kMadeAggregates[] = {
    {AggregateKind::kSum, TypeId::kMoney, " sum of", " sum", AggregateKind::kSum},
    {AggregateKind::kBitAnd, TypeId::kBit, " bit_and of", " bit_and", AggregateKind::kArrayAgg},
    {AggregateKind::kBitOr, TypeId::kBit, " bit_or of", " bit_or", AggregateKind::kArrayAgg},
    {AggregateKind::kBitXor, TypeId::kBit, " bit_xor of", " bit_xor", AggregateKind::kArrayAgg},
    // of all ranges and multiranges
    {AggregateKind::kRangeAgg, TypeId::kUnknown, " range_agg of", " range_agg", AggregateKind::kArrayAgg},
    {AggregateKind::kRangeIntersectAgg, TypeId::kUnknown, " range_intersect_agg of", " range_intersect_agg",
     AggregateKind::kArrayAgg},
};
}  // namespace

Status Binder::aggregate_ordered_bytes(Aggregate* aggregate, int32_t location) {
  if (aggregate->args.empty()) return absl::OkStatus();
  const TypeId given = aggregate->args[0]->type.id, type = is_range(given) || is_multirange(given) ? TypeId::kUnknown
                                                           : given == TypeId::kVarbit              ? TypeId::kBit
                                                                                                   : given;
  for (const MadeAggregate& made : kMadeAggregates) {
    if (made.kind != aggregate->kind || made.type != type) continue;
    std::vector<BoundPtr> args;
    args.push_back(std::move(aggregate->args[0]));
    SCYPER_ASSIGN_OR_RETURN(aggregate->args[0], make_call(made.marker, std::move(args), location));
    aggregate->kind = made.made_of;
  }
  return absl::OkStatus();
}

std::string_view Binder::finisher_of(const Aggregate& aggregate) {
  if (aggregate.args.empty() || aggregate.args[0]->kind != BoundKind::kBuiltin) return {};
  for (const MadeAggregate& made : kMadeAggregates)
    if (aggregate.args[0]->builtin->name == made.marker) return made.finisher;
  return {};
}

StatusOr<BoundPtr> Binder::finish_aggregate(std::string_view finisher, BoundPtr result, int32_t location) {
  if (finisher.empty()) return result;
  std::vector<BoundPtr> args;
  args.push_back(std::move(result));
  return make_call(finisher, std::move(args), location);
}

// Of an aggregation or over a window.
StatusOr<Aggregate> Binder::make_aggregate(const ast::FunctionCall& call, const Scope* scope) {
  const Name& name = *find_name(call.name.back());
  Aggregate aggregate;
  aggregate.kind = name.kind;
  aggregate.distinct = call.distinct;
  SCYPER_RETURN_IF_ERROR(bind_aggregate_input(call, scope, &aggregate));
  std::string types;
  for (size_t i = 0; i < (call.within_group ? aggregate.args.size() : aggregate.arity); i++)
    absl::StrAppend(&types, i > 0 ? ", " : "", type_name(plain_type(aggregate.args[i]->type)));
  auto wrong = [&] {
    return with_hint(
        error("42883", absl::StrCat("function ", std::string(name.name), "(", types, ") does not exist"),
              call.location),
        "No function matches the given name and argument types. You might need to add explicit type casts.");
  };
  if (makes_document(call) && call.over != nullptr)
    return error("0A000", absl::StrCat(std::string(name.name), " over a window is not supported"), call.location);
  if (is_ordered_set(name.kind) && call.over != nullptr)
    return error("0A000", absl::StrCat("OVER is not supported for ordered-set aggregate ", std::string(name.name)),
                 call.location);
  if (is_ordered_set(name.kind) != call.within_group) return wrong();
  if (name.kind == AggregateKind::kCount) {
    if (!call.star && aggregate.arity == 0)
      return error("42809", "count(*) must be used to call a parameterless aggregate function", call.location);
    if (call.star != (aggregate.arity == 0)) return wrong();
    if (call.star) aggregate.kind = AggregateKind::kCountStar;
  }
  if (is_hypothetical(name.kind)) {
    if (aggregate.arity != aggregate.order.size()) return wrong();
    SCYPER_RETURN_IF_ERROR(arrange_hypothetical(&aggregate, aggregate.arity, call.location));
    aggregate.type = result_of(&aggregate.kind, SqlType{});
    return aggregate;
  }
  if (aggregate.kind != AggregateKind::kCountStar && aggregate.arity != name.arity) return wrong();
  if (is_ordered_set(name.kind)) SCYPER_RETURN_IF_ERROR(arrange_ordered_set(&aggregate, call.location));
  if (name.kind == AggregateKind::kStringAgg || is_two_dimensional(name.kind)) {
    bool of_bytes = aggregate.args[0]->type.id == TypeId::kBytea;
    SqlType wanted = make_type(name.kind != AggregateKind::kStringAgg ? TypeId::kFloat8
                               : of_bytes                             ? TypeId::kBytea
                                                                      : TypeId::kText);
    for (size_t i = 0; i < 2; i++) {
      TypeId given = aggregate.args[i]->type.id;
      bool fits = is_string(wanted.id) ? is_string(given)
                  : of_bytes           ? given == TypeId::kBytea || given == TypeId::kUnknown
                                       : is_number(given);
      if (!fits) return wrong();
      SCYPER_ASSIGN_OR_RETURN(aggregate.args[i], coerce(std::move(aggregate.args[i]), wanted, Coercion::kImplicit));
    }
  }
  const bool sums = aggregate.kind == AggregateKind::kSum || aggregate.kind == AggregateKind::kAvg;
  if (sums && is_too_wide_to_sum(aggregate.args[0]->type)) {
    SCYPER_ASSIGN_OR_RETURN(aggregate.args[0],
                            coerce(std::move(aggregate.args[0]), make_numeric(0, 0), Coercion::kImplicit));
  }
  SCYPER_RETURN_IF_ERROR(aggregate_ordered_bytes(&aggregate, call.location));
  aggregate.type = result_of(&aggregate.kind, aggregate.args.empty() ? SqlType{} : aggregate.args[0]->type);
  if (aggregate.type.id == TypeId::kUnknown) return wrong();
  bool several = is_ordered_set(name.kind) && aggregate.args.size() > 1 && aggregate.args[1]->type.id == TypeId::kArray;
  if (several) aggregate.type = make_array(aggregate.type);
  return aggregate;
}

// Equal aggregates of a query are computed once.
BoundPtr Binder::add_aggregate(Aggregate aggregate, BoundQuery* query, int32_t location) {
  bool never_null = aggregate.kind == AggregateKind::kCountStar || aggregate.kind == AggregateKind::kCount ||
                    aggregate.kind == AggregateKind::kRegrCount || is_hypothetical(aggregate.kind);
  BoundPtr result = make_expr(BoundKind::kAggregate, aggregate.type, !never_null, location);
  query->aggregated = true;
  result->relation = query->id;
  auto& aggregates = query->aggregates;
  auto known = std::find_if(aggregates.begin(), aggregates.end(),
                            [&](const Aggregate& other) { return same_aggregate(other, aggregate); });
  result->index = static_cast<uint32_t>(known - aggregates.begin());
  if (known == aggregates.end()) aggregates.push_back(std::move(aggregate));
  return result;
}

}  // namespace scyper::query
