#include <algorithm>
#include <charconv>
#include <iterator>

#include "base/object_name.h"
#include "parse/printer.h"
#include "parse/sql_parser.h"
#include "parse/text.h"
//
#include "parse/converter.h"

namespace scyper::query {

namespace {

bool is_system_name(const ast::Name& name, std::string_view part) {
  return name.size() == 2 && name[0] == "pg_catalog" && name[1] == part;
}

ast::ExprPtr number(std::string text) {
  auto out = std::make_unique<ast::Literal>();
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), out->int_value);
  if (error == std::errc() && end == text.data() + text.size()) {
    out->type = ast::LiteralType::kInteger;
  } else {
    out->int_value = 0;
    out->type = ast::LiteralType::kDecimal;
    out->text = std::move(text);
  }
  return out;
}

}  // namespace

Converter::Level::Level(Converter& converter) : converter_(converter) {
  if (++converter_.depth_ > kMaxDepth) converter_.fail("54001", "stack depth limit exceeded", -1);
}

void Converter::fail(std::string_view sqlstate, std::string_view message, int raw_location) {
  if (failed_) return;
  failed_ = true;
  sqlstate_ = sqlstate;
  message_ = message;
  raw_location_ = raw_location;
}

void Converter::refuse(std::string_view what, int raw_location) {
  fail("0A000", std::string(what) + " is not supported", raw_location);
}

ast::Name name_of(const List* list) {
  ast::Name name;
  for (const Node* part : items(list)) {
    if (nodeTag(part) == T_String) name.emplace_back(strVal(part));
  }
  return name;
}

ast::ExprPtr Converter::expr(const void* node) {
  if (node == nullptr || failed_) return nullptr;
  const Level level(*this);
  if (failed_) return nullptr;
  return expr_by_tag(static_cast<const Node*>(node));
}

std::vector<ast::ExprPtr> Converter::exprs(const List* list) {
  std::vector<ast::ExprPtr> out;
  out.reserve(static_cast<size_t>(length_of(list)));
  for (const Node* node : items(list)) {
    out.push_back(expr(node));
    if (failed_) break;
  }
  return out;
}

ast::ExprPtr Converter::expr_by_tag(const Node* node) {
  switch (nodeTag(node)) {
    case T_A_Const:
      return constant(to<A_Const>(node));
    case T_ColumnRef:
      return column_ref(to<::ColumnRef>(node));
    case T_A_Expr:
      return operation(to<A_Expr>(node));
    case T_FuncCall:
      return function_call(to<FuncCall>(node));
    case T_TypeCast:
      return cast(to<TypeCast>(node));
    case T_BoolExpr:
      return bool_expr(to<BoolExpr>(node));
    case T_A_Indirection:
      return indirection(to<A_Indirection>(node));
    case T_SubLink:
      return sub_link(to<SubLink>(node));
    case T_NullTest:
      return null_test(to<::NullTest>(node));
    case T_BooleanTest:
      return boolean_test(to<::BooleanTest>(node));
    case T_CaseExpr:
      return case_expr(to<CaseExpr>(node));
    case T_RowExpr:
      return row(to<RowExpr>(node));
    case T_MinMaxExpr:
      return min_max(to<MinMaxExpr>(node));
    case T_SQLValueFunction:
      return value_function(to<SQLValueFunction>(node));
    case T_GroupingSet:
      return grouping_set(to<::GroupingSet>(node));
    default:
      return small_expr(node);
  }
}

