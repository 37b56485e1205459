#include "codegen/generator.h"
#include "runtime/column_bounds.h"

namespace scyper::query {

using ir::Op;
using ir::Type;

// Asks the node's tests. The block that is left to is where it goes on without having run.
ir::Block Generator::gen_bounds_tests(const PlanNode& node) {
  std::vector<ColumnComparison> comparisons;
  for (const BoundsTest& test : node.tests) {
    ColumnComparison comparison;
    comparison.op = static_cast<int64_t>(test.op);
    comparison.left_table = table_number(test.left_source->table);
    comparison.left_column = test.left->index;
    if (test.right_source == nullptr) {
      comparison.constant = test.right->value.lo;
    } else {
      comparison.right_table = table_number(test.right_source->table);
      comparison.right_column = test.right->index;
    }
    comparisons.push_back(comparison);
  }
  check(b_.call(k_rt_bounds_exclude,
                {context(), data_of(comparisons), constant(Type::kI64, static_cast<int64_t>(comparisons.size())),
                 constant(Type::kI64, shared_run_ ? 1 : 0)}));
  Block run = b_.new_block(), done = b_.new_block();
  Reg excluded = b_.load(Type::kI64, context(), offsetof(ExecContext, value));
  b_.branch(b_.compare(Op::kEq, excluded, constant(Type::kI64, 0)), run, done, 1);
  b_.set_block(run);
  return done;
}

}  // namespace scyper::query
