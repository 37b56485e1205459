#pragma once

#include <array>

#include "parse/ast.h"

// The syntax tree of a PL/pgSQL body. SQL pieces and expressions are SQL trees (parse/ast.h); which of their names are
// variables is the binder's to say. Locations are byte offsets into the body.
namespace scyper::query::plpgsql {

using ast::ExprPtr;
using ast::Location;
using ast::Name;

enum class StatementKind : uint8_t {
  kBlock,
  kAssign,
  kIf,
  kCase,
  kLoop,
  kWhile,
  kForInteger,
  kForQuery,
  kForCursor,
  kForExecute,
  kForEach,
  kExit,
  kReturn,
  kReturnNext,
  kReturnQuery,
  kRaise,
  kAssert,
  kPerform,
  kCall,
  kSql,
  kExecute,
  kGetDiagnostics,
  kNull,
  kTransaction,
  kOpen,
  kFetch,
  kClose,
};

struct Statement {
  explicit Statement(StatementKind k) : kind(k) {}
  virtual ~Statement() = default;
  Statement(const Statement&) = delete;
  Statement& operator=(const Statement&) = delete;

  const StatementKind kind;
  Location location = -1;
  int32_t line = 0;  // in the body, from 1, as PostgreSQL counts it: "PL/pgSQL function f() line 3 at RAISE"
};
using StatementPtr = std::unique_ptr<Statement>;
using Statements = std::vector<StatementPtr>;

template <StatementKind K>
struct StatementNode : Statement {
  static constexpr StatementKind kKind = K;
  StatementNode() : Statement(K) {}
};

// A variable, or a field of one (r.f, block.v): what INTO, FOR and GET DIAGNOSTICS write to.
struct Target {
  Name name;
  Location location = -1;
};

// INTO [STRICT] targets. No targets = no INTO. One target may be a record or row variable.
struct IntoClause {
  bool strict = false;
  std::vector<Target> targets;
  Location location = -1;
};

enum class ScrollOption : uint8_t { kDefault, kScroll, kNoScroll };

struct CursorParameter {
  std::string name;
  ast::TypeName type;
  Location location = -1;
};

// name [NO] SCROLL CURSOR (parameters) FOR query
struct CursorDeclaration {
  ScrollOption scroll = ScrollOption::kDefault;
  std::vector<CursorParameter> parameters;
  ast::StatementPtr query;
};

// One entry of DECLARE. Exactly one of: alias_for set (name ALIAS FOR other), cursor set, else a variable of `type`,
// where the types record, name%TYPE and name%ROWTYPE are names as any (ast::TypeName says which).
struct Declaration {
  std::string name;
  bool constant = false;
  bool not_null = false;
  ast::TypeName type;
  Name collation;
  ExprPtr initial;  // null: NULL
  Name alias_for;   // "$1" for a positional parameter
  std::unique_ptr<CursorDeclaration> cursor;
  Location location = -1;
};

// One condition of WHEN a OR b: OTHERS, or the SQLSTATEs a name stands for (some names stand for two). A SQLSTATE
// ending in 000 stands for its whole class.
struct Condition {
  std::string name;  // folded; empty when written as SQLSTATE 'xxxxx'
  bool others = false;
  std::vector<std::string> sqlstates;
  Location location = -1;
};

struct ExceptionHandler {
  std::vector<Condition> conditions;
  Statements body;
  Location location = -1;
};

struct Block : StatementNode<StatementKind::kBlock> {
  std::string label;  // empty = none, here and below
  std::vector<Declaration> declarations;
  Statements body;
  std::vector<ExceptionHandler> handlers;  // empty = no EXCEPTION part
};

// target := value. The target is a ColumnRef (variable, r.field, block.variable), Parameter ($1), Subscript or
// FieldSelect.
struct Assign : StatementNode<StatementKind::kAssign> {
  ExprPtr target;
  ExprPtr value;
};

struct IfBranch {
  ExprPtr condition;
  Statements body;
  Location location = -1;
};

// IF and its ELSIFs in order
struct If : StatementNode<StatementKind::kIf> {
  std::vector<IfBranch> branches;
  Statements otherwise;
};

struct CaseBranch {
  std::vector<ExprPtr> conditions;  // values to compare with Case::arg when that is set (several), else one condition
  Statements body;
  Location location = -1;
};

struct Case : StatementNode<StatementKind::kCase> {
  ExprPtr arg;
  std::vector<CaseBranch> branches;
  bool has_else = false;  // without: no match raises 20000 case_not_found
  Statements otherwise;
};

struct Loop : StatementNode<StatementKind::kLoop> {
  std::string label;
  Statements body;
};

struct While : StatementNode<StatementKind::kWhile> {
  std::string label;
  ExprPtr condition;
  Statements body;
};

// FOR variable IN [REVERSE] from .. to [BY step]; declares the integer variable
struct ForInteger : StatementNode<StatementKind::kForInteger> {
  std::string label;
  std::string variable;
  bool reverse = false;
  ExprPtr from;
  ExprPtr to;
  ExprPtr step;  // null: 1
  Statements body;
};

// FOR targets IN query: one record or row variable, or scalars
struct ForQuery : StatementNode<StatementKind::kForQuery> {
  std::string label;
  std::vector<Target> targets;
  ast::StatementPtr query;
  Statements body;
};

// FOR record IN cursor [(args)]; declares the record
struct ForCursor : StatementNode<StatementKind::kForCursor> {
  std::string label;
  Target target;
  Target cursor;
  std::vector<ExprPtr> args;
  std::vector<std::string> arg_names;  // empty, or parallel to args
  Statements body;
};

// FOR targets IN EXECUTE text [USING args]
struct ForExecute : StatementNode<StatementKind::kForExecute> {
  std::string label;
  std::vector<Target> targets;
  ExprPtr text;
  std::vector<ExprPtr> args;
  Statements body;
};

// FOREACH targets [SLICE n] IN ARRAY array
struct ForEach : StatementNode<StatementKind::kForEach> {
  std::string label;
  std::vector<Target> targets;
  int32_t slice = 0;
  ExprPtr array;
  Statements body;
};

// EXIT, CONTINUE
struct Exit : StatementNode<StatementKind::kExit> {
  bool is_continue = false;
  std::string label;
  ExprPtr when;
};

struct Return : StatementNode<StatementKind::kReturn> {
  ExprPtr value;
};

struct ReturnNext : StatementNode<StatementKind::kReturnNext> {
  ExprPtr value;
};

// RETURN QUERY query, RETURN QUERY EXECUTE text USING args
struct ReturnQuery : StatementNode<StatementKind::kReturnQuery> {
  ast::StatementPtr query;  // null: text is set
  ExprPtr text;
  std::vector<ExprPtr> args;
};

enum class RaiseLevel : uint8_t { kDebug, kLog, kInfo, kNotice, kWarning, kException };
enum class RaiseOptionKind : uint8_t {
  kErrcode,
  kMessage,
  kDetail,
  kHint,
  kColumn,
  kConstraint,
  kDatatype,
  kTable,
  kSchema,
};

struct RaiseOption {
  RaiseOptionKind kind = RaiseOptionKind::kMessage;
  ExprPtr value;
};

// RAISE: re-raises the caught error when nothing else is given.
struct Raise : StatementNode<StatementKind::kRaise> {
  RaiseLevel level = RaiseLevel::kException;
  bool reraise = false;
  bool has_format = false;
  std::string format;  // % takes an argument, %% is one percent sign; the counts agree
  std::vector<ExprPtr> args;
  std::string condition;  // RAISE division_by_zero; the name, empty when written as SQLSTATE
  std::string sqlstate;   // of the condition or as written; empty = none given
  std::vector<RaiseOption> options;
};

struct Assert : StatementNode<StatementKind::kAssert> {
  ExprPtr condition;
  ExprPtr message;
};

// PERFORM query: `query` is the SELECT it stands for
struct Perform : StatementNode<StatementKind::kPerform> {
  ast::StatementPtr query;
};

struct Call : StatementNode<StatementKind::kCall> {
  std::unique_ptr<ast::CallStatement> call;
};

// Any SQL statement, its INTO cut out
struct Sql : StatementNode<StatementKind::kSql> {
  ast::StatementPtr statement;
  IntoClause into;
};

// EXECUTE text [INTO targets] [USING args]
struct Execute : StatementNode<StatementKind::kExecute> {
  ExprPtr text;
  IntoClause into;
  std::vector<ExprPtr> args;
};

enum class DiagnosticsItem : uint8_t {
  kRowCount,
  kContext,
  kErrorContext,
  kErrorDetail,
  kErrorHint,
  kReturnedSqlstate,
  kColumnName,
  kConstraintName,
  kDatatypeName,
  kMessageText,
  kTableName,
  kSchemaName,
};

struct DiagnosticsAssignment {
  Target target;
  DiagnosticsItem item = DiagnosticsItem::kRowCount;
};

struct GetDiagnostics : StatementNode<StatementKind::kGetDiagnostics> {
  bool stacked = false;
  std::vector<DiagnosticsAssignment> items;
};

struct Null : StatementNode<StatementKind::kNull> {};

// COMMIT, ROLLBACK [AND CHAIN]
struct Transaction : StatementNode<StatementKind::kTransaction> {
  bool commit = false;
  bool chain = false;
};

// OPEN cursor [(args)], OPEN cursor FOR query, OPEN cursor FOR EXECUTE text USING args
struct Open : StatementNode<StatementKind::kOpen> {
  Target cursor;
  ScrollOption scroll = ScrollOption::kDefault;
  std::vector<ExprPtr> args;  // of a bound cursor, or of USING when text is set
  std::vector<std::string> arg_names;
  ast::StatementPtr query;
  ExprPtr text;
};

enum class FetchDirection : uint8_t { kNext, kPrior, kFirst, kLast, kAbsolute, kRelative, kForward, kBackward };

// FETCH direction FROM cursor INTO targets; MOVE has no targets
struct Fetch : StatementNode<StatementKind::kFetch> {
  bool move = false;
  FetchDirection direction = FetchDirection::kNext;
  bool all = false;  // FORWARD ALL, BACKWARD ALL
  ExprPtr count;     // ABSOLUTE, RELATIVE, FORWARD, BACKWARD
  Target cursor;
  IntoClause into;
};

struct Close : StatementNode<StatementKind::kClose> {
  Target cursor;
};

enum class VariableConflict : uint8_t { kError, kUseVariable, kUseColumn };

// A whole body: the outermost block and the # lines before it.
struct Body {
  VariableConflict variable_conflict = VariableConflict::kError;
  bool print_strict_params = false;
  std::unique_ptr<Block> block;
};

}  // namespace scyper::query::plpgsql
