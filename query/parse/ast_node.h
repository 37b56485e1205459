#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/invariant.h"

namespace scyper::query::ast {

// A possibly qualified name, outermost part first: {"schema", "table"}. Folded to lower case unless it was quoted.
using Name = std::vector<std::string>;

// Byte offset of a node's first token in the text given to the parser; -1 = unknown (made by the grammar).
using Location = int32_t;

enum class ExprKind : uint8_t {
  kLiteral,
  kParameter,
  kColumnRef,
  kFieldSelect,
  kSubscript,
  kArrayConstructor,
  kRowConstructor,
  kFunctionCall,
  kUnaryOp,
  kBinaryOp,
  kLogical,
  kNot,
  kNullTest,
  kBooleanTest,
  kIsDistinct,
  kBetween,
  kInList,
  kInSubquery,
  kQuantifiedArray,
  kQuantifiedSubquery,
  kExists,
  kScalarSubquery,
  kArraySubquery,
  kLike,
  kCase,
  kCoalesce,
  kNullIf,
  kMinMax,
  kCast,
  kCollate,
  kValueFunction,
  kGroupingCall,
  kGroupingSet,
  kDefaultMarker,
  kCurrentOf,
};

struct Expr {
  explicit Expr(ExprKind k) : kind(k) {}
  virtual ~Expr() = default;
  Expr(const Expr&) = delete;
  Expr& operator=(const Expr&) = delete;

  const ExprKind kind;
  Location location = -1;
};
using ExprPtr = std::unique_ptr<Expr>;

enum class FromKind : uint8_t { kTable, kSubquery, kFunction, kJoin };

struct FromItem {
  explicit FromItem(FromKind k) : kind(k) {}
  virtual ~FromItem() = default;
  FromItem(const FromItem&) = delete;
  FromItem& operator=(const FromItem&) = delete;

  const FromKind kind;
  Location location = -1;
};
using FromItemPtr = std::unique_ptr<FromItem>;

enum class StatementKind : uint8_t {
  kSelect,
  kInsert,
  kUpdate,
  kDelete,
  kMerge,
  kCreateTable,
  kCreateTableAs,
  kCreateIndex,
  kCreateView,
  kCreateForeignTable,
  kCreateForeignServer,
  kCreateExtension,
  kCreateSchema,
  kCreateSequence,
  kCreateEnum,
  kAlterEnum,
  kCreateDomain,
  kAlterDomain,
  kCreateRole,
  kAlterRole,
  kDropRole,
  kGrantRole,
  kGrant,
  kOwner,
  kAlterSettings,
  kDatabase,
  kCreateRoutine,
  kAlterRoutine,
  kCreateTrigger,
  kAlterTable,
  kRename,
  kDrop,
  kTruncate,
  kRefresh,
  kAnalyze,
  kComment,
  kCall,
  kDo,
  kExplain,
  kCopy,
  kTransaction,
  kSet,
  kShow,
  kPrepare,
  kExecute,
  kDeallocate,
  kUnsupported,
};

struct Statement {
  explicit Statement(StatementKind k) : kind(k) {}
  virtual ~Statement() = default;
  Statement(const Statement&) = delete;
  Statement& operator=(const Statement&) = delete;

  const StatementKind kind;
  Location location = -1;  // of a top-level statement: its first token; of a nested one possibly -1
  int32_t length = 0;      // bytes of a top-level statement's text, without the semicolon; 0 = nested
};
using StatementPtr = std::unique_ptr<Statement>;

// The struct a tag belongs to inherits from one of these, so that T::kKind names the tag.
template <ExprKind K>
struct ExprNode : Expr {
  static constexpr ExprKind kKind = K;
  ExprNode() : Expr(K) {}
};
template <FromKind K>
struct FromNode : FromItem {
  static constexpr FromKind kKind = K;
  FromNode() : FromItem(K) {}
};
template <StatementKind K>
struct StatementNode : Statement {
  static constexpr StatementKind kKind = K;
  StatementNode() : Statement(K) {}
};

// node_as<BinaryOp>(expr): the node as what its tag says it is; a wrong tag is a programmer error.
template <class T, class Base>
const T& node_as(const Base& node) {
  INVARIANT(node.kind == T::kKind);
  return static_cast<const T&>(node);
}
template <class T, class Base>
T& node_as(Base& node) {
  INVARIANT(node.kind == T::kKind);
  return static_cast<T&>(node);
}
// The same, nullptr for another tag or for nullptr.
template <class T, class Base>
const T* node_if(const Base* node) {
  return node != nullptr && node->kind == T::kKind ? static_cast<const T*>(node) : nullptr;
}

// A type as written: numeric(12, 2)[] is {"numeric"}, modifiers 12 and 2, one array bound. Resolve with resolve_type()
// (parse/type_resolver.h). PostgreSQL's grammar puts its own spellings under pg_catalog: integer is {"pg_catalog",
// "int4"}.
struct TypeName {
  Name name;
  std::vector<ExprPtr> modifiers;
  std::vector<int32_t> array_bounds;  // one per dimension, -1 = none given
  bool setof = false;
  bool percent_type = false;     // name%TYPE: `name` is a variable or table.column
  bool percent_rowtype = false;  // name%ROWTYPE (PL/pgSQL only)
  Location location = -1;
};

// name = value in WITH (...), EXPLAIN (...), COPY ... (...), CREATE SEQUENCE ....
struct Option {
  std::string name_space;  // "toast" of toast.x, usually empty
  std::string name;
  bool has_value = false;
  std::string value;              // as text: digits, word or string; items of a list are in `list`
  std::vector<std::string> list;  // FORCE_QUOTE (a, b)
  Location location = -1;
};

}  // namespace scyper::query::ast