// Nodes with hardly more than a list of arguments.
ast::ExprPtr Converter::small_expr(const Node* node) {
  switch (nodeTag(node)) {
    case T_ParamRef: {
      auto out = std::make_unique<ast::Parameter>();
      out->number = to<ParamRef>(node).number;
      out->location = at(to<ParamRef>(node).location);
      return out;
    }
    case T_A_ArrayExpr: {
      auto out = std::make_unique<ast::ArrayConstructor>();
      out->location = at(to<A_ArrayExpr>(node).location);
      out->elements = exprs(to<A_ArrayExpr>(node).elements);
      return out;
    }
    case T_CoalesceExpr: {
      auto out = std::make_unique<ast::Coalesce>();
      out->location = at(to<CoalesceExpr>(node).location);
      out->args = exprs(to<CoalesceExpr>(node).args);
      return out;
    }
    case T_CollateClause: {
      auto out = std::make_unique<ast::Collate>();
      out->location = at(to<CollateClause>(node).location);
      out->arg = expr(to<CollateClause>(node).arg);
      out->collation = name_of(to<CollateClause>(node).collname);
      return out;
    }
    case T_GroupingFunc: {
      auto out = std::make_unique<ast::GroupingCall>();
      out->location = at(to<GroupingFunc>(node).location);
      out->args = exprs(to<GroupingFunc>(node).args);
      return out;
    }
    case T_SetToDefault: {
      auto out = std::make_unique<ast::DefaultMarker>();
      out->location = at(to<SetToDefault>(node).location);
      return out;
    }
    case T_CurrentOfExpr: {
      auto out = std::make_unique<ast::CurrentOf>();
      out->cursor = text_of(to<CurrentOfExpr>(node).cursor_name);
      return out;
    }
    case T_XmlExpr:
      refuse("XML", to<XmlExpr>(node).location);
      return nullptr;
    case T_XmlSerialize:
      refuse("XMLSERIALIZE", to<XmlSerialize>(node).location);
      return nullptr;
    case T_NamedArgExpr:
      fail("42601", "named argument outside of a call", to<NamedArgExpr>(node).location);
      return nullptr;
    default:
      refuse("this kind of expression", -1);
      return nullptr;
  }
}

ast::ExprPtr Converter::constant(const A_Const& node) {
  ast::ExprPtr out;
  auto literal = std::make_unique<ast::Literal>();
  if (!node.isnull) {
    switch (nodeTag(&node.val.node)) {
      case T_Integer:
        literal->type = ast::LiteralType::kInteger;
        literal->int_value = node.val.ival.ival;
        break;
      case T_Float:
        out = number(node.val.fval.fval);
        break;
      case T_Boolean:
        literal->type = ast::LiteralType::kBool;
        literal->bool_value = node.val.boolval.boolval;
        break;
      case T_String:
        literal->type = ast::LiteralType::kString;
        literal->text = node.val.sval.sval;
        if (const Status valid = check_utf8(literal->text); !valid.ok()) {  // E'\xff'
          fail("22021", std::string_view(valid.message().data(), valid.message().size()), node.location);
        }
        break;
      case T_BitString:
        literal->type = ast::LiteralType::kBits;
        literal->text = node.val.bsval.bsval;
        break;
      default:
        refuse("this kind of constant", node.location);
    }
  }
  if (out == nullptr) out = std::move(literal);
  out->location = at(node.location);
  return out;
}

ast::ExprPtr Converter::column_ref(const ::ColumnRef& node) {
  auto out = std::make_unique<ast::ColumnRef>();
  out->location = at(node.location);
  out->name = name_of(node.fields);
  out->star = static_cast<int>(out->name.size()) != length_of(node.fields);
  return out;
}

ast::SubscriptIndex Converter::subscript(const A_Indices& node) {
  ast::SubscriptIndex out;
  out.slice = node.is_slice;
  out.lower = expr(node.lidx);
  out.upper = expr(node.uidx);
  return out;
}

// (x).f[1][2].g: runs of brackets become one Subscript. Each step is one level deeper in our tree.
ast::ExprPtr Converter::indirection(const A_Indirection& node) {
  const int steps = length_of(node.indirection);
  depth_ += steps;
  if (depth_ > kMaxDepth) fail("54001", "stack depth limit exceeded", -1);
  ast::ExprPtr out = expr(node.arg);
  if (!failed_) out = indirection_steps(std::move(out), node.indirection);
  depth_ -= steps;
  return out;
}

