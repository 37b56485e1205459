#include "bind/statement_reads.h"
#include "codegen/generator.h"
#include "plan/expressions.h"
#include "plan/planner.h"

// Subqueries that the plan leaves where they stand. One that nothing around it decides runs when it is asked for the
// first time, as an InitPlan of PostgreSQL; the others run whenever they are asked.
namespace scyper::query {

using ir::Op;
using ir::Type;

namespace {
void visit_expressions(const PlanNode& node, const std::function<void(const BoundExpr&)>& f) {
  visit_own(node, f);
  for (const auto& input : node.inputs) visit_expressions(*input, f);
}

// A subquery, copied where rows around it go by the names of its relations: a plan may have joined another copy.
class OwnNames {
 public:
  OwnNames(const BoundQuery& query, const std::set<uint32_t>& known, uint32_t given, uint32_t* next_relation)
      : query_(query) {
    *next_relation = std::max(*next_relation, given);
    std::unique_ptr<BoundQuery> copy = clone(query);
    if (!rename_taken(copy.get(), known, next_relation).empty()) copy_ = std::move(copy);
  }
  const BoundQuery& query() const { return copy_ == nullptr ? query_ : *copy_; }

 private:
  const BoundQuery& query_;
  std::unique_ptr<BoundQuery> copy_;
};
}  // namespace

// Registers for the results of the independent subqueries in a plan, of all depths; the numbers of those that were
// added. They have to be forgotten behind the plan.
std::vector<uint32_t> Generator::open_once(const Plan& plan) {
  std::vector<uint32_t> added;
  auto open = [&](const BoundExpr& e) {
    if (e.query == nullptr || e.query->id == 0 || once_.count(e.query->id) != 0 || !is_independent(*e.query)) return;
    added.push_back(e.query->id);
    OnceResult& once = once_[e.query->id];
    if (e.kind == BoundKind::kInSubquery) {
      once.rows = b_.new_variable(Type::kPtr);
      return b_.assign(once.rows, b_.null_pointer());
    }
    once.is_known = b_.new_variable(Type::kI8);
    b_.assign(once.is_known, constant(Type::kI8, 0));
    once.value = new_variable(e.type, true);
    assign(once.value, null_value(e.type));
  };
  for (const auto& shared : plan.shared) visit_expressions(*shared->plan, open);
  visit_expressions(*plan.root, open);
  for (const auto& output : plan.outputs) visit(*output, open);
  return added;
}

void Generator::close_once(const std::vector<uint32_t>& queries) {
  for (const uint32_t id : queries) once_.erase(id);
}

// The result of a subquery; what an independent one has given is kept.
Value Generator::gen_once(const BoundExpr& expr, const std::function<Value()>& run) {
  const auto kept = once_.find(expr.query->id);
  if (kept == once_.end()) return run();
  const OnceResult once = kept->second;
  Block compute = b_.new_block(), known = b_.new_block();
  b_.branch(once.is_known, known, compute, 1);
  b_.set_block(compute);
  assign(once.value, run());
  b_.assign(once.is_known, constant(Type::kI8, 1));
  b_.jump(known);
  b_.set_block(known);
  return once.value;
}

// The rows of the query of an IN; those of an independent one are kept.
void Generator::gen_kept_rows(const BoundExpr& in, const Consumer& consume) {
  const OwnNames own(*in.query, known_relations(), program_.relation_count, &next_relation_);
  const auto kept = once_.find(in.query->id);
  if (kept == once_.end()) return gen_query(own.query(), consume);
  const Reg store = kept->second.rows;
  TupleLayout layout(0);
  std::vector<TupleField> fields;
  for (const auto& output : in.query->outputs)
    if (!output.hidden) fields.push_back(layout.add(output.expr->type, true));
  const int64_t bytes = std::max<int64_t>(8, layout.bytes());
  Block compute = b_.new_block(), known = b_.new_block();
  b_.branch(b_.compare(Op::kEq, store, b_.null_pointer()), compute, known, 2);
  b_.set_block(compute);
  check(b_.call(k_rt_tuples_create, {context(), constant(Type::kI64, bytes)}));
  Reg made = b_.load(Type::kPtr, context(), kContextValue);
  gen_query(own.query(), [&](const Values& values) {
    Reg tuple = append_tuple(made, bytes);
    for (size_t i = 0; i < fields.size(); i++)
      store_field(tuple, fields[i], cast_stored(stabilise(values[i]), fields[i].type));
  });
  b_.assign(store, made);
  b_.jump(known);
  b_.set_block(known);
  for_each_tuple(store, bytes, [&](Reg tuple) {
    Values values;
    for (const auto& field : fields) values.push_back(load_field(tuple, field));
    consume(values);
  });
}

Value Generator::gen_scalar_subquery(const BoundExpr& expr) {
  return gen_once(expr, [&] { return run_scalar_subquery(expr); });
}

Value Generator::run_scalar_subquery(const BoundExpr& expr) {
  const OwnNames own(*expr.query, known_relations(), program_.relation_count, &next_relation_);
  Value result = new_variable(expr.type, true);
  assign(result, null_value(expr.type));
  Reg rows = b_.new_variable(Type::kI8);
  b_.assign(rows, constant(Type::kI8, 0));
  gen_query(own.query(), [&](const Values& values) {
    Block first = b_.new_block();
    b_.branch(rows, raise_block(RuntimeError::kSubqueryRows), first, 2);
    b_.set_block(first);
    b_.assign(rows, constant(Type::kI8, 1));
    Value value = stabilise(values[0]);
    assign(result, value);
  });
  result.stable = true;
  return result;
}

Value Generator::gen_exists(const BoundExpr& expr) {
  return gen_once(expr, [&] { return run_exists(expr); });
}

Value Generator::run_exists(const BoundExpr& expr) {
  const OwnNames own(*expr.query, known_relations(), program_.relation_count, &next_relation_);
  Value result = new_variable(expr.type, false);
  b_.assign(result.a, constant(Type::kI8, 0));
  Block done = b_.new_block();
  const auto found = [&](const Values&) {
    b_.assign(result.a, constant(Type::kI8, 1));
    b_.jump(done);
  };
  gen_query(own.query(), found, /*is_one_row=*/true);
  if (!b_.terminated()) b_.jump(done);
  b_.set_block(done);
  return result;
}

Value Generator::gen_in_subquery(const BoundExpr& expr) {
  Value result = new_variable(expr.type, true);
  b_.assign(result.a, constant(Type::kI8, 0));
  b_.assign(result.null, constant(Type::kI8, 0));
  Block done = b_.new_block();
  gen_kept_rows(expr, [&](const Values& values) {
    const Values* saved = outputs_;
    outputs_ = &values;
    Block found = b_.new_block();
    Block unknown = b_.new_block();
    Block next = b_.new_block();
    if (expr.args.size() == 1) {
      gen_logic(*expr.args[0], found, next, unknown);
    } else {
      Reg seen_null = b_.new_variable(Type::kI8);
      b_.assign(seen_null, constant(Type::kI8, 0));
      for (const auto& arg : expr.args) {
        Block equal = b_.new_block();
        Block null = b_.new_block();
        gen_logic(*arg, equal, next, null);
        b_.set_block(null);
        b_.assign(seen_null, constant(Type::kI8, 1));
        b_.jump(equal);
        b_.set_block(equal);
      }
      b_.branch(seen_null, unknown, found);
    }
    b_.set_block(found);
    b_.assign(result.a, constant(Type::kI8, 1));
    b_.assign(result.null, constant(Type::kI8, 0));
    b_.jump(done);
    b_.set_block(unknown);
    b_.assign(result.null, constant(Type::kI8, 1));
    b_.jump(next);
    b_.set_block(next);
    outputs_ = saved;
  });
  if (!b_.terminated()) b_.jump(done);
  b_.set_block(done);
  return result;
}

}  // namespace scyper::query
