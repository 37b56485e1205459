#include "parse/text.h"
//
#include "parse/converter.h"

namespace scyper::query {

namespace {

ast::ReferentialAction referential_action(char action) {
  switch (action) {
    case FKCONSTR_ACTION_RESTRICT:
      return ast::ReferentialAction::kRestrict;
    case FKCONSTR_ACTION_CASCADE:
      return ast::ReferentialAction::kCascade;
    case FKCONSTR_ACTION_SETNULL:
      return ast::ReferentialAction::kSetNull;
    case FKCONSTR_ACTION_SETDEFAULT:
      return ast::ReferentialAction::kSetDefault;
    default:
      return ast::ReferentialAction::kNoAction;
  }
}

}  // namespace

ast::Persistence Converter::persistence(const RangeVar* node) {
  return node->relpersistence == 't'   ? ast::Persistence::kTemporary
         : node->relpersistence == 'u' ? ast::Persistence::kUnlogged
                                       : ast::Persistence::kPermanent;
}

namespace {
ast::OnCommit on_commit(OnCommitAction action) {
  return action == ONCOMMIT_DROP          ? ast::OnCommit::kDrop
         : action == ONCOMMIT_DELETE_ROWS ? ast::OnCommit::kDeleteRows
                                          : ast::OnCommit::kPreserveRows;
}
}  // namespace

void Converter::foreign_key(const ::Constraint& node, ast::Constraint& out) {
  out.kind = ast::ConstraintKind::kForeignKey;
  out.columns = name_of(node.fk_attrs);
  out.foreign_table = table_ref(node.pktable).name;
  out.foreign_columns = name_of(node.pk_attrs);
  out.match = node.fk_matchtype == FKCONSTR_MATCH_FULL      ? ast::MatchKind::kFull
              : node.fk_matchtype == FKCONSTR_MATCH_PARTIAL ? ast::MatchKind::kPartial
                                                            : ast::MatchKind::kSimple;
  out.on_update = referential_action(node.fk_upd_action);
  out.on_delete = referential_action(node.fk_del_action);
  if (node.fk_del_set_cols != nullptr) refuse("a column list of ON DELETE", node.location);
}

ast::Constraint Converter::constraint(const ::Constraint& node) {
  ast::Constraint out;
  out.name = text_of(node.conname);
  out.location = at(node.location);
  out.expr = expr(node.raw_expr);
  out.columns = name_of(node.keys);
  out.include = name_of(node.including);
  out.nulls_not_distinct = node.nulls_not_distinct;
  out.deferrable = node.deferrable;
  out.initially_deferred = node.initdeferred;
  out.no_inherit = node.is_no_inherit;
  out.not_valid = node.skip_validation;
  out.options = options(node.options);
  out.using_index = text_of(node.indexname);
  switch (node.contype) {
    case CONSTR_NULL:
      out.kind = ast::ConstraintKind::kNull;
      break;
    case CONSTR_NOTNULL:
      out.kind = ast::ConstraintKind::kNotNull;
      break;
    case CONSTR_DEFAULT:
      out.kind = ast::ConstraintKind::kDefault;
      break;
    case CONSTR_CHECK:
      out.kind = ast::ConstraintKind::kCheck;
      break;
    case CONSTR_PRIMARY:
      out.kind = ast::ConstraintKind::kPrimaryKey;
      break;
    case CONSTR_UNIQUE:
      out.kind = ast::ConstraintKind::kUnique;
      break;
    case CONSTR_FOREIGN:
      foreign_key(node, out);
      break;
    case CONSTR_IDENTITY:
      out.kind = ast::ConstraintKind::kIdentity;
      out.identity_always = node.generated_when == 'a';
      break;
    case CONSTR_GENERATED:
      out.kind = ast::ConstraintKind::kGenerated;
      break;
    case CONSTR_EXCLUSION:
      refuse("EXCLUDE", node.location);
      break;
    default:
      refuse("this kind of constraint", node.location);
  }
  if (node.indexspace != nullptr) refuse("USING INDEX TABLESPACE", node.location);
  return out;
}

// DEFERRABLE and INITIALLY DEFERRED behind a column's constraint arrive as nodes of their own.
std::vector<ast::Constraint> Converter::column_constraints(const List* list) {
  std::vector<ast::Constraint> out;
  for (const Node* item : items(list)) {
    const auto& node = to<::Constraint>(item);
    switch (node.contype) {
      case CONSTR_ATTR_DEFERRABLE:
      case CONSTR_ATTR_NOT_DEFERRABLE:
      case CONSTR_ATTR_DEFERRED:
      case CONSTR_ATTR_IMMEDIATE:
        if (out.empty()) {
          fail("42601", "misplaced DEFERRABLE clause", node.location);
          return out;
        }
        if (node.contype == CONSTR_ATTR_DEFERRABLE) out.back().deferrable = true;
        if (node.contype == CONSTR_ATTR_DEFERRED) out.back().deferrable = out.back().initially_deferred = true;
        break;
      default:
        out.push_back(constraint(node));
    }
    if (failed_) break;
  }
  return out;
}

ast::ColumnDefinition Converter::column_definition(const ColumnDef& node) {
  ast::ColumnDefinition out;
  out.name = text_of(node.colname);
  out.location = at(node.location);
  out.type = type_name(node.typeName);
  if (node.collClause != nullptr) out.collation = name_of(node.collClause->collname);
  out.constraints = column_constraints(node.constraints);
  if (node.compression != nullptr) refuse("COMPRESSION", node.location);
  if (node.fdwoptions != nullptr) refuse("OPTIONS of a column", node.location);
  return out;
}

ast::PartitionBy Converter::partition_by(const PartitionSpec* node) {
  ast::PartitionBy out;
  if (node == nullptr) return out;
  out.location = at(node->location);
  const std::string strategy = fold_identifier(text_of(node->strategy));
  if (strategy == "hash") {
    out.strategy = ast::PartitionStrategy::kHash;
  } else if (strategy == "range") {
    out.strategy = ast::PartitionStrategy::kRange;
  } else if (strategy == "list") {
    out.strategy = ast::PartitionStrategy::kList;
  } else {
    fail("22023", "unrecognized partitioning strategy \"" + strategy + "\"", node->location);
  }
  for (const Node* item : items(node->partParams)) {
    const auto& key = to<PartitionElem>(item);
    ast::IndexElement element;
    element.column = text_of(key.name);
    element.expr = expr(key.expr);
    element.collation = name_of(key.collation);
    element.op_class = name_of(key.opclass);
    element.location = at(key.location);
    out.keys.push_back(std::move(element));
  }
  return out;
}

std::unique_ptr<ast::PartitionBound> Converter::partition_bound(const PartitionBoundSpec& node) {
  auto out = std::make_unique<ast::PartitionBound>();
  out->is_default = node.is_default;
  out->strategy = node.strategy == PARTITION_STRATEGY_HASH    ? ast::PartitionStrategy::kHash
                  : node.strategy == PARTITION_STRATEGY_RANGE ? ast::PartitionStrategy::kRange
                                                              : ast::PartitionStrategy::kList;
  out->modulus = node.modulus;
  out->remainder = node.remainder;
  for (const Node* value : items(node.listdatums)) out->values.push_back(expr(value));
  for (const Node* value : items(node.lowerdatums)) out->from.push_back(expr(value));
  for (const Node* value : items(node.upperdatums)) out->to.push_back(expr(value));
  out->location = at(node.location);
  return out;
}

ast::TableLike Converter::table_like(const TableLikeClause& node) {
  ast::TableLike out;
  out.table = table_ref(node.relation);
  out.defaults = (node.options & CREATE_TABLE_LIKE_DEFAULTS) != 0;
  out.constraints = (node.options & CREATE_TABLE_LIKE_CONSTRAINTS) != 0;
  out.identity = (node.options & CREATE_TABLE_LIKE_IDENTITY) != 0;
  out.generated = (node.options & CREATE_TABLE_LIKE_GENERATED) != 0;
  out.indexes = (node.options & CREATE_TABLE_LIKE_INDEXES) != 0;
  out.comments = (node.options & CREATE_TABLE_LIKE_COMMENTS) != 0;
  return out;
}

std::unique_ptr<ast::CreateTableStatement> Converter::create_table(const CreateStmt& node) {
  auto out = std::make_unique<ast::CreateTableStatement>();
  convert_table(node, out.get());
  return out;
}

void Converter::convert_table(const CreateStmt& node, ast::CreateTableStatement* out) {
  out->on_commit = on_commit(node.oncommit);
  out->table = new_table_ref(node.relation, out->on_commit);
  if (is_temporary_key(out->table.name.back()))  // its foreign keys may refer to itself
    created_ = {text_of(node.relation->relname), out->table.name.back()};
  out->persistence = persistence(node.relation);
  out->if_not_exists = node.if_not_exists;
  const int location = node.relation->location;
  if (node.partbound != nullptr && node.inhRelations != nullptr) {
    for (const Node* parent : items(node.inhRelations)) out->parent = table_ref(&to<RangeVar>(parent));
    out->bound = partition_bound(*node.partbound);
  } else if (node.inhRelations != nullptr) {
    refuse("INHERITS", location);
  }
  if (node.ofTypename != nullptr) refuse("CREATE TABLE OF a type", location);
  if (node.tablespacename != nullptr) refuse("TABLESPACE", location);
  if (node.accessMethod != nullptr) refuse("a table access method", location);
  for (const Node* element : items(node.tableElts)) {
    if (failed_) break;
    switch (nodeTag(element)) {
      case T_ColumnDef:
        out->columns.push_back(column_definition(to<ColumnDef>(element)));
        break;
      case T_Constraint:
        out->constraints.push_back(constraint(to<::Constraint>(element)));
        break;
      case T_TableLikeClause:
        out->likes.push_back(table_like(to<TableLikeClause>(element)));
        out->likes.back().position = out->columns.size();
        break;
      default:
        refuse("this table element", location);
    }
  }
  for (const Node* item : items(node.constraints)) out->constraints.push_back(constraint(to<::Constraint>(item)));
  out->partition_by = partition_by(node.partspec);
  out->options = options(node.options);
}

ast::StatementPtr Converter::create_composite(const CompositeTypeStmt& node) {
  auto out = std::make_unique<ast::CreateTableStatement>();
  out->is_composite = true;
  out->table = new_table_ref(node.typevar);
  if (node.coldeflist == nullptr) refuse("a composite type without columns", node.typevar->location);
  for (const Node* element : items(node.coldeflist)) {
    if (failed_) break;
    out->columns.push_back(column_definition(to<ColumnDef>(element)));
  }
  return out;
}

std::unique_ptr<ast::CreateTableAsStatement> Converter::create_table_as(const CreateTableAsStmt& node) {
  auto out = std::make_unique<ast::CreateTableAsStatement>();
  out->on_commit = on_commit(node.into->onCommit);
  out->table = new_table_ref(node.into->rel, out->on_commit);
  out->columns = name_of(node.into->colNames);
  out->persistence = persistence(node.into->rel);
  out->if_not_exists = node.if_not_exists;
  out->materialized_view = node.objtype == OBJECT_MATVIEW;
  out->with_data = !node.into->skipData;
  out->options = options(node.into->options);
  if (node.into->tableSpaceName != nullptr) refuse("TABLESPACE", node.into->rel->location);
  if (node.into->accessMethod != nullptr) refuse("a table access method", node.into->rel->location);
  out->query = statement(node.query);
  return out;
}

ast::IndexElement Converter::index_element(const IndexElem& node) {
  ast::IndexElement out;
  out.column = text_of(node.name);
  out.expr = expr(node.expr);
  out.collation = name_of(node.collation);
  out.op_class = name_of(node.opclass);
  if (node.opclassopts != nullptr) refuse("options of an operator class", -1);
  out.direction = node.ordering == SORTBY_ASC    ? ast::SortDirection::kAscending
                  : node.ordering == SORTBY_DESC ? ast::SortDirection::kDescending
                                                 : ast::SortDirection::kDefault;
  out.nulls = node.nulls_ordering == SORTBY_NULLS_FIRST  ? ast::NullsOrder::kFirst
              : node.nulls_ordering == SORTBY_NULLS_LAST ? ast::NullsOrder::kLast
                                                         : ast::NullsOrder::kDefault;
  if (out.expr != nullptr) out.location = out.expr->location;
  return out;
}

std::vector<ast::IndexElement> Converter::index_elements(const List* list) {
  std::vector<ast::IndexElement> out;
  for (const Node* item : items(list)) out.push_back(index_element(to<IndexElem>(item)));
  return out;
}

std::unique_ptr<ast::CreateIndexStatement> Converter::create_index(const IndexStmt& node) {
  auto out = std::make_unique<ast::CreateIndexStatement>();
  out->name = text_of(node.idxname);
  out->table = table_ref(node.relation);
  out->unique = node.unique;
  out->nulls_not_distinct = node.nulls_not_distinct;
  out->if_not_exists = node.if_not_exists;
  out->concurrently = node.concurrent;
  out->method = text_of(node.accessMethod);
  out->elements = index_elements(node.indexParams);
  out->include = index_elements(node.indexIncludingParams);
  out->options = options(node.options);
  out->where = expr(node.whereClause);
  if (node.tableSpace != nullptr) refuse("TABLESPACE", node.relation->location);
  return out;
}

std::unique_ptr<ast::CreateViewStatement> Converter::create_view(const ViewStmt& node) {
  auto out = std::make_unique<ast::CreateViewStatement>();
  out->view = new_table_ref(node.view);
  out->persistence = persistence(node.view);
  out->or_replace = node.replace;
  out->columns = name_of(node.aliases);
  out->options = options(node.options);
  if (node.withCheckOption != NO_CHECK_OPTION) {
    ast::Option& option = out->options.emplace_back();
    option.name = "check_option";
    option.has_value = true;
    option.value = node.withCheckOption == LOCAL_CHECK_OPTION ? "local" : "cascaded";
  }
  out->query = select(node.query);
  return out;
}

ast::StatementPtr Converter::create_foreign_table(const CreateForeignTableStmt& node) {
  auto out = std::make_unique<ast::CreateForeignTableStatement>();
  convert_table(node.base, &out->table);
  out->server = text_of(node.servername);
  out->options = options(node.options);
  return out;
}

ast::StatementPtr Converter::create_foreign_server(const CreateForeignServerStmt& node) {
  auto out = std::make_unique<ast::CreateForeignServerStatement>();
  out->name = text_of(node.servername);
  out->wrapper = text_of(node.fdwname);
  out->if_not_exists = node.if_not_exists;
  out->options = options(node.options);
  if (node.servertype != nullptr || node.version != nullptr) refuse("TYPE or VERSION of a server", -1);
  return out;
}

ast::StatementPtr Converter::create_extension(const CreateExtensionStmt& node) {
  auto out = std::make_unique<ast::CreateExtensionStatement>();
  out->name = text_of(node.extname);
  out->if_not_exists = node.if_not_exists;
  for (const Node* item : items(node.options)) {
    const auto& option = to<DefElem>(item);
    const std::string name = text_of(option.defname);
    const bool is_public = name == "schema" && string_of(option.arg) == "public";
    if (name != "cascade" && !is_public) refuse("CREATE EXTENSION with VERSION, or a SCHEMA but public,", -1);
  }
  return out;
}

std::unique_ptr<ast::CreateSchemaStatement> Converter::create_schema(const CreateSchemaStmt& node) {
  auto out = std::make_unique<ast::CreateSchemaStatement>();
  out->name = text_of(node.schemaname);
  if (const RoleSpec* role = node.authrole; role != nullptr)
    out->owner = role->roletype == ROLESPEC_CSTRING        ? text_of(role->rolename)
                 : role->roletype == ROLESPEC_SESSION_USER ? "session_user"
                                                           : "current_user";
  out->if_not_exists = node.if_not_exists;
  for (const Node* element : items(node.schemaElts)) {
    out->elements.push_back(statement(element));
    if (failed_) break;
  }
  return out;
}

std::unique_ptr<ast::CreateSequenceStatement> Converter::create_sequence(const CreateSeqStmt& node) {
  auto out = std::make_unique<ast::CreateSequenceStatement>();
  out->sequence = new_table_ref(node.sequence);
  out->persistence = persistence(node.sequence);
  out->if_not_exists = node.if_not_exists;
  out->options = options(node.options);
  return out;
}

std::unique_ptr<ast::CreateSequenceStatement> Converter::alter_sequence(const AlterSeqStmt& node) {
  auto out = std::make_unique<ast::CreateSequenceStatement>();
  out->alter = true;
  out->sequence = table_ref(node.sequence);
  out->if_exists = node.missing_ok;
  out->options = options(node.options);
  return out;
}

}  // namespace scyper::query