ast::ExprPtr Converter::indirection_steps(ast::ExprPtr out, const List* steps) {
  ast::Subscript* open = nullptr;  // the Subscript that takes the next bracket
  for (const Node* step : items(steps)) {
    const ast::Location location = out->location;
    if (nodeTag(step) == T_A_Indices) {
      if (open == nullptr) {
        auto subscripted = std::make_unique<ast::Subscript>();
        subscripted->arg = std::move(out);
        open = subscripted.get();
        out = std::move(subscripted);
      }
      open->indexes.push_back(subscript(to<A_Indices>(step)));
    } else {
      auto field = std::make_unique<ast::FieldSelect>();
      field->arg = std::move(out);
      field->star = nodeTag(step) == T_A_Star;
      if (!field->star) field->field = string_of(step);
      open = nullptr;
      out = std::move(field);
    }
    out->location = location;
  }
  return out;
}

ast::ExprPtr Converter::cast(const TypeCast& node) {
  // TRUE and FALSE arrive as a cast that nobody wrote
  if (nodeTag(node.arg) == T_A_Const && !to<A_Const>(node.arg).isnull &&
      nodeTag(&to<A_Const>(node.arg).val.node) == T_Boolean && is_system_name(name_of(node.typeName->names), "bool")) {
    return constant(to<A_Const>(node.arg));
  }
  auto out = std::make_unique<ast::Cast>();
  out->location = at(node.location);
  out->arg = expr(node.arg);
  out->type = type_name(node.typeName);
  return out;
}

ast::TypeName Converter::type_name(const ::TypeName* type) {
  ast::TypeName out;
  if (type == nullptr) return out;
  out.location = at(type->location);
  out.name = type->pct_type ? column_key(name_of(type->names)) : name_key(NameKind::kType, name_of(type->names));
  out.modifiers = exprs(type->typmods);
  for (const Node* bound : items(type->arrayBounds)) out.array_bounds.push_back(intVal(bound));
  out.setof = type->setof;
  out.percent_type = type->pct_type;
  return out;
}

namespace {
// Functions of json that are those of jsonb but for their documents.
constexpr std::string_view kJsonFunctions[] = {"json_populate_record", "json_populate_recordset", "json_to_record",
                                               "json_to_recordset"};

void call_for_jsonb(ast::FunctionCall* call) {
  const auto* found = std::find(std::begin(kJsonFunctions), std::end(kJsonFunctions), call->name.back());
  if (found == std::end(kJsonFunctions)) return;
  if (call->name.size() > 1 && call->name[0] == kPublicSchema) return;  // the user's
  call->name = {"jsonb" + std::string(found->substr(4))};
  call->is_of_json = true;
}
}  // namespace

ast::ExprPtr Converter::function_call(const FuncCall& node) {
  auto out = std::make_unique<ast::FunctionCall>();
  out->location = at(node.location);
  ast::Name name = name_of(node.funcname);
  if (whose_ == TextOf::kUser && name.back().starts_with(' '))
    fail("42883", "function " + quote_identifier(name.back()) + " does not exist", node.location);
  out->name = name_key(NameKind::kCall, std::move(name));
  bool named = false;
  for (const Node* arg : items(node.args)) {
    const bool has_name = nodeTag(arg) == T_NamedArgExpr;
    if (has_name && !named) out->arg_names.resize(out->args.size());
    named = named || has_name;
    if (named) out->arg_names.push_back(has_name ? text_of(to<NamedArgExpr>(arg).name) : std::string());
    out->args.push_back(expr(has_name ? static_cast<const void*>(to<NamedArgExpr>(arg).arg) : arg));
    if (failed_) return nullptr;
  }
  out->star = node.agg_star;
  out->distinct = node.agg_distinct;
  out->variadic = node.func_variadic;
  out->sql_syntax = node.funcformat == COERCE_SQL_SYNTAX;
  out->within_group = node.agg_within_group;
  out->order_by = sort_items(node.agg_order);
  out->filter = expr(node.agg_filter);
  if (node.over != nullptr) out->over = std::make_unique<ast::WindowDefinition>(window(*node.over));
  call_for_jsonb(out.get());
  return out;
}

ast::ExprPtr Converter::bool_expr(const BoolExpr& node) {
  if (node.boolop == NOT_EXPR) {
    ast::ExprPtr arg = expr(node_at(node.args, 0));
    if (failed_) return nullptr;
    if (arg->kind == ast::ExprKind::kInSubquery && !static_cast<ast::InSubquery&>(*arg).negated) {
      static_cast<ast::InSubquery&>(*arg).negated = true;  // the grammar's NOT IN
      return arg;
    }
    auto out = std::make_unique<ast::Not>();
    out->location = at(node.location);
    out->arg = std::move(arg);
    return out;
  }
  auto out = std::make_unique<ast::Logical>();
  out->location = at(node.location);
  out->op = node.boolop == AND_EXPR ? ast::LogicalOp::kAnd : ast::LogicalOp::kOr;
  out->args = exprs(node.args);
  return out;
}

