#include <algorithm>

#include "generator/body.h"

// Values, queries, changes and calls in bodies of routines.
namespace scyper::generator {

using query::append;
using query::make;

namespace {
constexpr char kPart = 'P';
constexpr int kCallCostMax = 1500;
constexpr int kRowsOfCall = 10;

std::string names_of(const std::vector<const Column*>& columns) {
  std::string text;
  for (const Column* column : columns) text += (text.empty() ? "" : ", ") + column->name;
  return text;
}

// Of values that are put together from themselves again and again; of others nothing is left out.
Term bounded(Kind kind, Term value) {
  switch (kind) {
    case Kind::kNumeric:
      return make('A', "round((", std::move(value), ")::numeric, 2)");
    case Kind::kText:
      return make('A', "left(", std::move(value), ", 12)");
    case Kind::kBytea:
      return make('A', "substring(", std::move(value), " FROM 1 FOR 6)");
    case Kind::kIntegers:
    case Kind::kTexts:
      return make('A', "(", std::move(value), ")[1:5]");
    default:
      return value;
  }
}
}  // namespace

Scope BodyMaker::scope(size_t count) const {
  Scope scope;
  for (size_t i = 0; i < std::min(count, variables_.size()); i++)
    scope.push_back({variables_[i].name, variables_[i].kind});
  return scope;
}

Term BodyMaker::assigned(Kind kind, const Scope& scope, bool may_fail) {
  if (random_->chance(30)) return expressions_->leaf(kind, scope, false);
  Scope others;
  for (const auto& reference : scope)
    if (kind != Kind::kInterval && kind != Kind::kJsonb) others.push_back(reference);
  return bounded(
      kind, may_fail ? make('A', "(", expressions_->value(kind, others, 2, true), ")::" + std::string(type_name(kind)))
                     : expressions_->typed_value(kind, others, 2));
}

// One that may be assigned; null: there is none.
const BodyMaker::Variable* BodyMaker::variable(Kind kind) {
  std::vector<const Variable*> fitting;
  for (const auto& variable : variables_)
    if (variable.is_assignable && variable.kind == kind) fitting.push_back(&variable);
  return fitting.empty() ? nullptr : random_->element(fitting);
}

Term BodyMaker::assign() {
  std::vector<const Variable*> fitting;
  for (const auto& variable : variables_)
    if (variable.is_assignable) fitting.push_back(&variable);
  if (fitting.empty()) return notice();
  const Variable& target = *random_->element(fitting);
  return make(kPart, target.name + random_->one_of({" := ", " := ", " = "}), assigned(target.kind, scope(), true),
              "; ");
}

Term BodyMaker::assign_element() {
  const Kind array = random_->chance(60) ? Kind::kIntegers : Kind::kTexts;
  const Variable* target = variable(array);
  if (target == nullptr) return assign();
  const Kind element = array == Kind::kIntegers ? Kind::kInteger : Kind::kText;
  Term index = random_->chance(60)
                   ? make('A', std::to_string(1 + random_->pick(4)))
                   : make('A', "1 + abs(", expressions_->typed_value(Kind::kInteger, scope(), 0), " % 4)");
  return make(kPart, target->name + "[", std::move(index), "] := ", assigned(element, scope(), false), "; ");
}

Term BodyMaker::sql() {
  switch (random_->pick(7)) {
    case 0:
    case 1:
      return insert();
    case 2:
    case 3:
      return update();
    case 4:
      return remove();
    case 5:
      return select_row();
    default:
      return select_into();
  }
}

// Ordered by a key. typed: of exactly these kinds, as results have to be.
Term BodyMaker::select(const std::vector<Kind>& kinds, const Scope& variables, const std::string& into, bool is_typed) {
  const Table& table = *random_->element(tables_);
  Scope all = table.scope("x.");
  all.insert(all.end(), variables.begin(), variables.end());
  Term term = make('A', "SELECT ");
  for (size_t i = 0; i < kinds.size(); i++) {
    if (i > 0) append(&term, std::string(", "));
    Term value = assigned(kinds[i], all, false);
    append(&term,
           is_typed ? make('A', "(", std::move(value), ")::" + std::string(type_name(kinds[i]))) : std::move(value));
    append(&term, " AS a" + std::to_string(i + 1));
  }
  append(&term, into + " FROM " + table.name + " x");
  if (random_->chance(25))
    append(&term, make('W', " WHERE " + key_condition(table, "x.")));
  else if (random_->chance(70))
    append(&term, make('W', " WHERE ", queries_.condition(all, 1)));
  append(&term, std::string(" ORDER BY "));
  const std::string direction = random_->one_of({"", " DESC"});
  for (size_t i = 0; i < table.key.size(); i++)
    append(&term, (i == 0 ? "x." : ", x.") + table.columns[table.key[i]].name + direction);
  append(&term, make('W', random_->one_of({"", " LIMIT 1", " LIMIT 3", " OFFSET 1"})));
  return term;
}

std::string BodyMaker::key_condition(const Table& table, const std::string& prefix) {
  std::string text;
  for (size_t column : table.key) {
    const Column& key = table.columns[column];
    const Variable* held = nullptr;
    for (const auto& variable : variables_)
      if (variable.kind == key.kind && random_->chance(30)) held = &variable;
    const std::string number = std::to_string(1 + random_->pick(10));
    const std::string constant = key.kind == Kind::kText ? "'k" + number + "'" : number;
    text += (text.empty() ? "" : " AND ") + prefix + key.name + " = " + (held != nullptr ? held->name : constant);
  }
  return text;
}

Term BodyMaker::select_into() {
  std::vector<Kind> kinds;
  std::string targets;
  for (int i = 1 + random_->pick(2); i > 0; i--) {
    const Kind kind = random_kind(random_);
    const Variable* target = variable(kind);
    if (target == nullptr || targets.find(target->name) != std::string::npos) continue;
    kinds.push_back(kind);
    targets += (targets.empty() ? "" : ", ") + target->name;
  }
  if (kinds.empty()) return assign();
  return make(kPart, select(kinds, scope(), " INTO " + random_->one_of({"", "", "STRICT "}) + targets, false), "; ");
}

// Whole rows.
Term BodyMaker::select_row() {
  if (rows_.empty()) return select_into();
  const auto& [name, table] = random_->element(rows_);
  const bool may_insert = std::none_of(table->columns.begin(), table->columns.end(),
                                       [](const Column& column) { return column.is_generated; });
  if (may_insert && random_->chance(25))
    return make(kPart, "INSERT INTO " + table->name + " VALUES (" + name + ".*); ");
  return make(kPart, "SELECT * INTO " + random_->one_of({"", "STRICT "}) + name + " FROM " + table->name + " x WHERE " +
                         key_condition(*table, "x.") + "; ");
}

Term BodyMaker::returning(const Table& table) {
  if (!random_->chance(35)) return make('W');
  const Column& column = random_->element(table.columns);
  const Variable* target = variable(column.kind);
  if (target == nullptr) return make('W');
  return make('W', " RETURNING " + column.name + " INTO " + random_->one_of({"", "STRICT "}) + target->name);
}

Term BodyMaker::insert() {
  const Table& table = *random_->element(tables_);
  std::vector<const Column*> columns;
  for (const auto& column : table.columns)
    if (!column.is_generated && (column.is_unique || random_->chance(85))) columns.push_back(&column);
  Term term = make(kPart, "INSERT INTO " + table.name + " (" + names_of(columns) + ") VALUES (");
  for (size_t i = 0; i < columns.size(); i++) {
    if (i > 0) append(&term, std::string(", "));
    const Column& column = *columns[i];
    const bool is_key = column.name == "id" || column.name == "no";
    const std::string number = std::to_string(1 + random_->pick(14));
    if (is_key && random_->chance(75))
      append(&term, column.kind == Kind::kText ? "'k" + number + "'" : number);
    else if (column.name == "parent" && random_->chance(60))
      append(&term, std::string("NULL"));
    else
      append(&term, assigned(column.kind, scope(), true));
  }
  append(&term, std::string(")"));
  if (random_->chance(20)) {
    append(&term, make('W', " ON CONFLICT DO NOTHING"));
  } else if (random_->chance(25)) {
    std::string key;
    for (size_t column : table.key) key += (key.empty() ? "" : ", ") + table.columns[column].name;
    const Column& set = random_->element(table.columns);
    if (!set.is_generated && !set.is_unique)
      append(&term, make('W', " ON CONFLICT (" + key + ") DO UPDATE SET " + set.name + " = ",
                         assigned(set.kind, scope(), false)));
  }
  append(&term, returning(table));
  append(&term, std::string("; "));
  return term;
}

Term BodyMaker::update() {
  const Table& table = *random_->element(tables_);
  // of several rows that fail, either may come first
  const bool is_one = table.is_checked || random_->chance(60);
  std::vector<const Column*> columns;
  for (const auto& column : table.columns)
    if (!column.is_generated && (is_one || !column.is_unique)) columns.push_back(&column);
  if (columns.empty()) return remove();
  Scope all = table.scope("x.");
  const Scope variables = scope();
  all.insert(all.end(), variables.begin(), variables.end());
  const Column* first = random_->element(columns);
  const Column* second = random_->element(columns);
  Term term = make(kPart, "UPDATE " + table.name + " x SET " + first->name + " = ", assigned(first->kind, all, false));
  if (first != second && random_->chance(40))
    append(&term, make('W', ", " + second->name + " = ", assigned(second->kind, all, false)));
  if (is_one) {
    append(&term, " WHERE " + key_condition(table, "x."));
    append(&term, returning(table));
  } else {
    append(&term, make('W', " WHERE ", queries_.condition(all, 1)));
  }
  append(&term, std::string("; "));
  return term;
}

Term BodyMaker::remove() {
  const Table& table = *random_->element(tables_);
  Scope all = table.scope("x.");
  const Scope variables = scope();
  all.insert(all.end(), variables.begin(), variables.end());
  Term term = make(kPart, "DELETE FROM " + table.name + " x WHERE " + key_condition(table, "x."));
  append(&term, random_->chance(25) ? make('W', " AND ", expressions_->condition(all, 1)) : returning(table));
  append(&term, std::string("; "));
  return term;
}

// Opened, read, mostly closed.
Term BodyMaker::cursor() {
  const Kind kind = random_kind(random_);
  const Variable* target = variable(kind);
  if (target == nullptr) return select_into();
  const std::string name = next_name("k");
  Term term = make(kPart);
  if (random_->chance(50)) {
    const std::string scroll = random_->one_of({" CURSOR FOR ", " SCROLL CURSOR FOR "});
    declarations_.back().push_back(make('W', name + scroll, select({kind}, scope(visible_), "", false), "; "));
    append(&term, make(kPart, "OPEN " + name + "; "));
  } else {
    declarations_.back().push_back(make('W', name + " refcursor; "));
    append(&term, make(kPart, "OPEN " + name + " FOR ", select({kind}, scope(), "", false), "; "));
  }
  for (int i = 1 + random_->pick(3); i > 0; i--)
    append(&term, make(kPart, random_->chance(80) ? "FETCH " + name + " INTO " + target->name + "; "
                                                  : "MOVE NEXT FROM " + name + "; "));
  append(&term, make(kPart, "RAISE NOTICE '% %', FOUND, " + target->name + "; "));
  if (random_->chance(90)) append(&term, make(kPart, "CLOSE " + name + "; "));
  return term;
}

Term BodyMaker::dynamic() {
  const Table& table = *random_->element(tables_);
  const Column& column = random_->element(table.columns);
  Term value = assigned(column.kind, scope(), false);
  if (random_->chance(50) && !column.is_generated)
    return make(kPart,
                "EXECUTE 'UPDATE " + table.name + " SET " + column.name + " = $1 WHERE " +
                    table.columns[table.key[0]].name + " = $2' USING ",
                std::move(value), ", ", expressions_->typed_value(table.columns[table.key[0]].kind, scope(), 0), "; ");
  const Variable* target = variable(column.kind);
  if (target == nullptr) return assign();
  return make(kPart,
              "EXECUTE format('SELECT COALESCE($1, %I) FROM %I ORDER BY %I LIMIT 1', '" + column.name + "', '" +
                  table.name + "', '" + table.columns[table.key[0]].name + "') INTO " + target->name + " USING ",
              std::move(value), "; ");
}

// By position, or from some argument on by name, in any order.
Term BodyMaker::joined(std::vector<std::pair<std::string, Term>> given) {
  size_t named = given.size();
  if (random_->chance(25)) {
    named = static_cast<size_t>(random_->pick(static_cast<int>(given.size()) + 1));
    if (random_->chance(50)) std::reverse(given.begin() + static_cast<std::ptrdiff_t>(named), given.end());
  }
  Term term = make('A');
  for (size_t i = 0; i < given.size(); i++) {
    append(&term, (i > 0 ? ", " : "") + (i < named ? "" : given[i].first + random_->one_of({" => ", " := "})));
    append(&term, std::move(given[i].second));
  }
  return term;
}

// Variables for what a procedure gives back; fits: there are such ones.
Term BodyMaker::call_arguments(const Routine& routine, bool* fits) {
  std::vector<std::pair<std::string, Term>> given;
  std::string outputs;
  for (const auto& parameter : routine.parameters) {
    const bool is_output = parameter.mode != Parameter::Mode::kIn;
    const bool is_procedure = routine.form == Routine::Form::kProcedure;
    if (parameter.mode == Parameter::Mode::kOut && !is_procedure) continue;
    if (!is_output || !is_procedure) {
      given.emplace_back(parameter.name, make('A', "(", expressions_->typed_value(parameter.kind, scope(), 1),
                                              ")::" + std::string(type_name(parameter.kind))));
      continue;
    }
    const Variable* target = variable(parameter.kind);
    if (target == nullptr || !target->is_exact || outputs.find(target->name) != std::string::npos)
      *fits = false;
    else
      outputs += target->name + " ", given.emplace_back(parameter.name, make('A', target->name));
  }
  return joined(std::move(given));
}

Term BodyMaker::call() {
  using Form = Routine::Form;
  std::vector<const Routine*> fitting;
  for (const auto& routine : *callable_)
    if (routine.cost * times_ < kCallCostMax) fitting.push_back(&routine);
  if (fitting.empty()) return assign();
  const Routine& routine = *random_->element(fitting);
  bool fits = true;
  Term arguments = call_arguments(routine, &fits);
  if (!fits) return assign();
  routine_->cost += routine.cost * times_;
  if (routine.form == Form::kProcedure) return make(kPart, "CALL " + routine.name + "(", std::move(arguments), "); ");
  const Variable* target = routine.form == Form::kValue ? variable(routine.result) : nullptr;
  if (target != nullptr)
    return make(kPart, target->name + " := ",
                bounded(routine.result, make('A', routine.name + "(", std::move(arguments), ")")), "; ");
  if (routine.form == Form::kValue || routine.form == Form::kVoid)
    return make(kPart, "PERFORM " + routine.name + "(", std::move(arguments), "); ");
  routine_->cost += times_ * kRowsOfCall;
  const std::string row = next_name("q");
  declarations_.back().push_back(make('W', row + " record; "));
  std::string shown;
  if (routine.form == Form::kSet) shown = ", " + row + ".a1";
  for (const auto& parameter : routine.parameters)
    if (parameter.mode != Parameter::Mode::kIn) shown += ", " + row + "." + parameter.name;
  std::string format;
  for (char c : shown) format += c == ',' ? " %" : "";
  const std::string alias = routine.form == Form::kSet ? ") AS f (a1)" : ") AS f";
  return make(kPart, "FOR " + row + " IN SELECT * FROM " + routine.name + "(", std::move(arguments),
              alias + " LOOP RAISE NOTICE 'row" + format + "'" + shown + "; END LOOP; ");
}

Term BodyMaker::arguments(const Routine& routine) {
  std::vector<std::pair<std::string, Term>> given;
  for (const auto& parameter : routine.parameters) {
    const bool is_procedure = routine.form == Routine::Form::kProcedure;
    if (parameter.mode == Parameter::Mode::kOut && !is_procedure) continue;
    expressions_->begin(false);
    given.emplace_back(parameter.name,
                       make('A', "(", expressions_->typed_value(parameter.kind, {}, random_->chance(80) ? 0 : 1),
                            ")::" + std::string(type_name(parameter.kind))));
  }
  return joined(std::move(given));
}

}  // namespace scyper::generator
