#pragma once

#include "parse/ast_node.h"

namespace scyper::query::ast {

struct SelectStatement;  // ast_query.h

// The out-of-line deleter keeps this header free of ast_query.h.
struct SelectDeleter {
  void operator()(SelectStatement* select) const;
};
using SelectPtr = std::unique_ptr<SelectStatement, SelectDeleter>;

enum class LiteralType : uint8_t {
  kNull,
  kBool,     // bool_value
  kInteger,  // int_value: int4 when it fits there, else int8
  kDecimal,  // text: "1.50", "1e10", or digits beyond int8; exact, numeric
  kString,   // text: of unknown type until the binder decides
  kBits,     // text: "b0101" or "x1F"
};

struct Literal : ExprNode<ExprKind::kLiteral> {
  LiteralType type = LiteralType::kNull;
  bool bool_value = false;
  int64_t int_value = 0;
  std::string text;
};

// $1
struct Parameter : ExprNode<ExprKind::kParameter> {
  int32_t number = 0;  // from 1
};

// a, t.a, s.t.a, *, t.*. In PL/pgSQL also a variable, a record's field or block.variable: the binder decides.
struct ColumnRef : ExprNode<ExprKind::kColumnRef> {
  Name name;          // without the star
  bool star = false;  // the name ends in .* (or is only *)
};

// (expr).field and (expr).*
struct FieldSelect : ExprNode<ExprKind::kFieldSelect> {
  ExprPtr arg;
  std::string field;
  bool star = false;
};

// One pair of brackets: [index] or the slice [lower:upper], both ends optional.
struct SubscriptIndex {
  bool slice = false;
  ExprPtr lower;  // slices only, may be null
  ExprPtr upper;  // the index itself when not a slice
};

// arg[i], arg[i][j], arg[1:2]
struct Subscript : ExprNode<ExprKind::kSubscript> {
  ExprPtr arg;
  std::vector<SubscriptIndex> indexes;  // one per dimension, not empty
};

// ARRAY[a, b]; nested for more dimensions
struct ArrayConstructor : ExprNode<ExprKind::kArrayConstructor> {
  std::vector<ExprPtr> elements;
};

// ROW(a, b), (a, b). In GROUP BY the second stands for its fields.
struct RowConstructor : ExprNode<ExprKind::kRowConstructor> {
  std::vector<ExprPtr> fields;
  bool row_keyword = false;
};

enum class SortDirection : uint8_t { kDefault, kAscending, kDescending, kUsing };
enum class NullsOrder : uint8_t { kDefault, kFirst, kLast };

struct SortItem {
  ExprPtr expr;
  SortDirection direction = SortDirection::kDefault;
  NullsOrder nulls = NullsOrder::kDefault;
  std::string using_op;  // ORDER BY x USING >
  Location location = -1;
};

enum class FrameMode : uint8_t { kRange, kRows, kGroups };
enum class FrameBound : uint8_t { kUnboundedPreceding, kPreceding, kCurrentRow, kFollowing, kUnboundedFollowing };
enum class FrameExclusion : uint8_t { kNone, kCurrentRow, kGroup, kTies };

// OVER (...), OVER name, and the entries of WINDOW name AS (...).
struct WindowDefinition {
  std::string name;       // entries of WINDOW; also OVER name, with nothing else set
  std::string base_name;  // the window it copies: OVER (base ...)
  std::vector<ExprPtr> partition_by;
  std::vector<SortItem> order_by;
  bool has_frame = false;  // false: RANGE UNBOUNDED PRECEDING
  FrameMode mode = FrameMode::kRange;
  FrameBound start = FrameBound::kUnboundedPreceding;
  FrameBound end = FrameBound::kCurrentRow;
  ExprPtr start_offset;  // of kPreceding and kFollowing
  ExprPtr end_offset;
  FrameExclusion exclusion = FrameExclusion::kNone;
  Location location = -1;
};

// f(a, b), count(*), sum(DISTINCT x ORDER BY y) FILTER (WHERE z) OVER (w). PostgreSQL's grammar spells EXTRACT,
// POSITION, SUBSTRING ... FROM, OVERLAY, TRIM, AT TIME ZONE as calls of functions in pg_catalog: they arrive as such,
// with sql_syntax.
struct FunctionCall : ExprNode<ExprKind::kFunctionCall> {
  Name name;
  std::vector<ExprPtr> args;
  std::vector<std::string> arg_names;  // empty, or parallel to args: "" = positional
  bool star = false;                   // f(*)
  bool distinct = false;
  bool variadic = false;      // the last argument is VARIADIC
  bool sql_syntax = false;    // written in SQL's special syntax
  bool is_of_json = false;    // was called json_..., and is what is called jsonb_... of its argument
  bool within_group = false;  // order_by came as WITHIN GROUP (ORDER BY ...)
  std::vector<SortItem> order_by;
  ExprPtr filter;
  std::unique_ptr<WindowDefinition> over;
};

// An operator by name: "+", "||", "<>" ("!=" arrives as "<>"). op_schema only of OPERATOR(schema.+).
struct UnaryOp : ExprNode<ExprKind::kUnaryOp> {
  std::string op;
  std::string op_schema;
  ExprPtr arg;
};

struct BinaryOp : ExprNode<ExprKind::kBinaryOp> {
  std::string op;
  std::string op_schema;
  ExprPtr left;
  ExprPtr right;
};

enum class LogicalOp : uint8_t { kAnd, kOr };

// a AND b AND c: two or more args, flattened as far as the grammar does
struct Logical : ExprNode<ExprKind::kLogical> {
  LogicalOp op = LogicalOp::kAnd;
  std::vector<ExprPtr> args;
};

struct Not : ExprNode<ExprKind::kNot> {
  ExprPtr arg;
};

// arg IS [NOT] NULL
struct NullTest : ExprNode<ExprKind::kNullTest> {
  ExprPtr arg;
  bool negated = false;
};

enum class TruthValue : uint8_t { kTrue, kFalse, kUnknown };

// arg IS [NOT] TRUE | FALSE | UNKNOWN
struct BooleanTest : ExprNode<ExprKind::kBooleanTest> {
  ExprPtr arg;
  TruthValue value = TruthValue::kTrue;
  bool negated = false;
};

// left IS [NOT] DISTINCT FROM right
struct IsDistinct : ExprNode<ExprKind::kIsDistinct> {
  ExprPtr left;
  ExprPtr right;
  bool negated = false;
};

// arg [NOT] BETWEEN [SYMMETRIC] low AND high
struct Between : ExprNode<ExprKind::kBetween> {
  ExprPtr arg;
  ExprPtr low;
  ExprPtr high;
  bool symmetric = false;
  bool negated = false;
};

// arg [NOT] IN (a, b, c)
struct InList : ExprNode<ExprKind::kInList> {
  ExprPtr arg;
  std::vector<ExprPtr> list;
  bool negated = false;
};

// arg [NOT] IN (SELECT ...); arg may be a row. NOT (arg IN ...) arrives negated as well.
struct InSubquery : ExprNode<ExprKind::kInSubquery> {
  ExprPtr arg;
  SelectPtr subquery;
  bool negated = false;
};

// left op ANY|ALL (array)
struct QuantifiedArray : ExprNode<ExprKind::kQuantifiedArray> {
  std::string op;
  std::string op_schema;
  bool all = false;
  ExprPtr left;
  ExprPtr array;
};

// left op ANY|ALL (SELECT ...); left may be a row
struct QuantifiedSubquery : ExprNode<ExprKind::kQuantifiedSubquery> {
  std::string op;
  std::string op_schema;
  bool all = false;
  ExprPtr left;
  SelectPtr subquery;
};

// EXISTS (SELECT ...); NOT EXISTS is Not(Exists)
struct Exists : ExprNode<ExprKind::kExists> {
  SelectPtr subquery;
};

// (SELECT ...) as a value
struct ScalarSubquery : ExprNode<ExprKind::kScalarSubquery> {
  SelectPtr subquery;
};

// ARRAY(SELECT ...)
struct ArraySubquery : ExprNode<ExprKind::kArraySubquery> {
  SelectPtr subquery;
};

enum class LikeKind : uint8_t { kLike, kILike, kSimilar };

// arg [NOT] LIKE pattern [ESCAPE escape]
struct Like : ExprNode<ExprKind::kLike> {
  LikeKind like = LikeKind::kLike;
  ExprPtr arg;
  ExprPtr pattern;
  ExprPtr escape;  // null: backslash
  bool negated = false;
};

struct CaseWhen {
  ExprPtr condition;  // a value to compare with Case::arg if that is set
  ExprPtr result;
  Location location = -1;
};

struct Case : ExprNode<ExprKind::kCase> {
  ExprPtr arg;  // CASE arg WHEN value ...; null for the searched form
  std::vector<CaseWhen> whens;
  ExprPtr otherwise;  // null: NULL
};

struct Coalesce : ExprNode<ExprKind::kCoalesce> {
  std::vector<ExprPtr> args;
};

struct NullIf : ExprNode<ExprKind::kNullIf> {
  ExprPtr left;
  ExprPtr right;
};

// GREATEST, LEAST
struct MinMax : ExprNode<ExprKind::kMinMax> {
  bool greatest = false;
  std::vector<ExprPtr> args;
};

// CAST(arg AS type), arg::type, type 'text'. The location is that of "::", CAST or of the typed literal's type.
struct Cast : ExprNode<ExprKind::kCast> {
  ExprPtr arg;
  TypeName type;
};

struct Collate : ExprNode<ExprKind::kCollate> {
  ExprPtr arg;
  Name collation;
};

enum class ValueFunctionOp : uint8_t {
  kCurrentDate,
  kCurrentTime,
  kCurrentTimestamp,
  kLocalTime,
  kLocalTimestamp,
  kCurrentRole,
  kCurrentUser,
  kUser,
  kSessionUser,
  kCurrentCatalog,
  kCurrentSchema,
};

// CURRENT_DATE, CURRENT_TIMESTAMP(3), ...
struct ValueFunction : ExprNode<ExprKind::kValueFunction> {
  ValueFunctionOp op = ValueFunctionOp::kCurrentDate;
  int32_t precision = -1;  // -1 = not given
};

// GROUPING(a, b)
struct GroupingCall : ExprNode<ExprKind::kGroupingCall> {
  std::vector<ExprPtr> args;
};

enum class GroupingSetKind : uint8_t { kEmpty, kRollup, kCube, kSets };

// Only in GROUP BY, and in `items` of another one: (), ROLLUP (...), CUBE (...), GROUPING SETS (...).
struct GroupingSet : ExprNode<ExprKind::kGroupingSet> {
  GroupingSetKind set = GroupingSetKind::kEmpty;
  std::vector<ExprPtr> items;  // a RowConstructor stands for (a, b)
};

// DEFAULT in VALUES, SET and MERGE
struct DefaultMarker : ExprNode<ExprKind::kDefaultMarker> {};

// WHERE CURRENT OF cursor
struct CurrentOf : ExprNode<ExprKind::kCurrentOf> {
  std::string cursor;
};

}  // namespace scyper::query::ast
