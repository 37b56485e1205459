#include "generator/body.h"

#include <algorithm>

namespace scyper::generator {

using query::append;
using query::make;

namespace {
constexpr char kPart = 'P';       // a statement, or several
constexpr int kCostMax = 3000;    // of a routine
constexpr int kDepthMax = 3;      // of loops, branches and blocks in each other
constexpr int kRowsOfQuery = 10;  // about
constexpr int kIntegerRounds = 4;
}  // namespace

BodyMaker::BodyMaker(Random* random, ExpressionMaker* expressions, const Schema* schema,
                     const std::vector<Routine>* callable)
    : random_(random),
      expressions_(expressions),
      schema_(schema),
      callable_(callable),
      queries_(random, expressions, schema) {
  for (const Table* table : schema->targets(false))
    if (!table->key.empty()) tables_.push_back(table);
}

Term BodyMaker::body(Routine* routine, bool is_wrong) {
  routine_ = routine;
  is_wrong_ = is_wrong;
  variables_.clear();
  rows_.clear();
  labels_.clear();
  names_ = depth_ = handlers_ = 0;
  times_ = 1;
  routine->cost = 1;
  for (const auto& parameter : routine->parameters)
    variables_.push_back({parameter.name, parameter.kind, parameter.kind != Kind::kNumeric});
  return block("", true);
}

Term BodyMaker::block(const std::string& label, bool may_catch) {
  const auto variables = variables_;
  const auto rows = rows_;
  const size_t visible = visible_;
  const bool is_whole = declarations_.empty();
  declarations_.emplace_back();
  depth_++;
  if (!label.empty()) labels_.push_back({label, false});
  declare();
  visible_ = variables_.size();
  Term content = statements(1 + random_->pick(is_whole ? 6 : 3));
  if (is_whole) append(&content, finish());
  Term caught = may_catch && random_->chance(is_whole ? 30 : 75) ? handlers() : make('W');
  Term term = make(is_whole ? 'A' : kPart, label.empty() ? "" : "<<" + label + ">> ", "DECLARE ");
  for (auto& declaration : declarations_.back()) append(&term, std::move(declaration));
  append(&term, std::string("BEGIN "));
  append(&term, std::move(content));
  append(&term, std::move(caught));
  append(&term, std::string(is_whole ? "END" : "END; "));
  if (!label.empty()) labels_.pop_back();
  depth_--;
  declarations_.pop_back();
  variables_ = variables;
  rows_ = rows;
  visible_ = visible;
  return term;
}

void BodyMaker::declare() {
  for (int i = 1 + random_->pick(4); i > 0; i--) declare_variable();
  if (random_->chance(25)) declare_row();
}

void BodyMaker::declare_variable() {
  const Kind kind = random_kind(random_);
  const std::string name = next_name("v");
  std::string type = type_name(kind);
  if (kind == Kind::kNumeric) type = random_->one_of({"numeric(12,2)", "numeric(20,4)", "numeric(6,1)"});
  if (kind == Kind::kText) type = random_->one_of({"text", "text", "varchar(8)", "varchar", "char(5)"});
  if (random_->chance(20)) {
    const Table& table = *random_->element(tables_);
    for (const auto& column : table.columns)
      if (column.kind == kind && kind != Kind::kNumeric) type = table.name + "." + column.name + "%TYPE";
  }
  const bool is_constant = random_->chance(8), is_not_null = random_->chance(8);
  Term term = make('W', name + (is_constant ? " CONSTANT " : " ") + type + (is_not_null ? " NOT NULL" : ""));
  expressions_->begin(false);
  if (is_constant || is_not_null || random_->chance(60)) {
    append(&term, random_->one_of({" := ", " = ", " DEFAULT "}));
    append(&term, assigned(kind, scope(), !declarations_.empty() && random_->chance(10)));
  }
  append(&term, std::string("; "));
  declarations_.back().push_back(std::move(term));
  variables_.push_back({name, kind, !is_constant && !is_not_null, type == type_name(kind)});
}

void BodyMaker::declare_row() {
  const Table& table = *random_->element(tables_);
  const std::string name = next_name("r");
  declarations_.back().push_back(make('W', name + " " + table.name + "%ROWTYPE; "));
  for (const auto& column : table.columns)
    variables_.push_back({name + "." + column.name, column.kind, column.kind != Kind::kNumeric, false});
  rows_.emplace_back(name, &table);
}

Term BodyMaker::handlers() {
  Term term = make('W', "EXCEPTION ");
  handlers_++;
  for (int i = 1 + random_->pick(2); i > 0; i--) {
    const std::string name = random_->one_of(
        {"division_by_zero", "unique_violation", "not_null_violation", "check_violation", "foreign_key_violation",
         "no_data_found", "too_many_rows", "numeric_value_out_of_range", "string_data_right_truncation",
         "invalid_text_representation", "case_not_found", "raise_exception", "null_value_not_allowed", "data_exception",
         "integrity_constraint_violation", "others", "others", "others", "SQLSTATE '22012'"});
    Term handler = make('A', "WHEN " + name);
    if (random_->chance(30)) append(&handler, make('W', random_->one_of({" OR data_exception", " OR syntax_error"})));
    append(&handler, " THEN RAISE NOTICE 'caught %', SQLSTATE; ");
    if (random_->chance(25)) {
      if (const Variable* state = variable(Kind::kText); state != nullptr)
        append(&handler, make(kPart, "GET STACKED DIAGNOSTICS " + state->name +
                                         random_->one_of({" = RETURNED_SQLSTATE; ", " := CONSTRAINT_NAME; ",
                                                          " = TABLE_NAME; ", " = COLUMN_NAME; "})));
    }
    append(&handler, statements(random_->pick(3)));
    if (random_->chance(15)) append(&handler, make(kPart, "RAISE; "));
    if (declarations_.size() == 1 && random_->chance(80)) append(&handler, finish());
    append(&term, std::move(handler));
  }
  handlers_--;
  return term;
}

Term BodyMaker::statements(int count) {
  Term term = make(kPart);
  for (int i = 0; i < count; i++) append(&term, statement());
  return term;
}

Term BodyMaker::statement() {
  routine_->cost += times_;
  if (routine_->cost > kCostMax) return make(kPart, "NULL; ");
  expressions_->begin(is_wrong_ && random_->chance(15));
  if (expressions_->is_wrong()) is_wrong_ = false;
  const int kind = random_->pick(100);
  if (depth_ < kDepthMax && kind < 36) {
    if (kind < 10) return branch();
    if (kind < 15) return cases();
    if (kind < 28) return loop();
    return block(random_->chance(30) ? next_name("l") : "", true);
  }
  return simple_statement();
}

Term BodyMaker::simple_statement() {
  const int kind = random_->pick(100);
  if (kind < 28) return assign();
  if (kind < 33) return assign_element();
  if (kind < 45) return notice();
  if (kind < 48) return raise();
  if (kind < 54) return leave();
  if (kind < 76) return sql();
  if (kind < 80) return cursor();
  if (kind < 83) return dynamic();
  if (kind < 89) return call();
  if (kind < 96) return give();
  return odd();
}

Term BodyMaker::branch() {
  depth_++;
  Term term = make(kPart, "IF (", expressions_->condition(scope(), 2), ") THEN ", statements(1 + random_->pick(2)));
  if (random_->chance(30))
    append(&term,
           make('W', "ELSIF (", expressions_->condition(scope(), 1), ") THEN ", statements(1 + random_->pick(2))));
  if (random_->chance(50)) append(&term, make('W', "ELSE ", statements(1 + random_->pick(2))));
  append(&term, std::string("END IF; "));
  depth_--;
  return term;
}

Term BodyMaker::cases() {
  depth_++;
  const bool is_simple = random_->chance(50);
  const Kind kind = random_->chance(50) ? Kind::kInteger : Kind::kText;
  Term term = make(kPart, "CASE ");
  if (is_simple) append(&term, make('A', "(", expressions_->typed_value(kind, scope(), 1), ")"));
  for (int i = 1 + random_->pick(3); i > 0; i--) {
    append(&term, std::string(" WHEN "));
    append(&term, is_simple ? expressions_->leaf(kind, scope(), false)
                            : make('A', "(", expressions_->condition(scope(), 1), ")"));
    if (is_simple && random_->chance(30)) append(&term, make('W', ", ", expressions_->leaf(kind, scope(), false)));
    append(&term, std::string(" THEN "));
    append(&term, statements(1 + random_->pick(2)));
  }
  if (random_->chance(70)) append(&term, make('W', "ELSE ", statements(1 + random_->pick(2))));
  append(&term, std::string("END CASE; "));
  depth_--;
  return term;
}

Term BodyMaker::loop() {
  const std::string label = random_->chance(40) ? next_name("l") : "";
  const int kind = random_->pick(100);
  if (kind < 35) return integer_loop(label);
  if (kind < 50) return array_loop(label);
  if (kind < 75) return query_loop(label);
  // counters that nothing else assigns
  const std::string counter = next_name("w");
  declarations_.back().push_back(make('W', counter + " integer; "));
  const std::string begin = counter + " := 0; " + (label.empty() ? "" : "<<" + label + ">> ");
  const std::string count = "LOOP " + counter + " := " + counter + " + 1; ";
  Term term = make(kPart, begin);
  if (kind < 88) {
    append(&term, "WHILE " + counter + " < 3 AND ");
    append(&term, make('b', "(", expressions_->condition(scope(), 1), ")"));
    append(&term, " " + count);
  } else {
    append(&term, count + "EXIT WHEN " + counter + " > 3; ");
  }
  append(&term, loop_body(label, 3, {{counter, Kind::kInteger, false}}));
  return term;
}

Term BodyMaker::loop_body(const std::string& label, int times, const std::vector<Variable>& variables) {
  const auto outer = variables_;
  const int outer_times = times_;
  variables_.insert(variables_.end(), variables.begin(), variables.end());
  labels_.push_back({label, true});
  times_ *= times;
  depth_++;
  Term term = make('A', statements(1 + random_->pick(3)), "END LOOP" + (label.empty() ? "" : " " + label) + "; ");
  depth_--;
  times_ = outer_times;
  labels_.pop_back();
  variables_ = outer;
  return term;
}

Term BodyMaker::integer_loop(const std::string& label) {
  const std::string counter = next_name("i");
  const bool is_reverse = random_->chance(30);
  auto bound = [&](int low, int high) {
    if (random_->chance(65)) return make('A', std::to_string(low + random_->pick(high - low + 1)));
    return make('A', "(", expressions_->typed_value(Kind::kInteger, scope(), 1), " % 2)");
  };
  Term from = bound(0, 1), to = bound(1, 3);
  if (is_reverse) std::swap(from, to);
  Term term = make(
      kPart, (label.empty() ? "" : "<<" + label + ">> ") + "FOR " + counter + " IN " + (is_reverse ? "REVERSE " : ""),
      std::move(from), " .. ", std::move(to));
  if (random_->chance(25))
    append(&term,
           make('W', " BY ",
                random_->chance(85) ? make('A', random_->one_of({"1", "2"}))
                                    : make('A', "(", expressions_->typed_value(Kind::kInteger, scope(), 1), " % 2)")));
  append(&term, std::string(" LOOP "));
  append(&term, loop_body(label, kIntegerRounds, {{counter, Kind::kInteger}}));
  return term;
}

Term BodyMaker::array_loop(const std::string& label) {
  const Kind array = random_->chance(60) ? Kind::kIntegers : Kind::kTexts;
  const Kind element = array == Kind::kIntegers ? Kind::kInteger : Kind::kText;
  const Variable* target = variable(element);
  if (target == nullptr) return integer_loop(label);
  Term term = make(kPart, (label.empty() ? "" : "<<" + label + ">> ") + "FOREACH " + target->name + " IN ARRAY ",
                   assigned(array, scope(), false), " LOOP ");
  append(&term, loop_body(label, kIntegerRounds));
  return term;
}

Term BodyMaker::query_loop(const std::string& label) {
  const std::vector<Kind> kinds = {random_kind(random_), random_kind(random_)};
  const std::string begin = (label.empty() ? "" : "<<" + label + ">> ") + "FOR ";
  std::vector<const Variable*> fitting;
  for (const auto& variable : variables_)
    if (variable.is_assignable) fitting.push_back(&variable);
  if (fitting.size() > 1 && random_->chance(40)) {  // scalars, NULL after a loop without rows
    const Variable first = *random_->element(fitting), second = *random_->element(fitting);
    const bool is_one = first.name == second.name;
    Term term = make(kPart, begin + first.name + (is_one ? "" : ", " + second.name) + " IN ");
    append(&term, select(is_one ? std::vector{first.kind} : std::vector{first.kind, second.kind}, scope(), "", true));
    append(&term, std::string(" LOOP "));
    append(&term, loop_body(label, kRowsOfQuery));
    return term;
  }
  const std::string row = next_name("q");
  declarations_.back().push_back(make('W', row + " record; "));
  Term term = make(kPart, begin + row + " IN ");
  if (random_->chance(25)) {  // through a cursor, whose query sees what is declared before it
    const std::string cursor = next_name("k");
    declarations_.back().insert(declarations_.back().end(), make('W', cursor + " CURSOR (n integer) FOR ",
                                                                 select(kinds, scope(visible_), "", true), "; "));
    append(&term, cursor + "(" + std::to_string(random_->pick(4)) + ")");
  } else {
    append(&term, select(kinds, scope(), "", true));
  }
  append(&term, std::string(" LOOP "));
  append(&term, loop_body(label, kRowsOfQuery, {{row + ".a1", kinds[0], false}, {row + ".a2", kinds[1], false}}));
  return term;
}

Term BodyMaker::leave() {
  std::vector<const Label*> loops, named;
  for (const auto& label : labels_) {
    if (label.is_loop) loops.push_back(&label);
    if (!label.name.empty()) named.push_back(&label);
  }
  Term condition = random_->chance(80) ? make('W', " WHEN ", expressions_->condition(scope(), 1)) : make('W');
  if (!named.empty() && random_->chance(60)) {
    const Label& label = *random_->element(named);
    const char* word = label.is_loop && random_->chance(50) ? "CONTINUE " : "EXIT ";
    return make(kPart, word + label.name, std::move(condition), "; ");
  }
  if (loops.empty()) return notice();
  return make(kPart, random_->one_of({"EXIT", "CONTINUE"}), std::move(condition), "; ");
}

Term BodyMaker::notice() {
  Term term = make(kPart, "RAISE " + random_->one_of({"NOTICE", "NOTICE", "NOTICE", "WARNING", "INFO"}) + " 'n" +
                              std::to_string(++names_) + " %");
  const int count = 1 + random_->pick(3);
  for (int i = 1; i < count; i++) append(&term, std::string(" %"));
  append(&term, std::string("'"));
  for (int i = 0; i < count; i++) {
    append(&term, std::string(", "));
    append(&term, random_->chance(60) && !variables_.empty()
                      ? make('A', random_->element(variables_).name)
                      : expressions_->typed_value(random_kind(random_), scope(), 1));
  }
  append(&term, std::string("; "));
  return term;
}

Term BodyMaker::raise() {
  if (handlers_ > 0 && random_->chance(50)) return make(kPart, "RAISE; ");
  Term term = make(kPart);
  if (random_->chance(50)) term = make(kPart, "IF (", expressions_->condition(scope(), 1), ") THEN ");
  const bool is_conditional = !term.children.empty();
  append(&term, random_->one_of({"RAISE EXCEPTION 'no';", "RAISE EXCEPTION 'no' USING ERRCODE = '22012';",
                                 "RAISE EXCEPTION USING ERRCODE = 'check_violation';", "RAISE unique_violation;",
                                 "RAISE SQLSTATE '22003';", "RAISE no_data_found USING MESSAGE = 'none';"}));
  append(&term, std::string(is_conditional ? " END IF; " : " "));
  return term;
}

Term BodyMaker::odd() {
  const Variable* count = variable(Kind::kInteger);
  switch (random_->pick(4)) {
    case 0:
      if (count != nullptr) return make(kPart, "GET DIAGNOSTICS " + count->name + " = ROW_COUNT; ");
      return make(kPart, "NULL; ");
    case 1:
      return make(kPart, "ASSERT ", expressions_->condition(scope(), 1), ", 'asserted'; ");
    case 2:
      return make(kPart, "IF FOUND THEN ", make(kPart, notice()), "END IF; ");
    default:
      return make(kPart, "PERFORM ", expressions_->typed_value(random_kind(random_), scope(), 2), "; ");
  }
}

// A row of the result, or the end of the routine.
Term BodyMaker::give() {
  using Form = Routine::Form;
  std::vector<Kind> kinds;
  for (const auto& parameter : routine_->parameters)
    if (parameter.mode != Parameter::Mode::kIn) kinds.push_back(parameter.kind);
  if (routine_->form == Form::kSet) kinds = {routine_->result};
  if (routine_->returns_rows() && random_->chance(40))
    return make(kPart, "RETURN QUERY ", select(kinds, scope(), "", true), "; ");
  if (routine_->form == Form::kSet) return make(kPart, "RETURN NEXT ", assigned(routine_->result, scope(), true), "; ");
  if (routine_->form == Form::kTable) return make(kPart, "RETURN NEXT; ");
  if (!random_->chance(25)) return notice();
  if (routine_->form == Form::kValue) return make(kPart, "RETURN ", assigned(routine_->result, scope(), true), "; ");
  return make(kPart, "RETURN; ");
}

Term BodyMaker::finish() {
  if (routine_->form != Routine::Form::kValue || random_->chance(4)) return give();
  expressions_->begin(false);
  return make(kPart, "RETURN ", assigned(routine_->result, scope(), true), "; ");
}

}  // namespace scyper::generator
