#pragma once

#include "parse/ast_query.h"

namespace scyper::query::ast {

// CALL procedure(args)
struct CallStatement : StatementNode<StatementKind::kCall> {
  std::unique_ptr<FunctionCall> call;
};

// DO [LANGUAGE x] 'body'
struct DoStatement : StatementNode<StatementKind::kDo> {
  std::string language;  // empty = plpgsql
  std::string body;
  Location body_location = -1;  // as CreateRoutineStatement::body_location
};

struct ExplainStatement : StatementNode<StatementKind::kExplain> {
  std::vector<Option> options;  // names in lower case; `EXPLAIN ANALYZE VERBOSE` arrives as options too
  StatementPtr statement;
};

struct CopyStatement : StatementNode<StatementKind::kCopy> {
  bool from = false;  // COPY ... FROM (false: TO)
  bool has_table = false;
  TableRef table;
  std::vector<std::string> columns;
  StatementPtr query;  // COPY (query) TO
  bool program = false;
  std::string file;  // empty = STDIN or STDOUT
  std::vector<Option> options;
  ExprPtr where;
};

enum class TransactionAction : uint8_t {
  kBegin,
  kCommit,
  kRollback,
  kSavepoint,
  kRelease,
  kRollbackTo,
  kPrepare,
  kCommitPrepared,
  kRollbackPrepared,
};

struct TransactionStatement : StatementNode<StatementKind::kTransaction> {
  TransactionAction action = TransactionAction::kBegin;
  std::string name;  // savepoint or prepared transaction
  bool chain = false;
  std::vector<Option> modes;  // transaction_isolation, transaction_read_only, transaction_deferrable
};

enum class SetAction : uint8_t {
  kSet,
  kSetDefault,      // SET x TO DEFAULT
  kSetTransaction,  // SET TRANSACTION / SESSION CHARACTERISTICS: modes
  kReset,
  kResetAll,
  kFromCurrent,  // SET x FROM CURRENT
};

struct SetStatement : StatementNode<StatementKind::kSet> {
  SetAction action = SetAction::kSet;
  std::string name;  // of kSetTransaction: "TRANSACTION", "SESSION CHARACTERISTICS", "TRANSACTION SNAPSHOT"
  bool local = false;
  std::vector<ExprPtr> values;  // Literals, or a Cast of one (SET TIME ZONE INTERVAL ...)
  std::vector<Option> modes;
};

// SHOW name; "all" for SHOW ALL
struct ShowStatement : StatementNode<StatementKind::kShow> {
  std::string name;
};

struct PrepareStatement : StatementNode<StatementKind::kPrepare> {
  std::string name;
  std::vector<TypeName> types;
  StatementPtr statement;
};

struct ExecuteStatement : StatementNode<StatementKind::kExecute> {
  std::string name;
  std::vector<ExprPtr> args;
};

struct DeallocateStatement : StatementNode<StatementKind::kDeallocate> {
  std::string name;  // empty = ALL
};

// A statement that the grammar knows and the tree does not carry. Refuse with 0A000 and its name.
struct UnsupportedStatement : StatementNode<StatementKind::kUnsupported> {
  std::string stands_for;  // what PERFORM does the same with (LOCK TABLE, NOTIFY); empty: not supported
  std::string command;     // PostgreSQL's command tag: "GRANT", "CREATE TRIGGER", "LISTEN"
};

}  // namespace scyper::query::ast
