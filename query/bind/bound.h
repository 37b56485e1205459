#pragma once

#include <cstdint>
#include <functional>
#include <iterator>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/strong.h"
#include "bind/builtins.h"
#include "bind/window.h"
#include "storage/table.h"
#include "storage/type.h"

// Bound programs: names resolved, types decided, casts explicit. The binder makes them from syntax trees, the planner
// annotates them, the code generator reads them. Everything is owned top-down; relations and variables are numbered
// within one program.
namespace scyper::query {

struct BoundQuery;
struct ForeignTable;
struct Routine;

enum class BoundKind : uint8_t {
  kConst,
  kVariable,  // index: Program variable (parameters come first)
  kColumn,    // relation, index
  kBuiltin,   // builtin(args)
  kUserCall,  // routine(args)
  kAnd,
  kOr,  // args, at least two
  kNot,
  kIsNull,    // args[0] IS NULL
  kIsTruth,   // args[0] IS TRUE | FALSE: index 1 | 0 (never NULL)
  kDistinct,  // args[0] IS DISTINCT FROM args[1]
  kCase,      // args: condition, result, condition, result, ..., otherwise
  kCoalesce,
  kMinMax,     // GREATEST/LEAST: builtin is the comparison that the winner satisfies
  kCast,       // args[0] to type; explicit_cast: truncates strings silently
  kSubscript,  // args[0][args[1]]
  kArray,      // ARRAY[args]
  kAnyAll,     // args[0] op ANY|ALL (args[1]: array): builtin is the comparison, index 1 = ALL
  kScalarSubquery,
  kExists,
  kInSubquery,      // args: one equality per column with kSubqueryOutput on its right side
  kSubqueryOutput,  // index: output of the enclosing kInSubquery's query, or of a set operation's row
  kGroup,           // relation: id of the query, index: value of a GROUP BY expression, after aggregation
  kRow,             // args: fields, called `names`; or `query` gives them. In the binder only (binder_composite.cc)
  kRowCount,        // rows of the last statement (GET DIAGNOSTICS)
  kAggregate,       // relation: id of the query, index: result of an aggregate, after aggregation
  kGrouping,        // relation: id of the query, index: position in grouping_calls
  kWindow,          // relation: id of the query, index: position in windows
};

struct BoundExpr {
  BoundKind kind = BoundKind::kConst;
  SqlType type;
  bool nullable = true;
  int32_t location = -1;
  uint32_t relation = 0;
  uint32_t index = 0;
  uint32_t domain = 0;  // its values are of
  bool explicit_cast = false;
  Datum value;  // kConst; strings point into `text`
  std::string text;
  const Builtin* builtin = nullptr;
  std::shared_ptr<const Routine> routine;
  std::vector<std::unique_ptr<BoundExpr>> args;
  std::unique_ptr<BoundQuery> query;
  std::vector<std::string> names;  // kRow

