#include <algorithm>

#include "codegen/generator.h"
#include "plan/expressions.h"

// INTO: where procedures keep what statements give. FOUND and ROW_COUNT: what these tell.
namespace scyper::query {

using ir::Op;
using ir::Type;

// All values are cast before the first is assigned: they may be the targets themselves.
void Generator::assign_into(const IntoTargets& into, const Values& values) {
  Values held;
  for (size_t i = 0; i < into.variables.size(); i++) {
    SqlType type = program_.variables[into.variables[i]].type;
    Value value = i < values.size() ? stabilise(cast(values[i], type, false)) : null_value(type);
    if (into.variables.size() > 1 && b_.is_variable(value.a)) {
      Value copy = new_variable(value.type, value.null != ir::kNoReg);
      copy.stable = value.stable;
      assign(copy, value);
      value = copy;
    }
    held.push_back(value);
  }
  for (size_t i = 0; i < held.size(); i++) assign_variable(into.variables[i], held[i]);
}

// --- FOUND, ROW_COUNT ---

void Generator::set_found(Reg found) {
  if (program_.found_variable == kNoVariable) return;
  Value value;
  value.type = make_type(TypeId::kBool);
  value.a = found;
  assign(variables_[program_.found_variable], value);
}

void Generator::set_row_count(Reg rows) {
  if (program_.asks_row_count) b_.assign(told_rows_, rows);
}

// A statement has ended.
void Generator::tell_rows(Reg rows) {
  set_row_count(rows);
  set_found(b_.compare(Op::kNe, rows, constant(Type::kI64, 0)));
}

void Generator::gen_tells(const Step& step, Reg rows) {
  if (step.tells == Tells::kRows) return tell_rows(rows);
  if (step.tells == Tells::kNoRows) return set_row_count(constant(Type::kI64, 0));
  const auto& outputs = step.query->outputs;
  const bool is_query = step.tells == Tells::kOneRow ||
                        std::any_of(outputs.begin(), outputs.end(),
                                    [](const OutputColumn& output) { return has_subquery(*output.expr); });
  if (is_query) set_row_count(constant(Type::kI64, 1));
}

// An expression of PL/pgSQL itself. One with a subquery is run as a query of its own, whose row ROW_COUNT tells.
Value Generator::gen_alone(const BoundExpr& expr) {
  Value value = gen(expr);
  if (program_.asks_row_count && has_subquery(expr)) set_row_count(constant(Type::kI64, 1));
  return value;
}

void Generator::gen_condition_alone(const BoundExpr& expr, Block if_true, Block if_false) {
  if (!program_.asks_row_count || !has_subquery(expr)) return gen_condition(expr, if_true, if_false);
  Block holds = b_.new_block(), fails = b_.new_block();
  gen_condition(expr, holds, fails);
  b_.set_block(holds);
  set_row_count(constant(Type::kI64, 1));
  b_.jump(if_true);
  b_.set_block(fails);
  set_row_count(constant(Type::kI64, 1));
  b_.jump(if_false);
}

namespace {
bool has_handlers(const StepList& steps) {
  return std::any_of(steps.begin(), steps.end(), [](const auto& step) {
    return step->has_handlers || has_handlers(step->body) ||
           std::any_of(step->branches.begin(), step->branches.end(),
                       [](const auto& branch) { return has_handlers(branch.second); });
  });
}
}  // namespace

void Generator::assign_nulls(const IntoTargets& into) {
  for (uint32_t variable : into.variables) assign_variable(variable, null_value(program_.variables[variable].type));
}

void Generator::gen_into(const Step& step) {
  Block done = b_.new_block();
  Reg rows = b_.new_variable(Type::kI64);
  b_.assign(rows, constant(Type::kI64, 0));
  bool at_most_one = step.into.strict || step.kind == StepKind::kDml;  // more is an error, not ignored
  // As a handler would see: a statement that fails assigns nothing; one whose values do not fit has told its rows.
  const bool holds = has_handlers(program_.steps);
  Values held;
  auto consume = [&](const Values& values) {
    if (!step.into.present) return;
    if (at_most_one) {
      Block first = b_.new_block(), second = b_.new_block();
      b_.branch(b_.compare(Op::kNe, rows, constant(Type::kI64, 0)), second, first, 2);
      b_.set_block(second);
      tell_rows(constant(Type::kI64, 2));
      raise(RuntimeError::kTooManyRows);
      b_.set_block(first);
    }
    b_.assign(rows, constant(Type::kI64, 1));
    if (!holds) assign_into(step.into, values);
    for (size_t i = 0; holds && i < values.size(); i++) {
      const Value value = stabilise(values[i]);
      if (held.size() == i) held.push_back(new_variable(value.type, true));
      assign(held[i], value);
    }
    if (!at_most_one) b_.jump(done);
  };
  if (step.kind == StepKind::kDml)
    gen_dml(*step.dml, consume);
  else
    gen_query(*step.query, consume);
  if (!b_.terminated()) b_.jump(done);
  b_.set_block(done);
  gen_tells(step, step.kind == StepKind::kQuery ? rows : row_count_);
  if (step.into.present) {
    Block none = b_.new_block();
    Block some = b_.new_block();
    Block found = held.empty() ? some : b_.new_block();
    b_.branch(b_.compare(Op::kEq, rows, constant(Type::kI64, 0)), none, found, 2);
    if (!held.empty()) {
      b_.set_block(found);
      assign_into(step.into, held);
      b_.jump(some);
    }
    b_.set_block(none);
    if (step.into.strict) {
      raise(RuntimeError::kNoRows);
    } else {
      assign_nulls(step.into);
      b_.jump(some);
    }
    b_.set_block(some);
  }
}

}  // namespace scyper::query
