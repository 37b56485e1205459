#include <set>

#include "absl/strings/str_cat.h"
#include "base/check.h"
#include "base/invariant.h"
#include "bind/make.h"
#include "codegen/generator.h"
#include "runtime/row_lock_calls.h"

namespace scyper::query {

using ir::Op;
using ir::Type;

namespace {

// Do these steps leave alone what a query that is still running reads: tables and the variables in it?
bool is_harmless(const StepList& steps, const std::set<uint32_t>& variables) {
  for (const auto& step : steps) {
    switch (step->kind) {
      case StepKind::kAssign:
      case StepKind::kAssignElement:
        if (variables.count(step->variable) != 0) return false;
        break;
      case StepKind::kIf:
        for (const auto& branch : step->branches)
          if (!is_harmless(branch.second, variables)) return false;
        break;
      case StepKind::kExit:
      case StepKind::kReturn:
      case StepKind::kRaise:
        break;
      default:
        return false;
    }
    bool calls = false;
    auto look = [&](const BoundExpr& e) { calls |= e.kind == BoundKind::kUserCall; };
    for (const auto* e : {step->expr.get(), step->expr2.get(), step->expr3.get()})
      if (e != nullptr) visit(*e, look);
    for (const auto& branch : step->branches) visit(*branch.first, look);
    for (const auto& arg : step->args) visit(*arg, look);
    if (calls || !is_harmless(step->body, variables)) return false;
  }
  return true;
}
}  // namespace

void collect_assigned(const StepList& steps, std::set<uint32_t>* assigned) {
  for (const auto& step : steps) {
    assigned->insert(step->into.variables.begin(), step->into.variables.end());
    if (step->into.loose != nullptr)
      assigned->insert(step->into.loose->variables.begin(), step->into.loose->variables.end());
    assigned->insert(step->outputs.begin(), step->outputs.end());
    if (step->kind == StepKind::kOpen) assigned->insert(step->variable);
    if (step->kind == StepKind::kAssign || step->kind == StepKind::kAssignElement ||
        step->kind == StepKind::kForInteger || step->kind == StepKind::kForEach)
      assigned->insert(step->variable);
    collect_assigned(step->body, assigned);
    collect_assigned(step->declarations, assigned);
    for (const auto& branch : step->branches) collect_assigned(branch.second, assigned);
    for (const auto& handler : step->handlers) collect_assigned(handler.body, assigned);
  }
}
Generator::Generator(const BoundProgram& program, ProgramResources* resources)
    : program_(program), resources_(*resources), b_(program.name) {
  collect_assigned(program.steps, &assigned_);
  note_changes(program.steps);
  for (const Variable& variable : program.variables)
    domains_write_ |= variable.domain_call != kNoVariable && may_write(variable.domain_call);
  overwrites_all_ |= domains_write_;
  // what a function returns is used while its caller's statement goes on; procedures' results are copied or sent at
  // once
  if (program.is_routine && program.return_type.id != TypeId::kUnknown) overwrites_all_ = true;
  if (program.dml != nullptr) note_changes(*program.dml);
  overwrites_all_ |= program.query != nullptr && program.query->with != nullptr;
}

StatusOr<ir::Function> Generator::generate() {
  Block entry = b_.current_block();
  fail_block_ = b_.new_block();
  misclassified_block_ = b_.new_block();
  return_block_ = b_.new_block();
  b_.set_block(fail_block_);
  b_.ret_constant(static_cast<int32_t>(Outcome::kError));
  b_.set_block(misclassified_block_);
  b_.ret_constant(static_cast<int32_t>(Outcome::kMisclassified));
  handler_ = fail_block_;
  b_.set_block(entry);
  row_count_ = b_.new_variable(Type::kI64);
  b_.assign(row_count_, constant(Type::kI64, 0));
  if (program_.asks_row_count) {
    told_rows_ = b_.new_variable(Type::kI64);
    set_row_count(constant(Type::kI64, 0));
  }
  for (uint32_t i = 0; i < program_.variables.size(); i++) {
    const Variable& v = program_.variables[i];
    Value variable = new_variable(v.type, true);
    variables_.push_back(variable);
    if (i < program_.parameters) {
      Value given = load_datum(ir::kArgumentsReg, i * kDatumBytes, v.type, true, true);
      // elements are assigned in place: not in the caller's array
      if (v.type.id == TypeId::kArray && assigned_.count(i) != 0) given.stable = false;
      assign(variable, stabilise(given));
    } else {
      assign(variable, null_value(v.type));
    }
  }
  open_transitions();
  if (program_.returns_set) {
    open_row_set();
  } else if (program_.return_type.id != TypeId::kUnknown && program_.return_type.id != TypeId::kVoid &&
             program_.result_variables.empty()) {
    return_value_ = new_variable(program_.return_type, true);
    assign(return_value_, null_value(program_.return_type));
  }
  if (program_.found_variable != kNoVariable) set_found(constant(Type::kI8, 0));
  begin_analysis();
  auto emit = [&](const Values& values) {
    if (!is_analysed()) gen_emit(values);
    b_.assign(row_count_, b_.binary(Op::kAdd, row_count_, constant(Type::kI64, 1)));
  };
  if (program_.query != nullptr) {
    gen_query(*program_.query, emit);
  } else if (program_.dml != nullptr) {
    gen_dml(*program_.dml, [&](const Values& values) {
      if (!is_analysed()) gen_emit(values);
    });
  } else {
    gen_steps(program_.steps);
    bool function = program_.is_routine && return_value_.a != ir::kNoReg && program_.result_variables.empty();
    if (!b_.terminated() && function) raise(RuntimeError::kNoReturn);
  }
  if (!b_.terminated()) b_.jump(return_block_);
  b_.set_block(return_block_);
  end_analysis();
  gen_return();
  SCYPER_RETURN_IF_ERROR(status_);
  ir::Function result = b_.finish();
  if (staged_) ir::demote(&result);
  return result;
}

// A row of the result. What clients do not know leaves as text, a real as the double that looks alike.
void Generator::gen_emit(const Values& values) {
  Values shown;
  for (const auto& value : values) {
    shown.push_back(value);
    if (const SqlType type = shown_type(value.type); type != value.type && !is_float(value.type.id))
      shown.back() = cast(value, type, true);
    else if (value.type.id == TypeId::kFloat4)
      shown.back() = cast(cast(value, make_type(TypeId::kText), true), make_type(TypeId::kFloat8), true);
  }
  check(b_.call(k_rt_emit, {context(), store_row(shown)}));
}

void Generator::gen_return() {
  if (program_.returns_set) {
    Value set;
    set.type = make_type(TypeId::kInt8);
    set.a = b_.convert(Op::kBitcast, row_set_, Type::kI64);
    store_datum(ir::kResultsReg, 0, set);
    return b_.ret_constant(0);
  }
  Values results;
  for (uint32_t variable : program_.result_variables) results.push_back(variables_[variable]);
  if (program_.is_routine) {
    if (results.empty() && return_value_.a != ir::kNoReg) results.push_back(return_value_);
    if (results.empty() && program_.return_type.id ==
                               TypeId::kVoid) {  // a function's void is a value like others: not NULL, an empty text
      Value nothing;
      nothing.type = make_type(TypeId::kVoid);
      nothing.a = constant(register_type(nothing.type), 0);
      results.push_back(nothing);
    }
    for (size_t i = 0; i < results.size(); i++)
      store_datum(ir::kResultsReg, static_cast<int64_t>(i) * kDatumBytes, results[i]);
  } else {
    if (!results.empty()) gen_emit(results);
    b_.call(k_rt_count_rows, {context(), row_count_});
  }
  b_.ret_constant(0);
}

void Generator::gen_steps(const StepList& steps) {
  static const std::set<StepKind> runs = {StepKind::kDml, StepKind::kQuery, StepKind::kPerform, StepKind::kCall,
                                          StepKind::kExecute};
  check_stack();
  for (const auto& step : steps) {
    if (b_.terminated()) return;  // after EXIT, RETURN, RAISE: never reached
    gen_step(*step);
    if (handler_mark_.has_value() && !b_.terminated() && runs.count(step->kind) != 0)
      check(b_.call(k_rt_check_claims, {context(), b_.frame_address(*handler_mark_)}));
  }
}

void Generator::gen_step(const Step& step) {
  switch (step.kind) {
    case StepKind::kBlock:
      return gen_block(step);
    case StepKind::kAssign:
      assign_variable(step.variable, gen_alone(*step.expr));
      if (step.tells == Tells::kNoRows) set_row_count(constant(Type::kI64, 0));
      return;
    case StepKind::kAssignElement:
      return gen_assign_element(step);
    case StepKind::kIf:
      return gen_if(step);
    case StepKind::kLoop:
    case StepKind::kWhile:
      return gen_loop(step);
    case StepKind::kForInteger:
      return gen_for_integer(step);
    case StepKind::kForQuery:
      return gen_for_query(step);
    case StepKind::kForEach:
      return gen_for_each(step);
    case StepKind::kExit:
      return gen_exit(step);
    case StepKind::kReturn:
      if (step.expr != nullptr) assign(return_value_, stabilise(cast(gen(*step.expr), program_.return_type, false)));
      return b_.jump(return_block_);
    case StepKind::kRaise:
      return gen_raise(step);
    case StepKind::kQuery:
    case StepKind::kDml:
      return gen_into(step);
    case StepKind::kPerform: {
      b_.assign(row_count_, constant(Type::kI64, 0));
      gen_query(*step.query, [&](const Values&) { count_row(); });
      return tell_rows(row_count_);
    }
    case StepKind::kCall:
      return gen_call_step(step);
    case StepKind::kExecute:
      return gen_execute(step);
    case StepKind::kForRows:
      return gen_for_rows(step);
    case StepKind::kOpen:
      return gen_open(step);
    case StepKind::kFetch:
      return gen_fetch(step);
    case StepKind::kClose:
      return gen_close(step);
    case StepKind::kTransaction:
      return check(b_.call(k_rt_end_transaction, {context(), constant(Type::kI64, step.commit ? 1 : 0),
                                                  constant(Type::kI64, step.in_handlers ? 1 : 0)}));
    case StepKind::kReturnNext:
      return gen_return_next(step);
    case StepKind::kReturnQuery:
      return gen_return_query(step);
  }
}

void Generator::assign_variable(uint32_t number, const Value& value) {
  const Value& variable = variables_[number];
  const Variable& declared = program_.variables[number];
  Value fitting = cast(value, variable.type, false);
  if (declared.not_null && fitting.null != ir::kNoReg) {
    Block present = b_.new_block();
    b_.branch(fitting.null, raise_block(RuntimeError::kNullAssignment), present, 2);
    b_.set_block(present);
  }
  if (declared.domain_call != kNoVariable) {
    std::vector<BoundPtr> given;
    given.push_back(make_variable(number, declared.type, true, -1));
    note_call(declared.domain_call, given);
    fitting = call_routine(declared.domain_call, {fitting}, {declared.type}, nullptr);
    fitting.fresh = false;
  }
  // an array variable owns its array, so that assigning an element changes no other
  if (variable.type.id == TypeId::kArray && !fitting.fresh) fitting.stable = false;
  assign(variable, stabilise(fitting));
}

void Generator::gen_assign_element(const Step& step) {
  const Value& variable = variables_[step.variable];
  Value index = gen_alone(*step.expr2);
  Value item = stabilise(cast(gen_alone(*step.expr), element_of(variable.type), false));
  if (index.null != ir::kNoReg) {
    Block present = b_.new_block();
    b_.branch(index.null, raise_block(RuntimeError::kNullSubscript), present, 2);
    b_.set_block(present);
  }
  // inline where the element exists, or is the next and there is room; else by the runtime
  Block exists = b_.new_block(), fits = b_.new_block(), other = b_.new_block(), done = b_.new_block();
  b_.branch(variable.null, other, exists, 2);
  b_.set_block(exists);
  Reg size = b_.load(Type::kI32, variable.a, offsetof(ArrayValue, size));
  Reg position = b_.binary(Op::kSub, index.a, b_.load(Type::kI32, variable.a, offsetof(ArrayValue, lower_bound)));
  Reg next = b_.binary(Op::kAnd, b_.compare(Op::kEq, position, size),
                       b_.compare(Op::kNe, size, constant(Type::kI32, 0)));  // the first sets the lower bound
  Reg room = b_.compare(Op::kLt, position, b_.load(Type::kI32, variable.a, offsetof(ArrayValue, capacity)));
  Reg inside = b_.compare(Op::kULt, position, size);
  b_.branch(b_.binary(Op::kOr, inside, b_.binary(Op::kAnd, next, room)), fits, other, 1);
  b_.set_block(fits);
  Reg grown = b_.binary(Op::kAdd, size, b_.convert(Op::kZExt, next, Type::kI32));
  b_.store(variable.a, offsetof(ArrayValue, size), grown);
  Reg elements = b_.load(Type::kPtr, variable.a, offsetof(ArrayValue, elements));
  store_datum(b_.index(elements, b_.convert(Op::kSExt, position, Type::kI64), kDatumBytes), 0, item);
  b_.jump(done);
  b_.set_block(other);
  Reg array = b_.select(variable.null, b_.null_pointer(), variable.a);
  Reg type = data_of(std::vector<SqlType>{element_of(variable.type)});
  check(b_.call(k_rt_array_set, {context(), array, index.a, store_row({item}), type}));
  b_.assign(variable.a, b_.load(Type::kPtr, context(), offsetof(ExecContext, value)));
  b_.assign(variable.null, constant(Type::kI8, 0));
  b_.jump(done);
  b_.set_block(done);
}

// --- blocks and branches ---

void Generator::gen_block(const Step& step) {
  Block after = b_.new_block();
  labels_[step.label] = {after, after, for_loops_};
  if (!step.has_handlers) {
    gen_steps(step.declarations);
    gen_steps(step.body);
    if (!b_.terminated()) b_.jump(after);
    return b_.set_block(after);
  }
  // declarations are outside of what the handlers cover
  gen_steps(step.declarations);
  if (b_.terminated()) return b_.set_block(after);  // one of them fails
  int64_t mark = b_.reserve_frame(sizeof(storage::ChangeLog::Mark));
  b_.call(k_rt_mark, {context(), b_.frame_address(mark)});
  Block saved = handler_;
  Block caught = b_.new_block();
  handler_ = caught;
  const auto saved_mark = std::exchange(handler_mark_, mark);
  gen_steps(step.body);
  handler_ = saved;
  handler_mark_ = saved_mark;
  if (!b_.terminated()) b_.jump(after);
  b_.set_block(caught);
  for (const auto& clause : step.handlers) {
    std::string states;
    for (const auto& state : clause.sqlstates)
      absl::StrAppend(&states, state, std::string(6 - std::min<size_t>(6, state.size()), '\0'));
    Block take = b_.new_block();
    Block next = b_.new_block();
    Reg matches = b_.call(k_rt_catchable, {context(), b_.data(states),
                                           constant(Type::kI64, static_cast<int64_t>(clause.sqlstates.size()))});
    b_.branch(matches, take, next);
    b_.set_block(take);
    b_.call(k_rt_rollback_to, {context(), b_.frame_address(mark)});
    Reg fields = b_.frame_address(b_.reserve_frame(kErrorFieldCount * sizeof(Datum)));
    check(b_.call(k_rt_error_fields, {context(), fields}));
    for (size_t i = 0; i < kErrorFieldCount; i++)
      assign(variables_[clause.variables[i]],
             load_datum(fields, static_cast<int64_t>(i) * kDatumBytes, make_type(TypeId::kText), true, true));
    gen_steps(clause.body);
    if (!b_.terminated()) b_.jump(after);
    b_.set_block(next);
  }
  b_.jump(handler_);
  b_.set_block(after);
}

void Generator::gen_if(const Step& step) {
  Block after = b_.new_block();
  for (const auto& [condition, body] : step.branches) {
    Block then = b_.new_block();
    Block next = b_.new_block();
    gen_condition_alone(*condition, then, next);
    b_.set_block(then);
    gen_steps(body);
    if (!b_.terminated()) b_.jump(after);
    b_.set_block(next);
  }
  gen_steps(step.body);
  if (!b_.terminated()) b_.jump(after);
  b_.set_block(after);
}

void Generator::gen_loop(const Step& step) {
  Block head = b_.new_block();
  Block after = b_.new_block();
  labels_[step.label] = {after, head, for_loops_};
  b_.jump(head);
  b_.set_block(head);
  check_interrupt();
  if (step.expr != nullptr) {
    Block body = b_.new_block();
    gen_condition_alone(*step.expr, body, after);
    b_.set_block(body);
  }
  gen_round([&] { gen_steps(step.body); });
  if (!b_.terminated()) b_.jump(head);
  b_.set_block(after);
}

void Generator::gen_exit(const Step& step) {
  const LoopBlocks target = labels_[step.label];
  Block goes = step.is_continue ? target.next : target.exit;
  if (for_loops_ > target.for_loops) {  // FOR loops inside of the target end, too: they had a row
    Block here = b_.current_block(), ends = b_.new_block();
    b_.set_block(ends);
    set_found(constant(Type::kI8, 1));
    b_.jump(std::exchange(goes, ends));
    b_.set_block(here);
  }
  if (step.expr == nullptr) return b_.jump(goes);
  Block stays = b_.new_block();
  gen_condition_alone(*step.expr, goes, stays);
  b_.set_block(stays);
}

// A round of a FOR loop; goes on in `next`.
void Generator::gen_for_body(const Step& step, Block exit, Block next) {
  labels_[step.label] = {exit, next, ++for_loops_};
  gen_round([&] { gen_steps(step.body); });
  for_loops_--;
  if (!b_.terminated()) b_.jump(next);
  b_.set_block(next);
}

// After a loop over rows: without one its variables are NULL. rows: the RowSet that a record is filled from.
void Generator::gen_for_end(const Step& step, Reg rows, Reg ran) {
  Block none = b_.new_block(), done = b_.new_block();
  b_.branch(ran, done, none, 1);
  b_.set_block(none);
  if (step.into.loose != nullptr)
    assign_from_rows(step.into, rows, constant(Type::kI64, kEmptyLoop));
  else
    assign_nulls(step.into);
  b_.jump(done);
  b_.set_block(done);
  set_found(ran);
}

void Generator::gen_for_integer(const Step& step) {
  auto bound = [&](const BoundExpr& expr, RuntimeError null) {
    Value value = gen_alone(expr);
    if (value.null != ir::kNoReg) {
      Block present = b_.new_block();
      b_.branch(value.null, raise_block(null), present, 2);
      b_.set_block(present);
    }
    return b_.convert(Op::kSExt, value.a, Type::kI64);  // wider, so that the last step does not overflow
  };
  Reg from = bound(*step.expr, RuntimeError::kNullLoopFrom);
  Reg to = bound(*step.expr2, RuntimeError::kNullLoopTo);
  Reg by = constant(Type::kI64, 1);
  if (step.expr3 != nullptr) {
    by = bound(*step.expr3, RuntimeError::kNullLoopStep);
    Block positive = b_.new_block();
    b_.branch(b_.compare(Op::kLe, by, constant(Type::kI64, 0)), raise_block(RuntimeError::kLoopStep), positive, 2);
    b_.set_block(positive);
  }
  Reg i = b_.new_variable(Type::kI64);
  Reg ran = b_.new_variable(Type::kI8);
  b_.assign(i, from);
  b_.assign(ran, constant(Type::kI8, 0));
  // bounds are evaluated once; the body may change variables in them
  Reg last = b_.new_variable(Type::kI64);
  b_.assign(last, to);
  size_t remembered = gen_prefetch(step, from, last, by);
  Block head = b_.new_block(), body = b_.new_block(), next = b_.new_block(), finished = b_.new_block(),
        after = b_.new_block();
  b_.jump(head);
  b_.set_block(head);
  check_interrupt();
  b_.branch(b_.compare(step.reverse ? Op::kGe : Op::kLe, i, last), body, finished);
  b_.set_block(body);
  b_.assign(ran, constant(Type::kI8, 1));
  Value counter;
  counter.type = make_type(TypeId::kInt4);
  counter.a = b_.convert(Op::kTrunc, i, Type::kI32);
  assign(variables_[step.variable], counter);
  for (size_t n = remembered; n > 0; n--) gen_fetch_ahead(remembered_[remembered_.size() - n]);
  gen_for_body(step, finished, next);
  if (remembered > 0) {
    Reg round = remembered_.back().round;
    b_.assign(round, b_.binary(Op::kAdd, round, constant(Type::kI64, 1)));
    remembered_.resize(remembered_.size() - remembered);
  }
  b_.assign(i, b_.binary(step.reverse ? Op::kSub : Op::kAdd, i, by));
  b_.jump(head);
  b_.set_block(finished);
  set_found(ran);
  b_.jump(after);
  b_.set_block(after);
}

void Generator::gen_for_query(const Step& step) {
  std::set<uint32_t> variables(step.into.variables.begin(), step.into.variables.end());
  std::set<uint32_t> read;
  visit(*step.query, [&](const BoundExpr& e) {
    if (e.kind == BoundKind::kVariable) read.insert(e.index);
  });
  bool overlaps = false;
  for (uint32_t variable : variables) overlaps |= read.count(variable) != 0;
  bool streams = !overlaps && !domains_write_ && is_harmless(step.body, read);
  Reg ran = b_.new_variable(Type::kI8);
  b_.assign(ran, constant(Type::kI8, 0));
  Block finished = b_.new_block();
  auto each = [&](const Values& values) {
    b_.assign(ran, constant(Type::kI8, 1));
    assign_into(step.into, values);
    gen_for_body(step, finished, b_.new_block());
  };
  if (streams)
    gen_query(*step.query, each);
  else
    gen_buffered(*step.query, each);
  if (!b_.terminated()) b_.jump(finished);
  b_.set_block(finished);
  gen_for_end(step, ir::kNoReg, ran);
}

void Generator::gen_for_each(const Step& step) {
  Value array = gen_alone(*step.expr);
  if (array.null != ir::kNoReg) {
    Block present = b_.new_block();
    b_.branch(array.null, raise_block(RuntimeError::kNullForEach), present, 2);
    b_.set_block(present);
  }
  check(b_.call(k_rt_copy_array, {context(), array.a}));  // the body may change the variable
  Reg copy = b_.load(Type::kPtr, context(), offsetof(ExecContext, value));
  Reg i = b_.new_variable(Type::kI32);
  Reg ran = b_.new_variable(Type::kI8);
  b_.assign(i, constant(Type::kI32, 0));
  b_.assign(ran, constant(Type::kI8, 0));
  Block head = b_.new_block(), body = b_.new_block(), next = b_.new_block(), finished = b_.new_block();
  b_.jump(head);
  b_.set_block(head);
  check_interrupt();
  b_.branch(b_.compare(Op::kLt, i, b_.load(Type::kI32, copy, offsetof(ArrayValue, size))), body, finished);
  b_.set_block(body);
  b_.assign(ran, constant(Type::kI8, 1));
  Reg elements = b_.load(Type::kPtr, copy, offsetof(ArrayValue, elements));
  Reg element = b_.index(elements, b_.convert(Op::kSExt, i, Type::kI64), kDatumBytes);
  assign_variable(step.variable, load_datum(element, 0, element_of(array.type), true, true));
  gen_for_body(step, finished, next);
  b_.assign(i, b_.binary(Op::kAdd, i, constant(Type::kI32, 1)));
  b_.jump(head);
  b_.set_block(finished);
  set_found(ran);
}

// --- SQL in procedures ---

Value Generator::call_routine(uint32_t callee, const Values& args, const std::vector<SqlType>& outputs,
                              Values* results) {
  Values lasting = args;
  if (may_write(callee)) {  // also the row that a text comes from
    for (Value& arg : lasting) {
      arg.stable = false;
      arg.cells = ir::kNoReg;
      arg = stabilise(arg);
    }
  }
  Reg row = store_row(lasting);
  Reg out = b_.frame_address(
      b_.reserve_frame(static_cast<uint32_t>(kDatumBytes) * static_cast<uint32_t>(outputs.size() + 1)));
  Reg outcome = b_.call(k_rt_call, {context(), constant(Type::kI64, callee), row, out});
  // a misclassified callee ends the caller too
  Block failed = b_.new_block();
  Block next = b_.new_block();
  b_.branch(b_.compare(Op::kNe, outcome, constant(Type::kI32, 0)), failed, next, 2);
  b_.set_block(failed);
  Reg misclassified = b_.compare(Op::kEq, outcome, constant(Type::kI32, static_cast<int64_t>(Outcome::kMisclassified)));
  b_.branch(misclassified, misclassified_block_, handler_);
  b_.set_block(next);
  Values values;
  for (size_t i = 0; i < outputs.size(); i++) {
    // it may be a part of an argument, and lie where that does
    const bool may_lie_in_window = reads_windows() && holds_bytes(outputs[i].id);
    const bool is_stable = !program_.is_routine && !may_lie_in_window;
    values.push_back(load_datum(out, static_cast<int64_t>(i) * kDatumBytes, outputs[i], true, is_stable));
  }
  if (results != nullptr) *results = values;
  return values.empty() ? Value{} : values[0];
}

void Generator::gen_call_step(const Step& step) {
  Values args;
  for (const auto& arg : step.args) args.push_back(gen(*arg));
  note_call(step.variable, step.args);
  std::vector<SqlType> types;
  for (const auto& p : step.routine->parameters)
    if (p.mode != ParameterMode::kIn) types.push_back(p.type);
  Values results;
  call_routine(step.variable, args, types, &results);
  for (size_t i = 0; i < results.size(); i++)
    if (step.outputs[i] != kNoVariable) {
      // the callee's variable is gone; but what its texts point to may be overwritten by what comes next
      results[i].fresh = !program_.is_routine;
      assign_variable(step.outputs[i], results[i]);
    }
}

}  // namespace scyper::query
