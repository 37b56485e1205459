#include <algorithm>
#include <string_view>

#include "base/invariant.h"
#include "base/object_name.h"
#include "parse/printer.h"
#include "parse/sql_writer.h"

namespace scyper::query {

namespace {

// PostgreSQL 15's keywords that are not names everywhere (pg_get_keywords(), catcode <> 'U').
constexpr std::string_view kKeywords =
    " all analyse analyze and any array as asc asymmetric authorization between bigint binary bit boolean both case "
    "cast "
    "char character check coalesce collate collation column concurrently constraint create cross current_catalog "
    "current_date current_role current_schema current_time current_timestamp current_user dec decimal default "
    "deferrable "
    "desc distinct do else end except exists extract false fetch float for foreign freeze from full grant greatest "
    "group "
    "grouping having ilike in initially inner inout int integer intersect interval into is isnull join lateral leading "
    "least left like limit localtime localtimestamp national natural nchar none normalize not notnull null nullif "
    "numeric "
    "offset on only or order out outer overlaps overlay placing position precision primary real references returning "
    "right "
    "row select session_user setof similar smallint some substring symmetric table tablesample then time timestamp to "
    "trailing treat trim true union unique user using values varchar variadic verbose when where window with "
    "xmlattributes "
    "xmlconcat xmlelement xmlexists xmlforest xmlnamespaces xmlparse xmlpi xmlroot xmlserialize xmltable ";

bool is_plain(const std::string& name) {
  const auto allowed = [](char c) { return (c >= 'a' && c <= 'z') || c == '_' || (c >= '0' && c <= '9'); };
  if (name.empty() || (name[0] >= '0' && name[0] <= '9') || !std::all_of(name.begin(), name.end(), allowed))
    return false;
  return kKeywords.find(" " + name + " ") == std::string_view::npos;
}

}  // namespace

std::string quote_identifier(const std::string& name) {
  if (bare_name(name).size() != name.size())
    return quote_identifier(std::string(schema_of(name))) + "." + quote_identifier(std::string(bare_name(name)));
  if (is_plain(name)) return name;
  std::string out = "\"";
  for (const char c : name) out += c == '"' ? "\"\"" : std::string(1, c);
  return out + "\"";
}

std::string quote_literal(const std::string& text) {
  std::string out = "'";
  for (const char c : text) out += c == '\'' ? "''" : std::string(1, c);
  return out + "'";
}

std::string to_sql(const ast::Expr& expr) {
  SqlWriter writer;
  writer.expr(expr);
  return writer.take();
}

std::string to_sql(const ast::Statement& statement) {
  SqlWriter writer;
  writer.statement(statement);
  return writer.take();
}

std::string to_sql(const ast::TypeName& type) {
  SqlWriter writer;
  writer.type(type);
  return writer.take();
}

void SqlWriter::identifier(const std::string& name) { out_ += quote_identifier(name); }

void SqlWriter::name(const ast::Name& name) {
  for (size_t i = 0; i < name.size(); ++i) {
    if (i > 0) add(".");
    identifier(name[i]);
  }
}

void SqlWriter::names(const std::vector<std::string>& names) {
  if (names.empty()) return;
  add(" (");
  list(names, [this](const std::string& one) { identifier(one); });
  add(")");
}

void SqlWriter::optional(std::string_view before, const ast::ExprPtr& node) {
  if (node == nullptr) return;
  add(before);
  expr(*node);
}

void SqlWriter::bracketed(const ast::ExprPtr& node) {
  INVARIANT(node != nullptr);
  add("(");
  expr(*node);
  add(")");
}

void SqlWriter::type(const ast::TypeName& node) {
  if (node.setof) add("SETOF ");
  name(node.name);
  if (node.percent_type) add("%TYPE");
  if (node.percent_rowtype) add("%ROWTYPE");
  if (!node.modifiers.empty()) {
    add("(");
    exprs(node.modifiers);
    add(")");
  }
  for (const int32_t bound : node.array_bounds) add(bound < 0 ? "[]" : "[" + std::to_string(bound) + "]");
}

void SqlWriter::literal(const ast::Literal& node) {
  switch (node.type) {
    case ast::LiteralType::kNull:
      add("NULL");
      break;
    case ast::LiteralType::kBool:
      add(node.bool_value ? "TRUE" : "FALSE");
      break;
    case ast::LiteralType::kInteger:
      add(node.int_value < 0 ? "(" + std::to_string(node.int_value) + ")" : std::to_string(node.int_value));
      break;
    case ast::LiteralType::kDecimal:
      add(node.text.starts_with('-') ? "(" + node.text + ")" : node.text);
      break;
    case ast::LiteralType::kString:
      add(quote_literal(node.text));
      break;
    case ast::LiteralType::kBits:
      add(node.text.substr(0, 1) + "'" + node.text.substr(1) + "'");
      break;
  }
}

void SqlWriter::op(const std::string& op, const std::string& schema) {
  if (schema.empty()) {
    add(" " + op + " ");
  } else {
    add(" OPERATOR(" + quote_identifier(schema) + "." + op + ") ");
  }
}

void SqlWriter::subquery(std::string_view before, const ast::SelectPtr& node) {
  add(before);
  add("(");
  select(*node);
  add(")");
}

void SqlWriter::subscripts(const std::vector<ast::SubscriptIndex>& indexes) {
  for (const ast::SubscriptIndex& index : indexes) {
    add("[");
    if (index.lower != nullptr) expr(*index.lower);
    if (index.slice) add(":");
    if (index.upper != nullptr) expr(*index.upper);
    add("]");
  }
}

void SqlWriter::ordering(ast::SortDirection direction, ast::NullsOrder nulls) {
  if (direction == ast::SortDirection::kAscending) add(" ASC");
  if (direction == ast::SortDirection::kDescending) add(" DESC");
  if (nulls == ast::NullsOrder::kFirst) add(" NULLS FIRST");
  if (nulls == ast::NullsOrder::kLast) add(" NULLS LAST");
}

void SqlWriter::sort_items(std::string_view before, const std::vector<ast::SortItem>& items) {
  if (items.empty()) return;
  add(before);
  list(items, [this](const ast::SortItem& item) {
    expr(*item.expr);
    if (item.direction == ast::SortDirection::kUsing) add(" USING " + item.using_op);
    ordering(item.direction, item.nulls);
  });
}

void SqlWriter::frame(const ast::WindowDefinition& node) {
  static constexpr std::string_view kModes[] = {" RANGE", " ROWS", " GROUPS"};
  static constexpr std::string_view kBounds[] = {" UNBOUNDED PRECEDING", " PRECEDING", " CURRENT ROW", " FOLLOWING",
                                                 " UNBOUNDED FOLLOWING"};
  static constexpr std::string_view kExclusions[] = {"", " EXCLUDE CURRENT ROW", " EXCLUDE GROUP", " EXCLUDE TIES"};
  add(kModes[static_cast<size_t>(node.mode)]);
  add(" BETWEEN");
  optional(" ", node.start_offset);
  add(kBounds[static_cast<size_t>(node.start)]);
  add(" AND");
  optional(" ", node.end_offset);
  add(kBounds[static_cast<size_t>(node.end)]);
  add(kExclusions[static_cast<size_t>(node.exclusion)]);
}

void SqlWriter::window(const ast::WindowDefinition& node) {
  add("(");
  if (!node.base_name.empty()) identifier(node.base_name);
  if (!node.partition_by.empty()) {
    add(" PARTITION BY ");
    exprs(node.partition_by);
  }
  sort_items(" ORDER BY ", node.order_by);
  if (node.has_frame) frame(node);
  add(")");
}

void SqlWriter::call(const ast::FunctionCall& node) {
  ast::Name function = node.name;
  if (node.is_of_json) function.back().erase(function.back().find('b'), 1);  // jsonb_...
  name(function);
  add("(");
  if (node.star) add("*");
  if (node.distinct) add("DISTINCT ");
  for (size_t i = 0; i < node.args.size(); ++i) {
    if (i > 0) add(", ");
    if (node.variadic && i + 1 == node.args.size()) add("VARIADIC ");
    if (!node.arg_names.empty() && !node.arg_names[i].empty()) {
      identifier(node.arg_names[i]);
      add(" => ");
    }
    expr(*node.args[i]);
  }
  if (!node.within_group) sort_items(" ORDER BY ", node.order_by);
  add(")");
  if (node.within_group) {
    sort_items(" WITHIN GROUP (ORDER BY ", node.order_by);
    add(")");
  }
  if (node.filter != nullptr) {
    optional(" FILTER (WHERE ", node.filter);
    add(")");
  }
  if (node.over == nullptr) return;
  add(" OVER ");
  if (node.over->name.empty()) {
    window(*node.over);
  } else {
    identifier(node.over->name);
  }
}

void SqlWriter::case_expr(const ast::Case& node) {
  add("CASE");
  optional(" ", node.arg);
  for (const ast::CaseWhen& when : node.whens) {
    optional(" WHEN ", when.condition);
    optional(" THEN ", when.result);
  }
  optional(" ELSE ", node.otherwise);
  add(" END");
}

void SqlWriter::value_function(const ast::ValueFunction& node) {
  static constexpr std::string_view kNames[] = {"CURRENT_DATE",   "CURRENT_TIME",    "CURRENT_TIMESTAMP", "LOCALTIME",
                                                "LOCALTIMESTAMP", "CURRENT_ROLE",    "CURRENT_USER",      "USER",
                                                "SESSION_USER",   "CURRENT_CATALOG", "CURRENT_SCHEMA"};
  add(kNames[static_cast<size_t>(node.op)]);
  if (node.precision >= 0) add("(" + std::to_string(node.precision) + ")");
}

void SqlWriter::grouping_set(const ast::GroupingSet& node) {
  static constexpr std::string_view kNames[] = {"", "ROLLUP ", "CUBE ", "GROUPING SETS "};
  add(kNames[static_cast<size_t>(node.set)]);
  add("(");
  exprs(node.items);
  add(")");
}

// The bracketed forms: operators and tests.
void SqlWriter::predicate(const ast::Expr& node) {
  const auto negation = [this](bool negated) { add(negated ? " NOT " : " "); };
  switch (node.kind) {
    case ast::ExprKind::kNullTest: {
      const auto& test = ast::node_as<ast::NullTest>(node);
      expr(*test.arg);
      add(test.negated ? " IS NOT NULL" : " IS NULL");
      break;
    }
    case ast::ExprKind::kBooleanTest: {
      const auto& test = ast::node_as<ast::BooleanTest>(node);
      static constexpr std::string_view kValues[] = {"TRUE", "FALSE", "UNKNOWN"};
      expr(*test.arg);
      add(test.negated ? " IS NOT " : " IS ");
      add(kValues[static_cast<size_t>(test.value)]);
      break;
    }
    case ast::ExprKind::kIsDistinct: {
      const auto& test = ast::node_as<ast::IsDistinct>(node);
      expr(*test.left);
      add(test.negated ? " IS NOT DISTINCT FROM " : " IS DISTINCT FROM ");
      expr(*test.right);
      break;
    }
    case ast::ExprKind::kBetween: {
      const auto& between = ast::node_as<ast::Between>(node);
      expr(*between.arg);
      negation(between.negated);
      add(between.symmetric ? "BETWEEN SYMMETRIC " : "BETWEEN ");
      expr(*between.low);
      add(" AND ");
      expr(*between.high);
      break;
    }
    case ast::ExprKind::kInList: {
      const auto& in = ast::node_as<ast::InList>(node);
      expr(*in.arg);
      negation(in.negated);
      add("IN (");
      exprs(in.list);
      add(")");
      break;
    }
    case ast::ExprKind::kInSubquery: {
      const auto& in = ast::node_as<ast::InSubquery>(node);
      expr(*in.arg);
      negation(in.negated);
      subquery("IN ", in.subquery);
      break;
    }
    case ast::ExprKind::kLike: {
      const auto& like = ast::node_as<ast::Like>(node);
      static constexpr std::string_view kKinds[] = {"LIKE ", "ILIKE ", "SIMILAR TO "};
      expr(*like.arg);
      negation(like.negated);
      add(kKinds[static_cast<size_t>(like.like)]);
      expr(*like.pattern);
      optional(" ESCAPE ", like.escape);
      break;
    }
    default:
      INVARIANT(false);
  }
}

void SqlWriter::operation(const ast::Expr& node) {
  add("(");
  switch (node.kind) {
    case ast::ExprKind::kUnaryOp: {
      const auto& unary = ast::node_as<ast::UnaryOp>(node);
      op(unary.op, unary.op_schema);
      expr(*unary.arg);
      break;
    }
    case ast::ExprKind::kBinaryOp: {
      const auto& binary = ast::node_as<ast::BinaryOp>(node);
      expr(*binary.left);
      op(binary.op, binary.op_schema);
      expr(*binary.right);
      break;
    }
    case ast::ExprKind::kLogical: {
      const auto& logical = ast::node_as<ast::Logical>(node);
      for (size_t i = 0; i < logical.args.size(); ++i) {
        if (i > 0) add(logical.op == ast::LogicalOp::kAnd ? " AND " : " OR ");
        expr(*logical.args[i]);
      }
      break;
    }
    case ast::ExprKind::kNot:
      add("NOT ");
      expr(*ast::node_as<ast::Not>(node).arg);
      break;
    default:
      INVARIANT(false);
  }
  add(")");
}

void SqlWriter::expr(const ast::Expr& node) {
  switch (node.kind) {
    case ast::ExprKind::kLiteral:
      literal(ast::node_as<ast::Literal>(node));
      break;
    case ast::ExprKind::kParameter:
      add("$" + std::to_string(ast::node_as<ast::Parameter>(node).number));
      break;
    case ast::ExprKind::kColumnRef: {
      const auto& column = ast::node_as<ast::ColumnRef>(node);
      name(column.name);
      if (column.star) add(column.name.empty() ? "*" : ".*");
      break;
    }
    case ast::ExprKind::kFieldSelect: {
      const auto& field = ast::node_as<ast::FieldSelect>(node);
      bracketed(field.arg);
      add(".");
      add(field.star ? "*" : quote_identifier(field.field));
      break;
    }
    case ast::ExprKind::kSubscript: {
      const auto& subscript = ast::node_as<ast::Subscript>(node);
      bracketed(subscript.arg);
      subscripts(subscript.indexes);
      break;
    }
    case ast::ExprKind::kArrayConstructor:
      add("ARRAY[");
      exprs(ast::node_as<ast::ArrayConstructor>(node).elements);
      add("]");
      break;
    case ast::ExprKind::kRowConstructor: {
      const auto& row = ast::node_as<ast::RowConstructor>(node);
      add(row.row_keyword ? "ROW(" : "(");
      exprs(row.fields);
      add(")");
      break;
    }
    case ast::ExprKind::kFunctionCall:
      call(ast::node_as<ast::FunctionCall>(node));
      break;
    case ast::ExprKind::kUnaryOp:
    case ast::ExprKind::kBinaryOp:
    case ast::ExprKind::kLogical:
    case ast::ExprKind::kNot:
      operation(node);
      break;
    case ast::ExprKind::kNullTest:
    case ast::ExprKind::kBooleanTest:
    case ast::ExprKind::kIsDistinct:
    case ast::ExprKind::kBetween:
    case ast::ExprKind::kInList:
    case ast::ExprKind::kInSubquery:
    case ast::ExprKind::kLike:
      add("(");
      predicate(node);
      add(")");
      break;
    default:
      with_subquery(node);
  }
}

void SqlWriter::with_subquery(const ast::Expr& node) {
  switch (node.kind) {
    case ast::ExprKind::kQuantifiedArray: {
      const auto& quantified = ast::node_as<ast::QuantifiedArray>(node);
      add("(");
      expr(*quantified.left);
      op(quantified.op, quantified.op_schema);
      add(quantified.all ? "ALL " : "ANY ");
      bracketed(quantified.array);
      add(")");
      break;
    }
    case ast::ExprKind::kQuantifiedSubquery: {
      const auto& quantified = ast::node_as<ast::QuantifiedSubquery>(node);
      add("(");
      expr(*quantified.left);
      op(quantified.op, quantified.op_schema);
      subquery(quantified.all ? "ALL " : "ANY ", quantified.subquery);
      add(")");
      break;
    }
    case ast::ExprKind::kExists:
      subquery("EXISTS ", ast::node_as<ast::Exists>(node).subquery);
      break;
    case ast::ExprKind::kScalarSubquery:
      subquery("", ast::node_as<ast::ScalarSubquery>(node).subquery);
      break;
    case ast::ExprKind::kArraySubquery:
      subquery("ARRAY", ast::node_as<ast::ArraySubquery>(node).subquery);
      break;
    default:
      special(node);
  }
}

void SqlWriter::special(const ast::Expr& node) {
  switch (node.kind) {
    case ast::ExprKind::kCase:
      case_expr(ast::node_as<ast::Case>(node));
      break;
    case ast::ExprKind::kCoalesce:
      add("COALESCE(");
      exprs(ast::node_as<ast::Coalesce>(node).args);
      add(")");
      break;
    case ast::ExprKind::kNullIf:
      optional("NULLIF(", ast::node_as<ast::NullIf>(node).left);
      optional(", ", ast::node_as<ast::NullIf>(node).right);
      add(")");
      break;
    case ast::ExprKind::kMinMax:
      add(ast::node_as<ast::MinMax>(node).greatest ? "GREATEST(" : "LEAST(");
      exprs(ast::node_as<ast::MinMax>(node).args);
      add(")");
      break;
    case ast::ExprKind::kCast:
      optional("CAST(", ast::node_as<ast::Cast>(node).arg);
      add(" AS ");
      type(ast::node_as<ast::Cast>(node).type);
      add(")");
      break;
    case ast::ExprKind::kCollate:
      add("(");
      expr(*ast::node_as<ast::Collate>(node).arg);
      add(" COLLATE ");
      name(ast::node_as<ast::Collate>(node).collation);
      add(")");
      break;
    case ast::ExprKind::kValueFunction:
      value_function(ast::node_as<ast::ValueFunction>(node));
      break;
    case ast::ExprKind::kGroupingCall:
      add("GROUPING(");
      exprs(ast::node_as<ast::GroupingCall>(node).args);
      add(")");
      break;
    case ast::ExprKind::kGroupingSet:
      grouping_set(ast::node_as<ast::GroupingSet>(node));
      break;
    case ast::ExprKind::kDefaultMarker:
      add("DEFAULT");
      break;
    case ast::ExprKind::kCurrentOf:
      add("CURRENT OF ");
      identifier(ast::node_as<ast::CurrentOf>(node).cursor);
      break;
    default:
      INVARIANT(false);
  }
}

}  // namespace scyper::query