  BoundExpr() = default;
  ~BoundExpr();
};
using BoundPtr = std::unique_ptr<BoundExpr>;

// Deep copies; a copied subquery keeps the numbers of its relations.
BoundPtr clone(const BoundExpr& expr);
void copy_to(const BoundExpr& expr, BoundExpr* copy);  // whose arguments and names go
std::unique_ptr<BoundQuery> clone(const BoundQuery& query);
bool same(const BoundExpr& a, const BoundExpr& b);

enum class RelationKind : uint8_t { kTable, kQuery, kValues, kSeries, kUnnest, kCommon, kFunction, kFeed, kForeign };

// A query of WITH. Its references are relations of kind kCommon.
struct CommonQuery;

struct RelationColumn {
  std::string name;
  SqlType type;
  bool nullable = true;
  bool hidden = false;    // not found by name, not in *
  SqlType declared = {};  // of results: see ResultColumn
  uint32_t domain = 0;    // its values are of
};

// What a hidden column of a table holds, over the columns of its relation: the key of an index on an expression, or
// whether a row belongs to a partial index (TRUE or NULL).
struct HiddenColumn {
  uint32_t column = 0;
  bool is_predicate = false;
  std::vector<BoundPtr> exprs;  // the one, or the predicate's conjuncts
  BoundPtr is_true;             // predicates: what the column is compared with
};

struct DeclaredPartition;  // query/partitioning.h

struct Relation {
  uint32_t id = 0;
  RelationKind kind = RelationKind::kTable;
  std::string alias;
  std::string key;                                     // of a table or view that is called by its own name, else empty
  std::shared_ptr<storage::Table> table;               // kTable
  std::unique_ptr<BoundQuery> query;                   // kQuery
  std::vector<std::vector<BoundPtr>> rows;             // kValues
  std::vector<BoundPtr> arguments;                     // kSeries: start, stop, step (bigint); kUnnest: the array;
                                                       // kFunction: one kUserCall, or none and `common`, a part
                                                       // kFeed (ExecContext::feed): none
  std::shared_ptr<const ForeignTable> foreign;         // kForeign
  std::shared_ptr<const DeclaredPartition> partition;  // that its rows are of
  double estimated_rows = 0;                           // kForeign, kUnnest; 0: not known
  std::shared_ptr<CommonQuery> common;                 // kCommon, kFunction
  bool computes_common = false;  // kCommon that is recursive and reads columns around: computed here alone
  std::vector<RelationColumn> columns;
  std::vector<HiddenColumn> hidden;  // kTable that is searched
  bool is_scalar = false;            // a function that returns no rows but values: its name means its value
  ~Relation();
};

std::unique_ptr<Relation> clone(const Relation& relation);

enum class JoinType : uint8_t { kInner, kLeft, kRight, kFull };

// The shape of one item of FROM that is more than inner joins and left joins of single relations. The ON of a join is
// kept at the first relation of its right side.
struct JoinTree {
  JoinType type = JoinType::kInner;
  std::shared_ptr<const JoinTree> left, right;  // nullptr: a relation
  uint32_t first = 0;                           // position in BoundQuery::from, of a join: of its first relation
};

struct FromEntry {
  std::unique_ptr<Relation> relation;
  JoinType join = JoinType::kInner;
  std::vector<BoundPtr> on;  // conjuncts of a left join; inner joins' go to `where`
};

enum class AggregateKind : uint8_t {
  kCountStar,
  kCount,
  kSum,
  kAvg,
  kMin,
  kMax,
  kBoolAnd,
  kBoolOr,
  kStringAgg,
  kArrayAgg,
  kBitAnd,
  kBitOr,
  kBitXor,
  kRangeAgg,  // the binder makes these two of kArrayAgg
  kRangeIntersectAgg,
  // by the runtime (runtime/aggregates.h)
  kSumInterval,
  kAvgInterval,
  kVarPop,
  kVarSamp,
  kStddevPop,
  kStddevSamp,
  kCovarPop,
  kCovarSamp,
  kCorr,
  kRegrCount,
  kRegrSxx,
  kRegrSyy,
  kRegrSxy,
  kRegrAvgx,
  kRegrAvgy,
  kRegrR2,
  kRegrSlope,
  kRegrIntercept,
  // over all rows in their order
  kMode,
  kPercentileCont,
  kPercentileDisc,
  // where a row that is given would stand among the others
  kHypotheticalRank,
  kHypotheticalDenseRank,
  kHypotheticalPercentRank,
  kHypotheticalCumeDist,
};
// What a column of results is to clients.
constexpr SqlType shown_type(const SqlType& type) {
  auto as_text = [](TypeId id) {
    return id == TypeId::kInterval || id == TypeId::kUuid || id == TypeId::kBytea || id == TypeId::kJsonb ||
           id == TypeId::kEnum || is_ordered_bytes(id);
  };
  if (type.id == TypeId::kFloat4) return make_type(TypeId::kFloat8);
  if (type.id == TypeId::kArray && as_text(type.element)) return make_array(make_type(TypeId::kText));
  return as_text(type.id) ? make_type(TypeId::kText) : type;
}

constexpr bool is_hypothetical(AggregateKind kind) { return kind >= AggregateKind::kHypotheticalRank; }

// Is it 0, not NULL, where there is no row?
constexpr bool counts_rows(AggregateKind kind) {
  return kind == AggregateKind::kCount || kind == AggregateKind::kCountStar || kind == AggregateKind::kRegrCount;
}

struct OrderItem {
  uint32_t output = 0;  // position in outputs; of aggregates: in args
  bool descending = false;
  bool nulls_first = false;
};

struct Aggregate {
  AggregateKind kind = AggregateKind::kCountStar;
  bool distinct = false;
  std::vector<BoundPtr> args;  // those of the function, then what only its ORDER BY needs
  BoundPtr filter;
  SqlType type;
  size_t arity = 0;              // of the function itself
  std::vector<OrderItem> order;  // ORDER BY inside, or WITHIN GROUP