ast::ExprPtr Converter::null_test(const ::NullTest& node) {
  auto out = std::make_unique<ast::NullTest>();
  out->location = at(node.location);
  out->arg = expr(node.arg);
  out->negated = node.nulltesttype == IS_NOT_NULL;
  return out;
}

ast::ExprPtr Converter::boolean_test(const ::BooleanTest& node) {
  auto out = std::make_unique<ast::BooleanTest>();
  out->location = at(node.location);
  out->arg = expr(node.arg);
  const BoolTestType test = node.booltesttype;
  out->value = test == IS_TRUE || test == IS_NOT_TRUE     ? ast::TruthValue::kTrue
               : test == IS_FALSE || test == IS_NOT_FALSE ? ast::TruthValue::kFalse
                                                          : ast::TruthValue::kUnknown;
  out->negated = test == IS_NOT_TRUE || test == IS_NOT_FALSE || test == IS_NOT_UNKNOWN;
  return out;
}

ast::ExprPtr Converter::case_expr(const CaseExpr& node) {
  auto out = std::make_unique<ast::Case>();
  out->location = at(node.location);
  out->arg = expr(node.arg);
  for (const Node* item : items(node.args)) {
    const auto& when = to<::CaseWhen>(item);
    out->whens.push_back(ast::CaseWhen{expr(when.expr), expr(when.result), at(when.location)});
    if (failed_) return nullptr;
  }
  out->otherwise = expr(node.defresult);
  return out;
}

ast::ExprPtr Converter::row(const RowExpr& node) {
  auto out = std::make_unique<ast::RowConstructor>();
  out->location = at(node.location);
  out->fields = exprs(node.args);
  out->row_keyword = node.row_format == COERCE_EXPLICIT_CALL;
  return out;
}

ast::ExprPtr Converter::min_max(const MinMaxExpr& node) {
  auto out = std::make_unique<ast::MinMax>();
  out->location = at(node.location);
  out->greatest = node.op == IS_GREATEST;
  out->args = exprs(node.args);
  return out;
}

ast::ExprPtr Converter::value_function(const SQLValueFunction& node) {
  auto out = std::make_unique<ast::ValueFunction>();
  out->location = at(node.location);
  out->precision = node.typmod;
  using Op = ast::ValueFunctionOp;
  switch (node.op) {
    case SVFOP_CURRENT_DATE:
      out->op = Op::kCurrentDate;
      break;
    case SVFOP_CURRENT_TIME:
    case SVFOP_CURRENT_TIME_N:
      out->op = Op::kCurrentTime;
      break;
    case SVFOP_CURRENT_TIMESTAMP:
    case SVFOP_CURRENT_TIMESTAMP_N:
      out->op = Op::kCurrentTimestamp;
      break;
    case SVFOP_LOCALTIME:
    case SVFOP_LOCALTIME_N:
      out->op = Op::kLocalTime;
      break;
    case SVFOP_LOCALTIMESTAMP:
    case SVFOP_LOCALTIMESTAMP_N:
      out->op = Op::kLocalTimestamp;
      break;
    case SVFOP_CURRENT_ROLE:
      out->op = Op::kCurrentRole;
      break;
    case SVFOP_CURRENT_USER:
      out->op = Op::kCurrentUser;
      break;
    case SVFOP_USER:
      out->op = Op::kUser;
      break;
    case SVFOP_SESSION_USER:
      out->op = Op::kSessionUser;
      break;
    case SVFOP_CURRENT_CATALOG:
      out->op = Op::kCurrentCatalog;
      break;
    case SVFOP_CURRENT_SCHEMA:
      out->op = Op::kCurrentSchema;
      break;
  }
  return out;
}

