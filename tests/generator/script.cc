#include "generator/script.h"

#include "generator/routines.h"
#include "generator/statements.h"

namespace scyper::generator {

namespace {
constexpr int kWrongPercent = 5;
constexpr int kCallsPerRoutine = 3, kRowsPerTable = 6;

void show_tables(const Schema& schema, Script* script) {
  for (const auto& table : schema.tables) script->push_back(query::make(kStatement, "SELECT * FROM " + table.name));
  script->push_back(query::make(kStatement, "SELECT nextval('numbers')"));
}
}  // namespace

Script statement_script(uint64_t seed, int count) {
  Random random(seed);
  ExpressionMaker expressions(&random);
  const Schema schema = SchemaMaker(&random, &expressions).make(2 + random.pick(3));
  Script script = schema.statements;
  StatementMaker statements(&random, &expressions, &schema);
  for (const Table* table : schema.targets(true)) script.push_back(statements.fill(*table));
  for (int i = 0; i < count; i++) {
    expressions.begin(random.chance(kWrongPercent));
    script.push_back(statements.statement());
  }
  show_tables(schema, &script);
  return script;
}

Script routine_script(uint64_t seed, int count) {
  Random random(seed);
  ExpressionMaker expressions(&random);
  const Schema schema = SchemaMaker(&random, &expressions).make(2);
  Script script = schema.statements;
  StatementMaker statements(&random, &expressions, &schema);
  for (const Table* table : schema.targets(true))  // a row each: some fit no check
    for (int row = 1; row <= kRowsPerTable; row++) script.push_back(statements.fill(*table, row, 1));
  RoutineMaker routines(&random, &expressions, &schema);
  for (int i = 0; i < count; i++) {
    script.push_back(routines.routine(false));
    for (int call = 0; call < kCallsPerRoutine; call++) script.push_back(routines.call());
  }
  show_tables(schema, &script);
  return script;
}

std::string to_string(const Script& script) {
  std::string text;
  for (const auto& statement : script) text += statement.sql() + ";\n";
  return text;
}

}  // namespace scyper::generator