  // Rows are kept, sorted (and made distinct), before the function sees them.
  bool collects() const {
    bool by_order = kind == AggregateKind::kStringAgg || kind == AggregateKind::kArrayAgg;
    return !order.empty() || (distinct && (by_order || arity > 1));
  }
};

Aggregate clone(const Aggregate& aggregate);

struct WindowOrder {
  BoundPtr expr;
  bool descending = false;
  bool nulls_first = false;
};

// A function OVER a window.
struct WindowCall {
  WindowKind kind = WindowKind::kAggregate;
  Aggregate function;  // kAggregate: the aggregate; else its args and type are the call's
  std::vector<BoundPtr> partition;
  std::vector<WindowOrder> order;
  FrameShape frame;
  BoundPtr start_offset, end_offset;  // ROWS, GROUPS: bigint; RANGE: of the type that order[0] is moved by
};

WindowCall clone(const WindowCall& call);
bool same(const WindowCall& a, const WindowCall& b);
void for_each_expr(WindowCall* call, const std::function<void(BoundPtr&)>& f);
void for_each_expr(const WindowCall& call, const std::function<void(const BoundExpr&)>& f);
bool same_aggregate(const Aggregate& a, const Aggregate& b);

struct OutputColumn {
  std::string name;
  BoundPtr expr;
  bool hidden = false;  // only for ORDER BY
};

enum class SetOp : uint8_t { kNone, kUnion, kIntersect, kExcept };

struct BoundWith;

struct BoundQuery {
  uint32_t id = 0;  // in the program: what `relation` of kGroup and kAggregate names
  std::vector<FromEntry> from;
  std::vector<JoinTree> joins;  // empty: FROM is what `from` says, entry after entry
  std::vector<BoundPtr> where;  // conjuncts
  bool aggregated = false;
  std::vector<BoundPtr> groups;
  std::vector<std::vector<uint32_t>> grouping_sets;   // positions in groups; empty = one set, of all
  std::vector<std::vector<uint32_t>> grouping_calls;  // GROUPING(...): positions in groups
  std::vector<Aggregate> aggregates;
  std::vector<BoundPtr> having;
  std::vector<WindowCall> windows;
  std::vector<OutputColumn> outputs;
  bool distinct = false;
  std::vector<uint32_t> distinct_on;  // positions in outputs
  std::vector<OrderItem> order;
  BoundPtr limit;          // bigint
  BoundPtr offset;         // bigint
  bool with_ties = false;  // LIMIT takes the peers of its last row too
  SetOp set = SetOp::kNone;
  bool set_all = false;
  std::unique_ptr<BoundQuery> left, right;
  bool correlated = false;                // refers to a relation of an enclosing query
  std::shared_ptr<const BoundWith> with;  // of a whole statement: WITH that changes something