ast::ExprPtr Converter::grouping_set(const ::GroupingSet& node) {
  auto out = std::make_unique<ast::GroupingSet>();
  out->location = at(node.location);
  switch (node.kind) {
    case GROUPING_SET_EMPTY:
      out->set = ast::GroupingSetKind::kEmpty;
      break;
    case GROUPING_SET_ROLLUP:
      out->set = ast::GroupingSetKind::kRollup;
      break;
    case GROUPING_SET_CUBE:
      out->set = ast::GroupingSetKind::kCube;
      break;
    case GROUPING_SET_SIMPLE:  // made by analysis only
    case GROUPING_SET_SETS:
      out->set = ast::GroupingSetKind::kSets;
      break;
  }
  out->items = exprs(node.content);
  return out;
}

ast::SortItem Converter::sort_item(const SortBy& node) {
  ast::SortItem out;
  out.expr = expr(node.node);
  out.location = at(node.location);
  switch (node.sortby_dir) {
    case SORTBY_DEFAULT:
      out.direction = ast::SortDirection::kDefault;
      break;
    case SORTBY_ASC:
      out.direction = ast::SortDirection::kAscending;
      break;
    case SORTBY_DESC:
      out.direction = ast::SortDirection::kDescending;
      break;
    case SORTBY_USING: {
      out.direction = ast::SortDirection::kUsing;
      const ast::Name name = name_of(node.useOp);
      out.using_op = name.empty() ? std::string() : name.back();
      break;
    }
  }
  out.nulls = node.sortby_nulls == SORTBY_NULLS_FIRST  ? ast::NullsOrder::kFirst
              : node.sortby_nulls == SORTBY_NULLS_LAST ? ast::NullsOrder::kLast
                                                       : ast::NullsOrder::kDefault;
  return out;
}

std::vector<ast::SortItem> Converter::sort_items(const List* list) {
  std::vector<ast::SortItem> out;
  for (const Node* node : items(list)) out.push_back(sort_item(to<SortBy>(node)));
  return out;
}

ast::WindowDefinition Converter::window(const WindowDef& node) {
  ast::WindowDefinition out;
  out.location = at(node.location);
  out.name = text_of(node.name);
  out.base_name = text_of(node.refname);
  out.partition_by = exprs(node.partitionClause);
  out.order_by = sort_items(node.orderClause);
  const int frame = node.frameOptions;
  out.has_frame = (frame & FRAMEOPTION_NONDEFAULT) != 0;
  out.mode = (frame & FRAMEOPTION_ROWS) != 0     ? ast::FrameMode::kRows
             : (frame & FRAMEOPTION_GROUPS) != 0 ? ast::FrameMode::kGroups
                                                 : ast::FrameMode::kRange;
  using Bound = ast::FrameBound;
  out.start = (frame & FRAMEOPTION_START_OFFSET_PRECEDING) != 0   ? Bound::kPreceding
              : (frame & FRAMEOPTION_START_OFFSET_FOLLOWING) != 0 ? Bound::kFollowing
              : (frame & FRAMEOPTION_START_CURRENT_ROW) != 0      ? Bound::kCurrentRow
                                                                  : Bound::kUnboundedPreceding;
  out.end = (frame & FRAMEOPTION_END_OFFSET_PRECEDING) != 0      ? Bound::kPreceding
            : (frame & FRAMEOPTION_END_OFFSET_FOLLOWING) != 0    ? Bound::kFollowing
            : (frame & FRAMEOPTION_END_UNBOUNDED_FOLLOWING) != 0 ? Bound::kUnboundedFollowing
                                                                 : Bound::kCurrentRow;
  out.exclusion = (frame & FRAMEOPTION_EXCLUDE_CURRENT_ROW) != 0 ? ast::FrameExclusion::kCurrentRow
                  : (frame & FRAMEOPTION_EXCLUDE_GROUP) != 0     ? ast::FrameExclusion::kGroup
                  : (frame & FRAMEOPTION_EXCLUDE_TIES) != 0      ? ast::FrameExclusion::kTies
                                                                 : ast::FrameExclusion::kNone;
  out.start_offset = expr(node.startOffset);
  out.end_offset = expr(node.endOffset);
  return out;
}

}  // namespace scyper::query
