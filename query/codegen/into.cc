#include <algorithm>

#include "codegen/generator.h"

// INTO: where procedures keep what statements give.
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

namespace {
bool has_handlers(const StepList& steps) {
  return std::any_of(steps.begin(), steps.end(), [](const auto& step) {
    return step->has_handlers || has_handlers(step->body) ||
           std::any_of(step->branches.begin(), step->branches.end(),
                       [](const auto& branch) { return has_handlers(branch.second); });
  });
}
}  // namespace

void Generator::gen_into(const Step& step) {
  Block done = b_.new_block();
  Reg rows = b_.new_variable(Type::kI64);
  b_.assign(rows, constant(Type::kI64, 0));
  bool at_most_one = step.into.strict || step.kind == StepKind::kDml;  // more is an error, not ignored
  // a statement that fails assigns nothing, as a handler would see
  const bool holds = at_most_one && has_handlers(program_.steps);
  Values held;
  auto consume = [&](const Values& values) {
    if (!step.into.present) return;
    if (at_most_one) {
      Block first = b_.new_block();
      b_.branch(b_.compare(Op::kNe, rows, constant(Type::kI64, 0)), raise_block(RuntimeError::kTooManyRows), first, 2);
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
      for (uint32_t variable : step.into.variables)
        assign_variable(variable, null_value(program_.variables[variable].type));
      b_.jump(some);
    }
    b_.set_block(some);
  }
  if (step.keeps_found) return;
  if (step.kind == StepKind::kQuery) b_.assign(row_count_, rows);
  set_found(b_.compare(Op::kNe, row_count_, constant(Type::kI64, 0)));
}

}  // namespace scyper::query