  size_t visible_outputs() const {
    size_t n = 0;
    for (const auto& output : outputs) n += output.hidden ? 0 : 1;
    return n;
  }
};

struct BoundDml;

struct CommonQuery {
  std::unique_ptr<BoundQuery> query;      // of a recursive one: the term that does not refer to it
  std::unique_ptr<BoundQuery> recursive;  // the term that does
  bool keeps_duplicates = false;          // recursive: UNION ALL
  bool always_materialised = false;       // else a single reference is inlined
  uint32_t references = 0;
  std::vector<RelationColumn> columns;
  // A part of a WITH that changes something: run once, its rows are kept. References are relations of kind kFunction.
  bool is_part = false;
  std::unique_ptr<BoundDml> dml;  // instead of query; the rows are those of RETURNING
  ~CommonQuery();
};

// WITH whose queries change something. All parts, the main statement among them, see the tables as they were: parts
// that run after one that changed a table read a copy of it, and leave alone the rows that were changed.
struct BoundWith {
  std::vector<std::shared_ptr<CommonQuery>> copies;    // tables as they were
  std::vector<std::shared_ptr<CommonQuery>> before;    // what the main statement reads, in order
  std::vector<std::shared_ptr<CommonQuery>> after;     // changes that nobody reads, and what they read
  std::vector<std::shared_ptr<storage::Table>> noted;  // tables whose changed rows are to be known
};

struct ColumnAssignment {
  uint32_t column = 0;
  BoundPtr value;
  BoundPtr generated;    // GENERATED ALWAYS AS: over BoundDml::new_row, instead of value
  bool is_part = false;  // SET a[1] = ...: the value is the column's, changed there
};

enum class DmlKind : uint8_t { kInsert, kUpdate, kDelete, kMerge };

// What must not be false for a row that was changed.
struct RowCheck {
  BoundPtr condition;
  std::string sqlstate, message;
  // DETAIL: text, the values of these columns, text; behind the last one, after a NUL, the mark of a deferrable key
  // (DeferredChecks::mark_of()).
  std::string detail_before, detail_after;
  std::vector<uint32_t> detail_columns;
};

struct BoundDml;

// Whether the statement gives one of the columns a value.
bool assigns_any(const BoundDml& dml, const std::vector<uint32_t>& columns);
// Whether what reads the row `row` may be another after the statement: all of an INSERT, of an UPDATE what it assigns.
bool may_change(const BoundDml& dml, const BoundExpr& expr, uint32_t row);
// DETAIL of the check: the row that it refuses.
void show_failing_row(const BoundDml& dml, RowCheck* check);

// DETAIL of 23502 and 23514: these columns of the row that a change refuses, behind `before`. The role must be allowed
// to read the table; else there are only the columns that the statement names. Without columns there is no DETAIL.
struct FailingRow {
  std::string before;
  std::vector<uint32_t> columns;
};

// What a change of a referenced row does to those that refer to it.
struct RowReaction {
  BoundPtr condition;  // over old and new row; nullptr: always
  RowCheck check;      // NO ACTION, RESTRICT; SET DEFAULT: behind the action, as the default may be the old key
  std::unique_ptr<BoundDml> action;
};

// INSERT ... ON CONFLICT
struct BoundConflict {
  std::vector<uint32_t> indexes;       // positions of the unique indexes that decide
  std::unique_ptr<Relation> excluded;  // DO UPDATE: the row that was to be inserted
  std::unique_ptr<BoundDml> update;    // null: DO NOTHING. Its source has WHERE only
};

// A trigger that a statement fires: a routine that takes the columns of OLD and NEW, those of them that its event has,
// and gives a number (0: go on, 1: skip the row) and the columns of the row to go on with.
struct TriggerCall {
  std::shared_ptr<const Routine> routine;
  uint32_t callee = 0;
  BoundPtr when;  // over old_relation and new_relation
};

struct BoundTriggers {
  uint32_t old_relation = 0, new_relation = 0;
  // before_row of a view: INSTEAD OF
  std::vector<TriggerCall> before_statement, before_row, after_row, after_statement;
  bool keeps_old = false, keeps_new = false;  // transition tables that some of them see

