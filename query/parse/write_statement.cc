#include "parse/sql_writer.h"

namespace scyper::query {

void SqlWriter::statement(const ast::Statement& node) {
  switch (node.kind) {
    case ast::StatementKind::kSelect:
      select(ast::node_as<ast::SelectStatement>(node));
      break;
    case ast::StatementKind::kInsert:
      insert(ast::node_as<ast::InsertStatement>(node));
      break;
    case ast::StatementKind::kUpdate:
      update(ast::node_as<ast::UpdateStatement>(node));
      break;
    case ast::StatementKind::kDelete:
      delete_from(ast::node_as<ast::DeleteStatement>(node));
      break;
    case ast::StatementKind::kMerge:
      merge(ast::node_as<ast::MergeStatement>(node));
      break;
    case ast::StatementKind::kCreateTable:
      create_table(ast::node_as<ast::CreateTableStatement>(node));
      break;
    case ast::StatementKind::kCreateIndex:
      create_index(ast::node_as<ast::CreateIndexStatement>(node));
      break;
    case ast::StatementKind::kCreateView: {
      const auto& view = ast::node_as<ast::CreateViewStatement>(node);
      add(view.is_hot_data ? "CREATE HOT DATA VIEW " : view.or_replace ? "CREATE OR REPLACE VIEW " : "CREATE VIEW ");
      table(view.view);
      names(view.columns);
      options(" WITH ", view.options);
      add(" AS ");
      select(*view.query);
      break;
    }
    case ast::StatementKind::kCall:
      add("CALL ");
      expr(*ast::node_as<ast::CallStatement>(node).call);
      break;
    case ast::StatementKind::kUnsupported:
      add("<" + ast::node_as<ast::UnsupportedStatement>(node).command + ">");
      break;
    default:
      add("<statement " + std::to_string(static_cast<int>(node.kind)) + ">");
  }
}

void SqlWriter::with(const ast::WithClause& node) {
  if (node.tables.empty()) return;
  add(node.recursive ? "WITH RECURSIVE " : "WITH ");
  list(node.tables, [this](const ast::CommonTable& common) {
    identifier(common.name);
    names(common.columns);
    add(" AS ");
    using Materialize = ast::CommonTable::Materialize;
    if (common.materialize == Materialize::kAlways) add("MATERIALIZED ");
    if (common.materialize == Materialize::kNever) add("NOT MATERIALIZED ");
    add("(");
    statement(*common.statement);
    add(")");
  });
  add(" ");
}

void SqlWriter::select(const ast::SelectStatement& node) {
  with(node.with);
  if (node.set != ast::SetOperation::kNone) {
    static constexpr std::string_view kNames[] = {"", ") UNION ", ") INTERSECT ", ") EXCEPT "};
    add("(");
    select(*node.left);
    add(kNames[static_cast<size_t>(node.set)]);
    add(node.set_all ? "ALL (" : "(");
    select(*node.right);
    add(")");
  } else if (!node.values.empty()) {
    add("VALUES ");
    list(node.values, [this](const std::vector<ast::ExprPtr>& row) {
      add("(");
      exprs(row);
      add(")");
    });
  } else {
    select_leaf(node);
  }
  sort_items(" ORDER BY ", node.order_by);
  optional(" OFFSET ", node.offset);
  if (node.with_ties) {
    add(" FETCH FIRST ");
    if (node.limit == nullptr)
      add("NULL");
    else
      bracketed(node.limit);
    add(" ROWS WITH TIES");
  } else {
    optional(" LIMIT ", node.limit);
  }
  for (const ast::LockingClause& clause : node.locking) locking(clause);
}

void SqlWriter::targets(const std::vector<ast::SelectTarget>& items) {
  list(items, [this](const ast::SelectTarget& target) {
    expr(*target.expr);
    if (target.alias.empty()) return;
    add(" AS ");
    identifier(target.alias);
  });
}

void SqlWriter::select_leaf(const ast::SelectStatement& node) {
  add("SELECT ");
  if (node.distinct) add("DISTINCT ");
  if (!node.distinct_on.empty()) {
    add("ON (");
    exprs(node.distinct_on);
    add(") ");
  }
  targets(node.targets);
  if (node.into) {
    add(" INTO ");
    table(node.into_table);
  }
  from(" FROM ", node.from);
  optional(" WHERE ", node.where);
  if (!node.group_by.empty()) {
    add(node.group_by_distinct ? " GROUP BY DISTINCT " : " GROUP BY ");
    exprs(node.group_by);
  }
  optional(" HAVING ", node.having);
  if (node.windows.empty()) return;
  add(" WINDOW ");
  list(node.windows, [this](const ast::WindowDefinition& entry) {
    identifier(entry.name);
    add(" AS ");
    window(entry);
  });
}

void SqlWriter::locking(const ast::LockingClause& node) {
  static constexpr std::string_view kStrengths[] = {"", " FOR KEY SHARE", " FOR SHARE", " FOR NO KEY UPDATE",
                                                    " FOR UPDATE"};
  static constexpr std::string_view kWaits[] = {"", " SKIP LOCKED", " NOWAIT"};
  add(kStrengths[static_cast<size_t>(node.strength)]);
  if (!node.tables.empty()) {
    add(" OF ");
    list(node.tables, [this](const ast::TableRef& ref) { name(ref.name); });
  }
  add(kWaits[static_cast<size_t>(node.wait)]);
}

void SqlWriter::alias(const ast::Alias& node) {
  if (node.name.empty()) return;
  add(" AS ");
  identifier(node.name);
  names(node.columns);
}

void SqlWriter::table(const ast::TableRef& node) {
  if (node.only) add("ONLY ");
  name(node.name);
  alias(node.alias);
}

void SqlWriter::from(std::string_view before, const std::vector<ast::FromItemPtr>& items) {
  if (items.empty()) return;
  add(before);
  list(items, [this](const ast::FromItemPtr& item) { from_item(*item); });
}

namespace {
// The condition that Converter::table_sample() makes; null: another subquery.
const ast::FunctionCall* table_sample_of(const ast::FromSubquery& node) {
  const ast::Expr* where = node.subquery->where.get();
  const auto* call = where == nullptr ? nullptr : ast::node_if<ast::FunctionCall>(where);
  return call != nullptr && call->name == ast::Name{" table_sample"} ? call : nullptr;
}
}  // namespace

void SqlWriter::from_item(const ast::FromItem& node) {
  switch (node.kind) {
    case ast::FromKind::kTable:
      table(ast::node_as<ast::FromTable>(node).table);
      break;
    case ast::FromKind::kSubquery: {
      const auto& item = ast::node_as<ast::FromSubquery>(node);
      if (const ast::FunctionCall* sample = table_sample_of(item); sample != nullptr)
        return table_sample(item, *sample);
      subquery(item.lateral ? "LATERAL " : "", item.subquery);
      alias(item.alias);
      break;
    }
    case ast::FromKind::kFunction:
      from_function(ast::node_as<ast::FromFunction>(node));
      break;
    case ast::FromKind::kJoin:
      join(ast::node_as<ast::FromJoin>(node));
      break;
  }
}

// Arguments of the call: method, seed or '', percentages.
void SqlWriter::table_sample(const ast::FromSubquery& node, const ast::FunctionCall& sample) {
  const ast::TableRef& ref = ast::node_as<ast::FromTable>(*node.subquery->from[0]).table;
  if (ref.only) add("ONLY ");
  name(ref.name);
  if (node.alias.name != ref.name.back() || !node.alias.columns.empty()) alias(node.alias);
  add(" TABLESAMPLE ");
  identifier(ast::node_as<ast::Literal>(*sample.args[0]).text);
  add("(");
  for (size_t i = 2; i < sample.args.size(); ++i) {
    if (i > 2) add(", ");
    expr(*sample.args[i]);
  }
  add(")");
  const auto* seed = ast::node_if<ast::Literal>(sample.args[1].get());
  if (seed != nullptr && seed->type == ast::LiteralType::kString && seed->text.empty()) return;
  add(" REPEATABLE (");
  expr(*sample.args[1]);
  add(")");
}

void SqlWriter::from_function(const ast::FromFunction& node) {
  if (node.lateral) add("LATERAL ");
  if (node.rows_from) add("ROWS FROM (");
  exprs(node.functions);
  if (node.rows_from) add(")");
  if (node.ordinality) add(" WITH ORDINALITY");
  alias(node.alias);
  if (node.columns.empty()) return;
  if (node.alias.name.empty()) add(" AS");
  add(" (");
  list(node.columns, [this](const ast::ColumnDeclaration& column) {
    identifier(column.name);
    add(" ");
    type(column.type);
  });
  add(")");
}

void SqlWriter::join(const ast::FromJoin& node) {
  static constexpr std::string_view kNames[] = {" JOIN ", " LEFT JOIN ", " RIGHT JOIN ", " FULL JOIN ", " CROSS JOIN "};
  add("(");
  from_item(*node.left);
  if (node.natural) add(" NATURAL");
  add(kNames[static_cast<size_t>(node.join)]);
  from_item(*node.right);
  if (!node.using_columns.empty()) add(" USING");
  names(node.using_columns);
  alias(node.using_alias);
  optional(" ON ", node.on);
  add(")");
  alias(node.alias);
}

void SqlWriter::returning(const std::vector<ast::SelectTarget>& items) {
  if (items.empty()) return;
  add(" RETURNING ");
  targets(items);
}

void SqlWriter::overriding(ast::Overriding kind) {
  if (kind == ast::Overriding::kUser) add(" OVERRIDING USER VALUE");
  if (kind == ast::Overriding::kSystem) add(" OVERRIDING SYSTEM VALUE");
}

void SqlWriter::insert_columns(const std::vector<ast::InsertColumn>& columns) {
  if (columns.empty()) return;
  add(" (");
  list(columns, [this](const ast::InsertColumn& column) {
    identifier(column.name);
    for (const std::string& field : column.fields) add("." + field);
    subscripts(column.subscripts);
  });
  add(")");
}

void SqlWriter::insert(const ast::InsertStatement& node) {
  with(node.with);
  add("INSERT INTO ");
  table(node.table);
  insert_columns(node.columns);
  overriding(node.overriding);
  add(" ");
  if (node.source == nullptr) {
    add("DEFAULT VALUES");
  } else {
    select(*node.source);
  }
  on_conflict(node.on_conflict);
  returning(node.returning);
}

void SqlWriter::on_conflict(const ast::OnConflict& node) {
  if (node.action == ast::ConflictAction::kNone) return;
  add(" ON CONFLICT");
  if (!node.target.empty()) {
    add(" ");
    index_elements(node.target);
  }
  optional(" WHERE ", node.target_where);
  if (!node.constraint.empty()) {
    add(" ON CONSTRAINT ");
    identifier(node.constraint);
  }
  if (node.action == ast::ConflictAction::kNothing) {
    add(" DO NOTHING");
    return;
  }
  add(" DO UPDATE SET ");
  set_items(node.set);
  optional(" WHERE ", node.where);
}

void SqlWriter::set_items(const std::vector<ast::SetItem>& items) {
  list(items, [this](const ast::SetItem& item) {
    if (item.multi) add("(");
    list(item.targets, [this](const ast::Assignment& target) {
      identifier(target.column);
      for (const std::string& field : target.fields) add("." + field);
      subscripts(target.subscripts);
    });
    if (item.multi) add(")");
    add(" = ");
    expr(item.multi ? *item.source : *item.targets.front().value);
  });
}

void SqlWriter::update(const ast::UpdateStatement& node) {
  with(node.with);
  add("UPDATE ");
  table(node.table);
  add(" SET ");
  set_items(node.set);
  from(" FROM ", node.from);
  optional(" WHERE ", node.where);
  returning(node.returning);
}

void SqlWriter::delete_from(const ast::DeleteStatement& node) {
  with(node.with);
  add("DELETE FROM ");
  table(node.table);
  from(" USING ", node.from);
  optional(" WHERE ", node.where);
  returning(node.returning);
}

void SqlWriter::merge(const ast::MergeStatement& node) {
  with(node.with);
  add("MERGE INTO ");
  table(node.table);
  add(" USING ");
  from_item(*node.source);
  optional(" ON ", node.on);
  for (const ast::MergeWhen& when : node.whens) {
    add(when.matched ? " WHEN MATCHED" : " WHEN NOT MATCHED");
    optional(" AND ", when.condition);
    add(" THEN ");
    switch (when.action) {
      case ast::MergeAction::kDoNothing:
        add("DO NOTHING");
        break;
      case ast::MergeAction::kDelete:
        add("DELETE");
        break;
      case ast::MergeAction::kUpdate:
        add("UPDATE SET ");
        set_items(when.set);
        break;
      case ast::MergeAction::kInsert:
        add("INSERT");
        insert_columns(when.columns);
        overriding(when.overriding);
        add(when.values.empty() ? " DEFAULT VALUES" : " VALUES (");
        exprs(when.values);
        if (!when.values.empty()) add(")");
        break;
    }
  }
}

}  // namespace scyper::query
