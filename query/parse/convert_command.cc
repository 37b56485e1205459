#include "parse/scanner.h"
//
#include "parse/converter.h"
#include "parse/printer.h"

namespace scyper::query {

namespace {

bool is_blank(char c) { return c == ' ' || (c >= '\t' && c <= '\r'); }

}  // namespace

ast::StatementPtr Converter::top_statement(const RawStmt& raw) {
  ast::StatementPtr out = statement(raw.stmt);
  if (failed_ || out == nullptr) return nullptr;
  // PostgreSQL counts the blanks and comments before a statement as its own
  const size_t begin = raw.stmt_location < 0 ? 0 : static_cast<size_t>(raw.stmt_location);
  size_t end = raw.stmt_len > 0 ? begin + static_cast<size_t>(raw.stmt_len) : text_.size();
  while (end > begin && is_blank(text_[end - 1])) --end;
  const auto first = scan(text_.substr(begin), 1);
  const size_t skipped = first.ok() ? static_cast<size_t>(first->front().begin) : 0;
  out->location = at(static_cast<int>(begin + skipped));
  out->length = static_cast<int32_t>(end - begin - skipped);
  return out;
}

ast::StatementPtr Converter::statement(const void* node) {
  if (node == nullptr || failed_) return nullptr;
  const Level level(*this);
  if (failed_) return nullptr;
  return statement_by_tag(static_cast<const Node*>(node));
}

ast::StatementPtr Converter::statement_by_tag(const Node* node) {
  switch (nodeTag(node)) {
    case T_SelectStmt:
      return ast::StatementPtr(select_body(to<SelectStmt>(node)).release());
    case T_InsertStmt:
      return insert(to<InsertStmt>(node));
    case T_UpdateStmt:
      return update(to<UpdateStmt>(node));
    case T_DeleteStmt:
      return delete_from(to<DeleteStmt>(node));
    case T_MergeStmt:
      return merge(to<MergeStmt>(node));
    case T_CreateStmt:
      return create_table(to<CreateStmt>(node));
    case T_CreateTableAsStmt:
      return create_table_as(to<CreateTableAsStmt>(node));
    case T_IndexStmt:
      return create_index(to<IndexStmt>(node));
    case T_ViewStmt:
      return create_view(to<ViewStmt>(node));
    case T_CreateSchemaStmt:
      return create_schema(to<CreateSchemaStmt>(node));
    case T_AlterSeqStmt:
      return alter_sequence(to<AlterSeqStmt>(node));
    case T_CreateSeqStmt:
      return create_sequence(to<CreateSeqStmt>(node));
    case T_CompositeTypeStmt:
      return create_composite(to<CompositeTypeStmt>(node));
    case T_CreateEnumStmt:
      return create_enum(to<CreateEnumStmt>(node));
    case T_AlterEnumStmt:
      return alter_enum(to<AlterEnumStmt>(node));
    case T_CreateDomainStmt:
      return create_domain(to<CreateDomainStmt>(node));
    case T_AlterDomainStmt:
      return alter_domain(to<AlterDomainStmt>(node));
    case T_CreateTrigStmt:
      return create_trigger(to<CreateTrigStmt>(node));
    case T_CreateFunctionStmt:
      return create_routine(to<CreateFunctionStmt>(node));
    case T_AlterTableStmt:
      return alter_table(to<AlterTableStmt>(node));
    case T_AlterObjectSchemaStmt:
      return set_schema(to<AlterObjectSchemaStmt>(node));
    case T_RenameStmt:
      return rename(to<RenameStmt>(node));
    case T_DropStmt:
      return drop(to<DropStmt>(node));
    case T_CommentStmt:
      return comment(to<CommentStmt>(node));
    case T_TruncateStmt:
      return truncate(to<TruncateStmt>(node));
    case T_VacuumStmt:
      return to<VacuumStmt>(node).is_vacuumcmd ? command(node) : analyze(to<VacuumStmt>(node));
    case T_CallStmt:
      return call(to<CallStmt>(node));
    case T_DoStmt:
      return do_statement(to<DoStmt>(node));
    case T_ExplainStmt:
      return explain(to<ExplainStmt>(node));
    case T_CopyStmt:
      return copy(to<CopyStmt>(node));
    case T_TransactionStmt:
      return transaction(to<TransactionStmt>(node));
    case T_VariableSetStmt:
      return set(to<VariableSetStmt>(node));
    default:
      return access_statement(node);
  }
}

ast::StatementPtr Converter::command(const Node* node) {
  switch (nodeTag(node)) {
    case T_VariableShowStmt: {
      auto out = std::make_unique<ast::ShowStatement>();
      out->name = text_of(to<VariableShowStmt>(node).name);
      return out;
    }
    case T_PrepareStmt: {
      const auto& prepare = to<PrepareStmt>(node);
      auto out = std::make_unique<ast::PrepareStatement>();
      out->name = text_of(prepare.name);
      for (const Node* type : items(prepare.argtypes)) out->types.push_back(type_name(&to<::TypeName>(type)));
      out->statement = statement(prepare.query);
      return out;
    }
    case T_ExecuteStmt: {
      auto out = std::make_unique<ast::ExecuteStatement>();
      out->name = text_of(to<ExecuteStmt>(node).name);
      out->args = exprs(to<ExecuteStmt>(node).params);
      return out;
    }
    case T_AlterFunctionStmt:
      return alter_routine(to<AlterFunctionStmt>(node));
    case T_RefreshMatViewStmt:
      return refresh(to<RefreshMatViewStmt>(node));
    case T_CreateForeignTableStmt:
      return create_foreign_table(to<CreateForeignTableStmt>(node));
    case T_CreateForeignServerStmt:
      return create_foreign_server(to<CreateForeignServerStmt>(node));
    case T_CreateExtensionStmt:
      return create_extension(to<CreateExtensionStmt>(node));
    case T_DeallocateStmt: {
      auto out = std::make_unique<ast::DeallocateStatement>();
      out->name = text_of(to<DeallocateStmt>(node).name);
      return out;
    }
    default: {
      auto out = std::make_unique<ast::UnsupportedStatement>();
      out->command = command_name(node);
      if (nodeTag(node) == T_LockStmt) out->stands_for = lock_query(to<LockStmt>(node));
      if (is_needless(node)) out->stands_for = "1";
      if (nodeTag(node) == T_ConstraintsSetStmt) out->stands_for = constraints_query(to<ConstraintsSetStmt>(node));
      if (nodeTag(node) == T_NotifyStmt) out->stands_for = notify_query(to<NotifyStmt>(node));
      return out;
    }
  }
}

// What there is nothing to do for: rows that are gone leave no garbage, indexes do not bloat, the language is built in.
bool Converter::is_needless(const Node* node) {
  if (nodeTag(node) == T_VacuumStmt) return to<VacuumStmt>(node).is_vacuumcmd;
  if (nodeTag(node) == T_CreateExtensionStmt)
    return to<CreateExtensionStmt>(node).if_not_exists && text_of(to<CreateExtensionStmt>(node).extname) == "plpgsql";
  return nodeTag(node) == T_ReindexStmt;
}

// What it locks is there, no block has what the lock excludes, and nothing runs beside the transaction. One of the
// rights is enough (PostgreSQL's LockTableAclCheck()).
std::string Converter::lock_query(const LockStmt& node) {
  constexpr int kAccessShare = 1, kRowExclusive = 3, kShare = 5, kExclusive = 7;  // PostgreSQL's lockdefs.h
  // PostgreSQL's blocks hold ROW EXCLUSIVE on what they have changed, ROW SHARE where they have locked rows
  const int excluded = node.mode >= kExclusive ? 2 : node.mode >= kShare ? 1 : 0;
  const std::string_view rights = node.mode == kAccessShare    ? "SELECT"
                                  : node.mode == kRowExclusive ? "INSERT, UPDATE, DELETE, TRUNCATE"
                                                               : "UPDATE, DELETE, TRUNCATE";
  std::string query = "\" lock_advisory_all\"()";
  for (const Node* relation : items(node.relations)) {
    std::string name;
    for (const std::string& part : table_ref(&to<RangeVar>(relation)).name)
      name += (name.empty() ? "" : ".") + quote_identifier(part);
    query += ", pg_catalog.scyper_may_lock(has_table_privilege(" + quote_literal(name) + "::regclass, '" +
             std::string(rights) + "'), ";
    query += quote_literal(table_ref(&to<RangeVar>(relation)).name.back()) + ", " + quote_literal(name) +
             "::regclass::bigint, " + std::to_string(excluded) + (node.nowait ? ", true)" : ", false)");
  }
  return query;
}

// All constraints in one call: that one of them is missing leaves the others alone.
std::string Converter::constraints_query(const ConstraintsSetStmt& node) {
  std::string query = node.deferred ? "\" set_constraints\"(true" : "\" set_constraints\"(false";
  for (const Node* constraint : items(node.constraints)) {
    const auto& range = to<RangeVar>(constraint);
    const std::string schema = text_of(range.schemaname);
    query += ", " + quote_literal(schema) + ", " + quote_literal(text_of(range.relname));
  }
  return query + ")";
}

std::string Converter::notify_query(const NotifyStmt& node) {
  return "pg_notify(" + quote_literal(text_of(node.conditionname)) + ", " + quote_literal(text_of(node.payload)) + ")";
}

std::unique_ptr<ast::CallStatement> Converter::call(const CallStmt& node) {
  auto out = std::make_unique<ast::CallStatement>();
  ast::ExprPtr called = expr(node.funccall);
  if (called != nullptr && called->kind == ast::ExprKind::kFunctionCall) {
    out->call.reset(static_cast<ast::FunctionCall*>(called.release()));
  }
  return out;
}

std::unique_ptr<ast::ExplainStatement> Converter::explain(const ExplainStmt& node) {
  auto out = std::make_unique<ast::ExplainStatement>();
  out->options = options(node.options);
  out->statement = statement(node.query);
  return out;
}

std::unique_ptr<ast::CopyStatement> Converter::copy(const CopyStmt& node) {
  auto out = std::make_unique<ast::CopyStatement>();
  out->from = node.is_from;
  out->has_table = node.relation != nullptr;
  out->table = table_ref(node.relation);
  out->columns = name_of(node.attlist);
  out->query = statement(node.query);
  out->program = node.is_program;
  out->file = text_of(node.filename);
  out->options = options(node.options);
  out->where = expr(node.whereClause);
  return out;
}

std::unique_ptr<ast::TransactionStatement> Converter::transaction(const TransactionStmt& node) {
  using Action = ast::TransactionAction;
  auto out = std::make_unique<ast::TransactionStatement>();
  switch (node.kind) {
    case TRANS_STMT_BEGIN:
    case TRANS_STMT_START:
      out->action = Action::kBegin;
      break;
    case TRANS_STMT_COMMIT:
      out->action = Action::kCommit;
      break;
    case TRANS_STMT_ROLLBACK:
      out->action = Action::kRollback;
      break;
    case TRANS_STMT_SAVEPOINT:
      out->action = Action::kSavepoint;
      break;
    case TRANS_STMT_RELEASE:
      out->action = Action::kRelease;
      break;
    case TRANS_STMT_ROLLBACK_TO:
      out->action = Action::kRollbackTo;
      break;
    case TRANS_STMT_PREPARE:
      out->action = Action::kPrepare;
      break;
    case TRANS_STMT_COMMIT_PREPARED:
      out->action = Action::kCommitPrepared;
      break;
    case TRANS_STMT_ROLLBACK_PREPARED:
      out->action = Action::kRollbackPrepared;
      break;
  }
  out->name = text_of(node.savepoint_name != nullptr ? node.savepoint_name : node.gid);
  out->chain = node.chain;
  out->modes = options(node.options);
  return out;
}

std::unique_ptr<ast::SetStatement> Converter::set(const VariableSetStmt& node) {
  using Action = ast::SetAction;
  auto out = std::make_unique<ast::SetStatement>();
  out->name = text_of(node.name);
  out->local = node.is_local;
  switch (node.kind) {
    case VAR_SET_VALUE:
      out->action = Action::kSet;
      break;
    case VAR_SET_DEFAULT:
      out->action = Action::kSetDefault;
      break;
    case VAR_SET_CURRENT:
      out->action = Action::kFromCurrent;
      break;
    case VAR_SET_MULTI:
      out->action = Action::kSetTransaction;
      break;
    case VAR_RESET:
      out->action = Action::kReset;
      break;
    case VAR_RESET_ALL:
      out->action = Action::kResetAll;
      break;
  }
  for (const Node* arg : items(node.args)) {
    if (nodeTag(arg) == T_DefElem) {
      out->modes.push_back(option(to<DefElem>(arg)));
    } else {
      out->values.push_back(expr(arg));
    }
  }
  return out;
}

std::unique_ptr<ast::TruncateStatement> Converter::truncate(const TruncateStmt& node) {
  auto out = std::make_unique<ast::TruncateStatement>();
  for (const Node* table : items(node.relations)) out->tables.push_back(table_ref(&to<RangeVar>(table)));
  out->restart_identity = node.restart_seqs;
  out->cascade = node.behavior == DROP_CASCADE;
  return out;
}

ast::StatementPtr Converter::analyze(const VacuumStmt& node) {
  auto out = std::make_unique<ast::AnalyzeStatement>();
  for (const Node* item : items(node.options)) out->options.push_back(option(to<DefElem>(item)));
  for (const Node* item : items(node.rels)) {
    const auto& relation = to<VacuumRelation>(item);
    out->targets.push_back({table_ref(relation.relation), name_of(relation.va_cols)});
  }
  return out;
}

void Converter::option_value(const Node* value, ast::Option& out) {
  if (value == nullptr) return;
  out.has_value = true;
  switch (nodeTag(value)) {
    case T_String:
      out.value = strVal(value);
      break;
    case T_Integer:
      out.value = std::to_string(intVal(value));
      break;
    case T_Float:
      out.value = to<Float>(value).fval;
      break;
    case T_Boolean:
      out.value = boolVal(value) ? "true" : "false";
      break;
    case T_A_Star:
      out.value = "*";
      break;
    case T_TypeName:
      out.value = name_of(to<::TypeName>(value).names).back();
      break;
    case T_A_Const: {
      const ast::ExprPtr constant_value = expr(value);
      if (constant_value == nullptr) return;
      const auto& literal = static_cast<const ast::Literal&>(*constant_value);
      out.value = literal.type == ast::LiteralType::kInteger ? std::to_string(literal.int_value)
                  : literal.type == ast::LiteralType::kBool  ? (literal.bool_value ? "true" : "false")
                                                             : literal.text;
      break;
    }
    case T_List:
      for (const Node* item : items(reinterpret_cast<const List*>(value))) {
        if (nodeTag(item) == T_String) out.list.push_back(string_of(item));
      }
      break;
    default:
      refuse("the value of option \"" + out.name + "\"", -1);
  }
}

ast::Option Converter::option(const DefElem& node) {
  ast::Option out;
  out.name_space = text_of(node.defnamespace);
  out.name = text_of(node.defname);
  out.location = at(node.location);
  option_value(node.arg, out);
  if (!original_.empty() && out.name == "layout" && node.location >= 0) {  // layout = row, see sql_parser.cc
    const auto tokens = scan(original_.substr(static_cast<size_t>(node.location)), 3);
    if (tokens.ok() && tokens->size() == 3 && value_of((*tokens)[2]) == "row") out.value = "row";
  }
  return out;
}

std::vector<ast::Option> Converter::options(const List* list) {
  std::vector<ast::Option> out;
  for (const Node* item : items(list)) out.push_back(option(to<DefElem>(item)));
  return out;
}

}  // namespace scyper::query
