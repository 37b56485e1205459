#include "generator/routines.h"

#include "generator/statements.h"

namespace scyper::generator {

using query::append;
using query::make;

namespace {
using Form = Routine::Form;
using Mode = Parameter::Mode;

Form random_form(Random* random) {
  static constexpr Form kForms[] = {Form::kValue, Form::kValue, Form::kValue, Form::kVoid,      Form::kSet,
                                    Form::kTable, Form::kOut,   Form::kOut,   Form::kProcedure, Form::kProcedure};
  return kForms[random->pick(10)];
}
}  // namespace

Term RoutineMaker::parameters(Routine* routine) {
  const bool may_give = routine->form == Form::kOut || routine->form == Form::kProcedure;
  const int count = random_->pick(4) + (routine->form == Form::kOut ? 1 : 0);
  Term term = make('A');
  bool has_output = false;
  for (int i = 1; i <= count; i++) {
    Parameter parameter{"p" + std::to_string(i), random_kind(random_)};
    if (may_give && (random_->chance(50) || (routine->form == Form::kOut && i == count && !has_output)))
      parameter.mode = random_->chance(50) ? Mode::kOut : Mode::kInOut;
    has_output = has_output || parameter.mode != Mode::kIn;
    const char* mode = parameter.mode == Mode::kOut ? "OUT " : parameter.mode == Mode::kInOut ? "INOUT " : "";
    append(&term, (i == 1 ? "" : ", ") + std::string(mode) + parameter.name + " " + type_name(parameter.kind));
    routine->parameters.push_back(std::move(parameter));
  }
  return term;
}

Term RoutineMaker::routine(bool is_wrong) {
  Routine routine;
  if (random_->chance(8)) {
    routine.form = Form::kVoid;
    return make(kStatement, "DO $$ ", bodies_.body(&routine, is_wrong), " $$");
  }
  routine.form = random_form(random_);
  routine.name = "f" + std::to_string(routines_.size() + 1);
  routine.result = random_kind(random_);
  const bool is_procedure = routine.form == Form::kProcedure;
  Term term =
      make(kStatement, std::string(is_procedure ? "CREATE PROCEDURE " : "CREATE FUNCTION ") + routine.name + "(",
           parameters(&routine), ")");
  if (routine.form == Form::kVoid) append(&term, std::string(" RETURNS void"));
  if (routine.form == Form::kValue) append(&term, " RETURNS " + std::string(type_name(routine.result)));
  if (routine.form == Form::kSet) append(&term, " RETURNS SETOF " + std::string(type_name(routine.result)));
  if (routine.form == Form::kTable) {
    for (int i = 1; i <= 2; i++)
      routine.parameters.push_back({"o" + std::to_string(i), random_kind(random_), Mode::kOut});
    const Parameter& second = routine.parameters.back();
    const Parameter& first = routine.parameters[routine.parameters.size() - 2];
    append(&term, " RETURNS TABLE (" + first.name + " " + type_name(first.kind) + ", " + second.name + " " +
                      type_name(second.kind) + ")");
  }
  append(&term, " LANGUAGE plpgsql" + std::string(!is_procedure && random_->chance(10) ? " STRICT" : "") + " AS $$ ");
  append(&term, bodies_.body(&routine, is_wrong));
  append(&term, std::string(" $$"));
  routines_.push_back(std::move(routine));
  return term;
}

Term RoutineMaker::call() {
  if (routines_.empty()) return make(kStatement, "SELECT 1");
  const Routine& routine = random_->chance(50) ? routines_.back() : random_->element(routines_);
  const char* begin = routine.form == Form::kProcedure                              ? "CALL "
                      : routine.form == Form::kValue || routine.form == Form::kVoid ? "SELECT "
                                                                                    : "SELECT * FROM ";
  return make(kStatement, begin + routine.name + "(", bodies_.arguments(routine), ")");
}

}  // namespace scyper::generator
