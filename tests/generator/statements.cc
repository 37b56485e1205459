#include "generator/statements.h"

#include <algorithm>

namespace scyper::generator {

using query::append;
using query::make;

namespace {
std::string names_of(const std::vector<const Column*>& columns) {
  std::string text;
  for (const Column* column : columns) text += (text.empty() ? "" : ", ") + column->name;
  return text;
}

std::string key_constant(Kind kind, int number) {
  return kind == Kind::kText ? "'k" + std::to_string(number) + "'" : std::to_string(number);
}
}  // namespace

Term StatementMaker::statement() {
  const int kind = random_->pick(100);
  if (kind < 22) return insert();
  if (kind < 28) return insert_select();
  if (kind < 46) return update();
  if (kind < 55) return remove();
  if (kind < 61) return merge();
  if (kind < 67) return with_changes();
  if (kind < 69) return definition();
  Term query = queries_.query();
  query.type = query.type == 'Q' ? 'Q' : kSetStatement;
  return query;
}

std::vector<const Column*> StatementMaker::insert_columns(const Table& table) {
  std::vector<const Column*> columns;
  for (const auto& column : table.columns)
    if (!column.is_generated && !column.is_drawn &&
        (column.is_unique || random_->chance(88) || &column == &table.columns.back()))
      columns.push_back(&column);
  if (columns.empty()) columns.push_back(&table.columns[0]);
  return columns;
}

Term StatementMaker::insert_value(const Column& column, int depth, bool may_fail) {
  if (column.name == "id" || column.name == "no" || column.name == "parent") {
    if (column.name == "parent" && random_->chance(30)) return make('A', "NULL");
    if (random_->chance(90)) return make('A', key_constant(column.kind, 1 + random_->pick(16)));
  }
  if (random_->chance(5)) return make('A', "DEFAULT");
  return expressions_->value(column.kind, {}, depth, may_fail);
}

Term StatementMaker::fill(const Table& table, int first, int rows) {
  std::vector<const Column*> columns;
  for (const auto& column : table.columns)
    if (!column.is_generated && !column.is_drawn) columns.push_back(&column);
  Term term = make(kSetStatement, "INSERT INTO " + table.name + " (" + names_of(columns) + ") VALUES ");
  for (int row = 0; row < rows; row++) {
    Term values = make(row == 0 ? 'A' : 'W', row == 0 ? "(" : ", (");
    for (size_t i = 0; i < columns.size(); i++) {
      if (i > 0) append(&values, std::string(", "));
      const Column& column = *columns[i];
      if (column.name == "id" || column.name == "no")
        append(&values, key_constant(column.kind, first + row));
      else if (column.name == "parent")
        append(&values,
               table.draws() || random_->chance(50) ? "NULL" : key_constant(column.kind, 1 + random_->pick(4)));
      else
        append(&values, make(static_cast<char>(column.kind), plain_constant(column.kind, random_)));
    }
    append(&values, std::string(")"));
    append(&term, std::move(values));
  }
  append(&term, std::string(" ON CONFLICT DO NOTHING"));
  return term;
}

Term StatementMaker::insert() {
  const Table& table = target(true);
  const std::vector<const Column*> columns = insert_columns(table);
  const int rows = random_->chance(60) ? 1 : 2 + random_->pick(3);
  Term term =
      make(rows == 1 ? kStatement : kSetStatement, "INSERT INTO " + table.name + " (" + names_of(columns) + ")");
  if (rows == 1 && random_->chance(3)) {
    append(&term, std::string(" DEFAULT VALUES"));
    return term;
  }
  append(&term, std::string(" VALUES "));
  for (int row = 0; row < rows; row++) {
    Term values = make(row == 0 ? 'A' : 'W', row == 0 ? "(" : ", (");
    for (size_t i = 0; i < columns.size(); i++) {
      if (i > 0) append(&values, std::string(", "));
      // When a foreign key is checked, or a constant computed, would show in what is drawn beside it.
      if (rows > 1 && table.draws() && columns[i]->name == "parent")
        append(&values, std::string("NULL"));
      else
        append(&values, insert_value(*columns[i], table.draws() ? 0 : 2, rows == 1));
    }
    append(&values, expressions_->is_wrong() && random_->chance(20) ? ", 1)" : ")");
    append(&term, std::move(values));
  }
  if (random_->chance(30)) append(&term, conflict(table));
  if (random_->chance(25)) append(&term, returning(table, ""));
  return term;
}

Term StatementMaker::conflict(const Table& table) {
  if (table.key.empty() || random_->chance(35)) return make('W', " ON CONFLICT DO NOTHING");
  std::string key;
  for (size_t column : table.key) key += (key.empty() ? "" : ", ") + table.columns[column].name;
  if (random_->chance(20)) return make('W', " ON CONFLICT (" + key + ") DO NOTHING");
  Scope scope = table.scope(table.name + ".");
  for (const auto& reference : table.scope("excluded.")) scope.push_back(reference);
  Term term = make('W', " ON CONFLICT (" + key + ") DO UPDATE SET ", assignments(table, scope, false, false));
  if (random_->chance(40)) append(&term, make('W', " WHERE ", expressions_->condition(scope, 1)));
  return term;
}

Term StatementMaker::assignments(const Table& table, const Scope& scope, bool one_row, bool may_fail) {
  std::vector<const Column*> columns;
  for (const auto& column : table.columns)
    if (!column.is_generated && !column.is_drawn && (one_row || !column.is_unique)) columns.push_back(&column);
  if (columns.empty()) return make('A', table.columns[0].name + " = " + scope[0].text);
  const Column* first = random_->element(columns);
  const Column* second = random_->element(columns);
  const bool two = first != second && random_->chance(40);
  auto value = [&](const Column& column) {
    if (column.name == "parent" || column.name == "id" || column.name == "no")
      return make('A', random_->chance(15) ? "NULL" : key_constant(column.kind, 1 + random_->pick(16)));
    if (random_->chance(4)) return make('A', "DEFAULT");
    return expressions_->value(column.kind, scope, 2, may_fail);
  };
  if (two && random_->chance(30))
    return make('A', "(" + first->name + ", " + second->name + ") = (", value(*first), ", ", value(*second), ")");
  Term term = make('A', first->name + " = ", value(*first));
  if (two) append(&term, make('W', ", " + second->name + " = ", value(*second)));
  return term;
}

std::string StatementMaker::one_row(const Table& table, const std::string& prefix) {
  std::string text;
  for (size_t column : table.key)
    text += (text.empty() ? " WHERE " : " AND ") + prefix + table.columns[column].name + " = " +
            key_constant(table.columns[column].kind, 1 + random_->pick(10));
  return text;
}

Term StatementMaker::returning(const Table& table, const std::string& prefix) {
  if (random_->chance(40)) return make('W', " RETURNING " + prefix + "*");
  const Kind kind = random_kind(random_);
  return make('W', " RETURNING ", expressions_->value(kind, table.scope(prefix), 2, false),
              make('W', ", " + prefix + table.columns[0].name));
}

StatementMaker::Joined StatementMaker::partner(const Table& target) {
  Joined joined;
  for (int tries = 0; tries < 4 && joined.source == nullptr; tries++) {
    const Table& source = random_->element(schema_->tables);
    if (source.key.size() != 1) continue;
    const Column& key = source.columns[source.key[0]];
    for (const auto& column : target.columns) {
      if (column.kind != key.kind || !(joined.source == nullptr || random_->chance(50))) continue;
      joined.source = &source;
      joined.condition = "t." + column.name + " = s." + key.name;
    }
  }
  return joined;
}

Term StatementMaker::update() {
  const Table& table = target(true);
  if (random_->chance(25)) {
    if (Joined joined = partner(table); joined.source != nullptr) {
      Scope scope = table.scope("t.");
      for (const auto& reference : joined.source->scope("s.")) scope.push_back(reference);
      Term term = make(kSetStatement, "UPDATE " + table.name + " AS t SET ", assignments(table, scope, false, false),
                       " FROM " + joined.source->name + " s WHERE " + joined.condition);
      if (random_->chance(50)) append(&term, make('W', " AND ", expressions_->condition(scope, 2)));
      if (random_->chance(25)) append(&term, returning(table, "t."));
      return term;
    }
  }
  const bool is_one = !table.key.empty() && random_->chance(50);
  const Scope scope = table.scope("t.");
  Term term = make(is_one ? kStatement : kSetStatement, "UPDATE " + table.name + " t SET ",
                   assignments(table, scope, is_one, is_one));
  if (is_one)
    append(&term, one_row(table, "t."));
  else if (random_->chance(80))
    append(&term, make('W', " WHERE ", queries_.condition(scope, 2)));
  if (random_->chance(25)) append(&term, returning(table, "t."));
  return term;
}

Term StatementMaker::remove() {
  const Table& table = target(true);
  const Scope scope = table.scope("t.");
  Term term = make(kSetStatement, "DELETE FROM " + table.name + " AS t");
  if (random_->chance(25)) {
    const Table& source = random_->element(schema_->tables);
    Scope both = scope;
    for (const auto& reference : source.scope("s.")) both.push_back(reference);
    append(&term, " USING " + source.name + " s WHERE ");
    append(&term, make('b', "(", expressions_->condition(both, 1), " AND ", expressions_->condition(both, 2), ")"));
  } else if (!table.key.empty() && random_->chance(60)) {
    append(&term, one_row(table, "t."));
  } else {
    append(&term, std::string(" WHERE "));
    append(&term, make('b', "(", queries_.condition(scope, 1), " AND ", expressions_->condition(scope, 1), ")"));
  }
  if (random_->chance(30)) append(&term, returning(table, "t."));
  return term;
}

Term StatementMaker::insert_select() {
  const Table& table = target(false);
  const std::vector<const Column*> columns = insert_columns(table);
  std::vector<Kind> kinds;
  for (const Column* column : columns) kinds.push_back(column->kind);
  Term term = make(kSetStatement, "INSERT INTO " + table.name + " (" + names_of(columns) + ") ");
  Term select = make('A', "SELECT ");
  const Table& source = random_->element(schema_->tables);
  const Scope scope = source.scope("s.");
  for (size_t i = 0; i < columns.size(); i++) {
    const Column& column = *columns[i];
    if (i > 0) append(&select, std::string(", "));
    if (column.is_unique && source.columns[0].kind == column.kind && column.kind != Kind::kText)
      append(&select, "s." + source.columns[0].name + " + " + std::to_string(random_->pick(30)));
    else if (column.name == "parent")
      append(&select, std::string("NULL"));
    else
      append(&select, expressions_->value(column.kind, scope, 1, false));
  }
  append(&select, " FROM " + source.name + " s");
  append(&term, std::move(select));
  if (random_->chance(60)) append(&term, make('W', " WHERE ", queries_.condition(scope, 1)));
  // rows of the source that meet each other would conflict in any order
  const bool by_key = source.key.size() == 1 && table.key.size() == 1 && source.columns[0].kind != Kind::kText &&
                      std::count_if(table.columns.begin(), table.columns.end(),
                                    [](const Column& column) { return column.is_unique; }) == 1 &&
                      table.columns[0].kind == source.columns[0].kind;
  if (by_key && random_->chance(50)) append(&term, make('W', " ON CONFLICT DO NOTHING"));
  return term;
}

Term StatementMaker::merge_insert(const Table& table, const Table& source) {
  std::vector<const Column*> columns;
  for (const auto& column : table.columns)
    if (!column.is_generated) columns.push_back(&column);
  Term term = make('W', " WHEN NOT MATCHED THEN INSERT (" + names_of(columns) + ") VALUES (");
  for (size_t i = 0; i < columns.size(); i++) {
    if (i > 0) append(&term, std::string(", "));
    if (i == table.key[0])
      append(&term, "s." + source.columns[source.key[0]].name);
    else if (columns[i]->name == "parent")
      append(&term, std::string("NULL"));
    else
      append(&term, expressions_->value(columns[i]->kind, source.scope("s."), 1, false));
  }
  append(&term, std::string(")"));
  return term;
}

Term StatementMaker::merge() {
  const Table& table = target(false);
  const Joined joined = partner(table);
  if (joined.source == nullptr) return update();
  Scope scope = table.scope("t.");
  for (const auto& reference : joined.source->scope("s.")) scope.push_back(reference);
  Term term =
      make(kSetStatement, "MERGE INTO " + table.name + " t USING " + joined.source->name + " s ON " + joined.condition);
  if (random_->chance(40))
    append(&term, make('W', " WHEN MATCHED AND ", expressions_->condition(scope, 1),
                       " THEN " + random_->one_of({"DELETE", "DO NOTHING"})));
  append(&term, make('A', " WHEN MATCHED THEN UPDATE SET ", assignments(table, scope, false, false)));
  const bool by_key = table.key.size() == 1 && joined.condition == "t." + table.columns[table.key[0]].name + " = s." +
                                                                       joined.source->columns[0].name;
  if (by_key && random_->chance(70)) append(&term, merge_insert(table, *joined.source));
  return term;
}

Term StatementMaker::with_changes() {
  const Table& table = target(false);
  const Scope scope = table.scope("t.");
  Term change = random_->chance(50)
                    ? make('A', "DELETE FROM " + table.name + " t WHERE ", expressions_->condition(scope, 2))
                    : make('A', "UPDATE " + table.name + " t SET ", assignments(table, scope, false, false), " WHERE ",
                           expressions_->condition(scope, 2));
  const Kind kind = random_kind(random_);
  Term term = make(kSetStatement, "WITH w AS (", std::move(change), " RETURNING ",
                   expressions_->comparable(kind, expressions_->value(kind, scope, 1, false)), " AS r) ");
  append(&term, random_->one_of({"SELECT r FROM w", "SELECT count(*), count(r) FROM w",
                                 "SELECT r, count(*) FROM w GROUP BY r", "SELECT DISTINCT r FROM w ORDER BY r"}));
  if (random_->chance(40)) append(&term, " UNION ALL SELECT NULL FROM " + table.name);
  return term;
}

Term StatementMaker::definition() {
  const Table& table = target(true);
  const Column& column = random_->element(table.columns);
  switch (random_->pick(is_index_kind(column.kind) ? 6 : 5)) {
    case 0:
      return make(kStatement, "ALTER TABLE " + table.name + " ALTER COLUMN " + column.name +
                                  random_->one_of({" DROP NOT NULL", " SET NOT NULL", " DROP DEFAULT"}));
    case 1:
      return make(kStatement, "ALTER TABLE " + table.name + " ADD CHECK (", expressions_->condition(table.scope(""), 1),
                  ")");
    case 5:
      return make(kStatement,
                  "CREATE " + random_->one_of({"", "UNIQUE "}) + "INDEX ON " + table.name + " (" + column.name + ")");
    case 3:
      return make(kStatement, "ALTER SEQUENCE numbers RESTART WITH " + std::to_string(random_->pick(100)));
    case 4:
      return make(kStatement, random_->one_of({"SELECT nextval('numbers')", "SELECT setval('numbers', 50)"}));
    default:
      return make(kStatement,
                  "TRUNCATE " + table.name + random_->one_of({"", " CASCADE", " RESTART IDENTITY CASCADE"}));
  }
}

}  // namespace scyper::generator