  bool sees_rows_after() const { return keeps_old || keeps_new || !after_row.empty(); }
};

// WHEN of a MERGE.
struct BoundMergeWhen {
  bool matched = false;
  std::vector<BoundPtr> condition;  // conjuncts
  std::vector<BoundPtr> values;     // INSERT: by table column
  // null: DO NOTHING. The source of an INSERT reads `rows`, a part that holds the values; that of others is empty.
  std::unique_ptr<BoundDml> action;
  std::shared_ptr<CommonQuery> rows;
};

struct BoundMerge {
  std::shared_ptr<CommonQuery> rows;    // of the source, with their numbers as the last column
  std::unique_ptr<Relation> unmatched;  // the rows once more, of the same number as the relation in the source
  std::vector<BoundMergeWhen> whens;
};

struct ViewTarget;  // bind/view_target.h

struct BoundDml {
  DmlKind kind = DmlKind::kInsert;
  uint32_t relation = 0;  // id of the target in RETURNING, WHERE and SET expressions
  std::shared_ptr<storage::Table> table;
  // Instead of table: a view, whose INSTEAD OF triggers change something. Source of UPDATE and DELETE: its outputs are
  // the columns of the view, then the assigned values, then `others`.
  std::shared_ptr<const storage::TableSchema> view;
  std::shared_ptr<ViewTarget> through;                // while it is bound: the view that the statement names
  std::vector<std::pair<uint32_t, uint32_t>> others;  // relation and column: what RETURNING reads besides
  std::unique_ptr<BoundQuery> source;  // INSERT: outputs by table column order (all columns). UPDATE, DELETE: a query
                                       // over target (its first relation) and FROM; its outputs are unused
  std::vector<ColumnAssignment> assignments;  // UPDATE
  std::vector<OutputColumn> returning;
  std::unique_ptr<BoundConflict> conflict;
  // The row as it was and as it will be, for what follows; null where nothing asks for it.
  std::unique_ptr<Relation> old_row, new_row;
  std::vector<ColumnAssignment> generated;  // INSERT: columns computed of the others
  std::vector<RowCheck> checks;             // over new_row, before the row changes
  std::vector<uint32_t> named_columns;      // that the statement itself gives a value to
  FailingRow failing_row;
  // Foreign keys: when the statement has changed all its rows.
  std::vector<RowCheck> references;                // over new_row
  std::vector<RowReaction> reactions;              // over old_row and new_row
  std::vector<uint32_t> old_columns, new_columns;  // that they read
  bool checks_at_once = false;                     // no reactions, and no row that it refers to can change meanwhile
  const BoundDml* events_of = nullptr;             // reacts as part of this statement, which it is an action of
  std::unique_ptr<BoundTriggers> triggers;         // null: none
  std::shared_ptr<const BoundWith> with;           // of a whole statement: WITH that changes something
  bool skips_changed = false;                      // leaves alone what an earlier part has changed
  std::unique_ptr<BoundMerge> merge;               // MERGE; its source joins target and rows

