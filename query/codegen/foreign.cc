#include <algorithm>

#include "codegen/generator.h"
#include "query/foreign_table.h"
#include "runtime/foreign_files.h"

namespace scyper::query {

using ir::Op;
using ir::Type;

// Rows of a file: a call parses a window of them, the loop over the window is generated.
void Generator::gen_foreign(const Relation& relation, const std::function<void()>& body) {
  auto& known = resources_.foreign;
  auto number = std::find(known.begin(), known.end(), relation.foreign) - known.begin();
  if (number == std::ssize(known)) known.push_back(relation.foreign);
  check(b_.call(k_rt_foreign_open, {context(), constant(Type::kI64, number),
                                    constant(Type::kI64, static_cast<int64_t>(resources_.foreign_places++))}));
  Reg reader = b_.load(Type::kPtr, context(), kContextValue), i = b_.new_variable(Type::kI64);
  Block head = b_.new_block(), window = b_.new_block(), test = b_.new_block(), each = b_.new_block(),
        next = b_.new_block(), done = b_.new_block();
  b_.jump(head);
  b_.set_block(head);
  may_swap();
  check_interrupt();
  check(b_.call(k_rt_foreign_fill, {context(), reader}));
  Reg rows = b_.load(Type::kPtr, context(), kContextValue);
  Reg count = b_.load(Type::kI64, context(), kContextValue + 8);
  b_.assign(i, constant(Type::kI64, 0));
  b_.branch(b_.compare(Op::kEq, count, constant(Type::kI64, 0)), done, window, 2);
  b_.set_block(window);
  b_.jump(test);
  b_.set_block(test);
  b_.branch(b_.compare(Op::kLt, i, count), each, head, 1);
  b_.set_block(each);
  Reg row = b_.index(rows, i, static_cast<int64_t>(relation.columns.size()) * kDatumBytes);
  Values values;
  for (size_t k = 0; k < relation.columns.size(); k++)
    values.push_back(load_datum(row, static_cast<int64_t>(k) * kDatumBytes, relation.columns[k].type, true, false));
  if (values.empty()) values.resize(1);
  sources_[relation.id].values = std::move(values);
  gen_round(body);
  if (!b_.terminated()) b_.jump(next);
  b_.set_block(next);
  b_.assign(i, b_.binary(Op::kAdd, i, constant(Type::kI64, 1)));
  b_.jump(test);
  b_.set_block(done);
}

}  // namespace scyper::query
