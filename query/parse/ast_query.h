#pragma once

#include "parse/ast_expression.h"

namespace scyper::query::ast {

// AS name (columns)
struct Alias {
  std::string name;  // empty = no alias
  std::vector<std::string> columns;
};

// The target of a statement: schema.table AS alias
struct TableRef {
  Name name;
  bool only = false;  // ONLY table
  Alias alias;
  Location location = -1;
};

struct FromTable : FromNode<FromKind::kTable> {
  TableRef table;
};

struct FromSubquery : FromNode<FromKind::kSubquery> {
  bool lateral = false;
  SelectPtr subquery;
  Alias alias;
};

// A column of AS t (a integer, b text)
struct ColumnDeclaration {
  std::string name;
  TypeName type;
  Location location = -1;
};

// f(x) AS t (a, b), ROWS FROM (f(x), g(y)) WITH ORDINALITY
struct FromFunction : FromNode<FromKind::kFunction> {
  bool lateral = false;
  bool ordinality = false;
  bool rows_from = false;          // written as ROWS FROM
  std::vector<ExprPtr> functions;  // one, or several of ROWS FROM; usually FunctionCall
  Alias alias;
  std::vector<ColumnDeclaration> columns;  // for functions returning record
};

enum class JoinKind : uint8_t { kInner, kLeft, kRight, kFull, kCross };

struct FromJoin : FromNode<FromKind::kJoin> {
  JoinKind join = JoinKind::kInner;
  bool natural = false;
  FromItemPtr left;
  FromItemPtr right;
  std::vector<std::string> using_columns;
  Alias using_alias;
  ExprPtr on;
  Alias alias;  // (a JOIN b) AS j
};

// One output column. A bare * or t.* is a ColumnRef with star.
struct SelectTarget {
  ExprPtr expr;
  std::string alias;  // empty = none given: name_of_target() says what PostgreSQL calls it
  Location location = -1;
};

struct CommonTable {
  enum class Materialize : uint8_t { kDefault, kAlways, kNever };
  std::string name;
  std::vector<std::string> columns;
  Materialize materialize = Materialize::kDefault;
  StatementPtr statement;  // SELECT, INSERT, UPDATE or DELETE
  Location location = -1;
};

struct WithClause {
  bool recursive = false;
  std::vector<CommonTable> tables;  // empty = no WITH
};

enum class SetOperation : uint8_t { kNone, kUnion, kIntersect, kExcept };
enum class LockStrength : uint8_t { kNone, kKeyShare, kShare, kNoKeyUpdate, kUpdate };
enum class LockWait : uint8_t { kWait, kSkipLocked, kNoWait };

// FOR UPDATE OF t NOWAIT
struct LockingClause {
  LockStrength strength = LockStrength::kNone;
  std::vector<TableRef> tables;
  LockWait wait = LockWait::kWait;
};

// One of three shapes: VALUES rows (`values`), a set operation (`set`, left, right), or a plain SELECT.
// WITH, ORDER BY, LIMIT, OFFSET and locking belong to every shape.
struct SelectStatement : StatementNode<StatementKind::kSelect> {
  WithClause with;

  bool distinct = false;
  std::vector<ExprPtr> distinct_on;  // DISTINCT ON (...), distinct is set too
  std::vector<SelectTarget> targets;
  std::vector<FromItemPtr> from;
  ExprPtr where;
  std::vector<ExprPtr> group_by;  // may hold GroupingSet
  bool group_by_distinct = false;
  ExprPtr having;
  std::vector<WindowDefinition> windows;
  bool into = false;  // SELECT ... INTO table
  TableRef into_table;

  std::vector<std::vector<ExprPtr>> values;  // rows

  SetOperation set = SetOperation::kNone;
  bool set_all = false;
  SelectPtr left;
  SelectPtr right;

  std::vector<SortItem> order_by;
  ExprPtr limit;  // LIMIT ALL is null
  ExprPtr offset;
  bool with_ties = false;  // FETCH ... WITH TIES
  std::vector<LockingClause> locking;
};

enum class Overriding : uint8_t { kNone, kUser, kSystem };

// SET column [subscripts] = value
struct Assignment {
  std::string column;
  std::vector<SubscriptIndex> subscripts;  // SET a[1] = ...
  Name fields;                             // SET a.b = ...
  ExprPtr value;                           // null: a member of a MultiAssignment's target list
  Location location = -1;
};

// One entry of SET: one target = value, or (a, b) = row | (SELECT ...).
struct SetItem {
  std::vector<Assignment> targets;  // one unless multi
  bool multi = false;
  ExprPtr source;  // multi only: a RowConstructor or ScalarSubquery (or any expression)
};

enum class ConflictAction : uint8_t { kNone, kNothing, kUpdate };

// An index column: name or expression. Also the inference part of ON CONFLICT.
struct IndexElement {
  std::string column;  // empty = expr
  ExprPtr expr;
  Name collation;
  Name op_class;
  SortDirection direction = SortDirection::kDefault;
  NullsOrder nulls = NullsOrder::kDefault;
  Location location = -1;
};

struct OnConflict {
  ConflictAction action = ConflictAction::kNone;  // kNone = no ON CONFLICT
  std::vector<IndexElement> target;               // ON CONFLICT (a, b)
  ExprPtr target_where;
  Location infer_location = -1;  // of the target
  std::string constraint;        // ON CONFLICT ON CONSTRAINT name
  std::vector<SetItem> set;
  ExprPtr where;
  Location location = -1;
};

// A name in the column list of INSERT
struct InsertColumn {
  std::string name;
  std::vector<SubscriptIndex> subscripts;
  Name fields;
  Location location = -1;
};

struct InsertStatement : StatementNode<StatementKind::kInsert> {
  WithClause with;
  TableRef table;
  std::vector<InsertColumn> columns;
  Overriding overriding = Overriding::kNone;
  SelectPtr source;  // VALUES or SELECT; null = DEFAULT VALUES
  OnConflict on_conflict;
  std::vector<SelectTarget> returning;
};

struct UpdateStatement : StatementNode<StatementKind::kUpdate> {
  WithClause with;
  TableRef table;
  std::vector<SetItem> set;
  std::vector<FromItemPtr> from;
  ExprPtr where;
  std::vector<SelectTarget> returning;
};

struct DeleteStatement : StatementNode<StatementKind::kDelete> {
  WithClause with;
  TableRef table;
  std::vector<FromItemPtr> from;  // USING
  ExprPtr where;
  std::vector<SelectTarget> returning;
};

enum class MergeAction : uint8_t { kDoNothing, kInsert, kUpdate, kDelete };

struct MergeWhen {
  bool matched = false;
  ExprPtr condition;
  MergeAction action = MergeAction::kDoNothing;
  Overriding overriding = Overriding::kNone;
  std::vector<InsertColumn> columns;  // INSERT (columns)
  std::vector<ExprPtr> values;        // empty = DEFAULT VALUES
  std::vector<SetItem> set;           // UPDATE SET
};

struct MergeStatement : StatementNode<StatementKind::kMerge> {
  WithClause with;
  TableRef table;
  FromItemPtr source;
  ExprPtr on;
  std::vector<MergeWhen> whens;
};

}  // namespace scyper::query::ast