  const storage::TableSchema& schema() const { return view != nullptr ? *view : table->schema(); }
};

struct Variable {
  std::string name;
  SqlType type;
  bool not_null = false;
  bool constant = false;
  uint32_t domain = 0;         // what is assigned is of, and
  uint32_t domain_call = ~0u;  // goes through this callee (kNoVariable: none)
};

// --- PL/pgSQL ---
enum class StepKind : uint8_t {
  kBlock,
  kAssign,
  kAssignElement,
  kIf,
  kLoop,
  kWhile,
  kForInteger,
  kForQuery,
  kForEach,
  kExit,
  kReturn,
  kRaise,
  kQuery,
  kDml,
  kCall,
  kPerform,
  kReturnNext,   // args: the row; none: the OUT parameters
  kReturnQuery,  // query or dml; or dynamic: expr, args
  kExecute,      // expr: the text; args: USING; into
  kForRows,      // FOR ... IN EXECUTE: expr, args, into, body; or over the rows that dml returns
  kOpen,         // variable: the cursor's name; query, or dynamic: expr, args
  kFetch,        // variable, direction, expr: count, into; MOVE: no into
  kClose,
  kTransaction,  // commit
};

struct Step;
using StepList = std::vector<std::unique_ptr<Step>>;

// A record whose shape nobody knows before it runs: its fields are texts that become what their place wants.
struct LooseRecord {
  std::vector<std::string> names;
  std::vector<uint32_t> variables;
};

struct IntoTargets {
  bool present = false;
  bool strict = false;
  std::vector<uint32_t> variables;           // values are assigned with assignment casts to their types
  std::shared_ptr<const LooseRecord> loose;  // instead of variables
};

// What a handler knows of its error, and the names of the variables; no identifier has a space first.
constexpr const char* kErrorFields[] = {"sqlstate",    "sqlerrm",   " detail", " hint",   " column",
                                        " constraint", " datatype", " table",  " schema", " context"};
constexpr size_t kErrorFieldCount = std::size(kErrorFields);
// How RAISE ... USING and rt_raise() call them.
constexpr const char* kRaiseOptions[] = {"errcode",    "message",  "detail", "hint",  "column",
                                         "constraint", "datatype", "table",  "schema"};
constexpr size_t kRaiseOptionCount = std::size(kRaiseOptions);

// What a statement leaves in FOUND and ROW_COUNT when it has ended; one that fails leaves both alone.
enum class Tells : uint8_t {
  kRows,     // its rows
  kNothing,  // assignments, unless an expression is run as a query
  kOneRow,   // such an assignment: ROW_COUNT only
  kNoRows,   // a command that knows no rows: ROW_COUNT only
};

struct HandlerClause {
  std::vector<uint32_t> variables;     // texts, in the order of kErrorFields
  std::vector<std::string> sqlstates;  // five characters each, classes as "22000"; "OTHERS" for the rest
  StepList body;
};

struct Step {
  StepKind kind = StepKind::kBlock;
  int32_t location = -1;
  int32_t line = 0;
  uint32_t label = 0;  // blocks and loops: number that exits name, 0 = none
  StepList body;
  StepList declarations;  // kBlock: initial values, in order
  // kAssign, kAssignElement (index expression), kWhile, kForInteger, kReturn, kAssert ...
  uint32_t variable = 0;
  BoundPtr expr, expr2, expr3;
  // kIf: condition/body pairs, then the else branch in `body`
  std::vector<std::pair<BoundPtr, StepList>> branches;
  bool reverse = false;
  uint8_t direction = 0;  // kFetch: plpgsql::FetchDirection
  bool all = false;       // kFetch: FORWARD ALL, BACKWARD ALL
  bool scroll = true;     // kOpen
  bool tracked = false;   // kOpen: its rows are known to WHERE CURRENT OF,
  bool locks = false;     // by FOR UPDATE
  // kFetch for WHERE CURRENT OF, expr: the portal; the cursor as it is called, the first column, the table.
  std::vector<std::string> current_of;
  bool commit = false;                // kTransaction
  bool in_handlers = false;           // kTransaction: inside a block with EXCEPTION
  bool is_continue = false;           // kExit
  Tells tells = Tells::kRows;         // kQuery, kDml; kAssign: kNoRows
  std::unique_ptr<BoundQuery> query;  // kForQuery, kQuery, kPerform
  std::unique_ptr<BoundDml> dml;
  IntoTargets into;                     // also the loop variables of kForQuery
  std::vector<HandlerClause> handlers;  // kBlock
  bool has_handlers = false;
  // kRaise
  std::string level;  // exception, notice, warning, info, log, debug; "" = re-raise
  std::string format;
  std::vector<BoundPtr> args;                             // also kCall's arguments
  std::vector<std::pair<std::string, BoundPtr>> options;  // errcode, detail, hint, message
  std::shared_ptr<const Routine> routine;                 // kCall
  std::vector<uint32_t> outputs;  // kCall: variables that receive OUT and INOUT values; kNoVariable = dropped
};
constexpr uint32_t kNoVariable = ~0u;

// Rows that a trigger function sees as a table (REFERENCING): its variable holds the address of their RowBuffer.
struct TransitionTable {
  std::shared_ptr<CommonQuery> rows;  // a part
  uint32_t variable = 0;
};

// What is compiled: one statement or one routine's body.
struct BoundProgram {
  std::string name;
  std::vector<Variable> variables;  // the first `parameters` are the arguments
  uint32_t parameters = 0;
  std::vector<RelationColumn> columns;  // of the result; empty = none
  // exactly one of these:
  std::unique_ptr<BoundQuery> query;
  std::unique_ptr<BoundDml> dml;
  StepList steps;
  bool is_routine = false;
  std::vector<TransitionTable> transitions;
  std::vector<uint32_t> result_variables;  // routine: OUT and INOUT parameters in order
  SqlType return_type;                     // function; kUnknown: procedure, block
  bool returns_set = false;                // function: rows of `columns`
  uint32_t found_variable = kNoVariable;   // routine: FOUND
  bool asks_row_count = false;             // routine: GET DIAGNOSTICS ... = ROW_COUNT
  uint32_t relation_count = 0;
  uint32_t label_count = 0;
  // Found while binding:
  bool writes = false;
  bool writes_shared = false;
  bool volatile_result = false;
  bool is_dynamic = false;  // runs statements that are not known yet
  std::vector<std::shared_ptr<const Routine>> callees;
};

}  // namespace scyper::query
