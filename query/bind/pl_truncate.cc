#include <algorithm>

#include "absl/strings/str_cat.h"
#include "base/object_name.h"
#include "bind/make.h"
#include "bind/pl_binder.h"
#include "parse/printer.h"

// TRUNCATE inside of a transaction: rows go one after the other, without triggers, and come back where it fails.
namespace scyper::query {

namespace {
bool refers_to(const Catalog& catalog, const storage::Table& from, TableId to) {
  auto rules = catalog.rules.find(from.schema().id);
  return rules != catalog.rules.end() &&
         std::any_of(rules->second.foreign_keys.begin(), rules->second.foreign_keys.end(),
                     [&](const ForeignKey& key) { return key.table == to; });
}

std::string shown(const storage::Table& table) { return std::string(bare_name(table.schema().name)); }
}  // namespace

// The tables, with CASCADE those that refer to them, too. `notices`: which these are.
StatusOr<std::vector<std::shared_ptr<storage::Table>>> PlBinder::truncated_tables(
    const ast::TruncateStatement& truncate, std::vector<std::string>* notices) {
  std::vector<std::shared_ptr<storage::Table>> tables;
  for (const auto& ref : truncate.tables) {
    if (binder_.catalog_.find_partition(ref.name.back()) != nullptr) continue;  // bind_truncate()
    SCYPER_ASSIGN_OR_RETURN(auto table, binder_.find_table(ref, kTruncateRight));
    if (std::find(tables.begin(), tables.end(), table) == tables.end()) tables.push_back(std::move(table));
  }
  for (size_t i = 0; i < tables.size(); i++) {
    for (const auto& [name, other] : binder_.catalog_.tables) {
      if (std::find(tables.begin(), tables.end(), other) != tables.end() ||
          !refers_to(binder_.catalog_, *other, tables[i]->schema().id))
        continue;
      if (!truncate.cascade)
        return with_hint(
            with_detail(sql_error("0A000", "cannot truncate a table referenced in a foreign key constraint"),
                        absl::StrCat("Table \"", shown(*other), "\" references \"", shown(*tables[i]), "\".")),
            absl::StrCat("Truncate table \"", shown(*other), "\" at the same time, or use TRUNCATE ... CASCADE."));
      notices->push_back(absl::StrCat("truncate cascades to table \"", shown(*other), "\""));
      tables.push_back(other);
    }
  }
  return tables;
}

// RESTART IDENTITY: the sequences that belong to columns of the table.
Status PlBinder::restart_sequences(TableId table, const plpgsql::Sql& statement, StepList* out) {
  for (const auto& [name, sequence] : binder_.catalog_.sequences) {
    if (sequence->definition().owner != table) continue;
    const std::string text = absl::StrCat(quote_identifier(std::string(schema_of(name))), ".",
                                          quote_identifier(std::string(bare_name(name))));
    std::vector<BoundPtr> args;
    args.push_back(make_text_constant(make_type(TypeId::kText), text, -1));
    args.push_back(make_constant(make_type(TypeId::kInt8), int_datum(sequence->definition().start), -1));
    args.push_back(make_constant(make_type(TypeId::kBool), int_datum(0), -1));
    auto step = new_step(StepKind::kAssign, statement);
    SCYPER_ASSIGN_OR_RETURN(step->expr, binder_.make_call("setval", std::move(args), -1));
    step->variable = binder_.new_variable("setval", make_type(TypeId::kInt8));
    step->tells = Tells::kNoRows;
    out->push_back(std::move(step));
  }
  return absl::OkStatus();
}

Status PlBinder::bind_truncate(const ast::TruncateStatement& truncate, const plpgsql::Sql& statement, StepList* out) {
  std::vector<std::string> notices;
  auto tables = truncated_tables(truncate, &notices);
  if (!tables.ok() && sqlstate_of(tables.status()) == "0A000") {
    out->push_back(failing_step(tables.status(), statement));
    return absl::OkStatus();
  }
  SCYPER_RETURN_IF_ERROR(tables.status());
  for (std::string& text : notices) {
    auto step = new_step(StepKind::kRaise, statement);
    step->level = "notice";
    step->options.emplace_back("message",
                               make_text_constant(make_type(TypeId::kText), std::move(text), statement.location));
    out->push_back(std::move(step));
  }
  for (const auto& ref : truncate.tables) {
    if (binder_.catalog_.find_partition(ref.name.back()) == nullptr) continue;
    ast::DeleteStatement all;
    all.table.name = ref.name;
    auto step = new_step(StepKind::kDml, statement);
    SCYPER_ASSIGN_OR_RETURN(step->dml, binder_.bind_dml(all));
    step->dml->triggers = nullptr;
    step->tells = Tells::kNoRows;
    out->push_back(std::move(step));
  }
  for (const auto& table : *tables) {
    ast::DeleteStatement all;
    all.table.name = {table->schema().name};
    auto step = new_step(StepKind::kDml, statement);
    SCYPER_ASSIGN_OR_RETURN(step->dml, binder_.bind_dml(all));
    step->dml->triggers = nullptr;
    step->dml->reactions.clear();  // what refers to its rows goes, too
    step->tells = Tells::kNoRows;
    out->push_back(std::move(step));
    if (truncate.restart_identity) SCYPER_RETURN_IF_ERROR(restart_sequences(table->schema().id, statement, out));
  }
  return absl::OkStatus();
}

}  // namespace scyper::query
