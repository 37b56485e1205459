#include <algorithm>

#include "codegen/generator.h"

// Rows that wait for memory together: before a look into a hash table that no cache holds, some dozen rows are put
// aside while the slots they need, then the entries, are fetched. Source: Menon, Mowry, Pavlo: Relaxed Operator Fusion
// for In-Memory Databases (VLDB 2017).
namespace scyper::query {

using ir::Op;
using ir::Type;

namespace {
constexpr double kCacheBytes = 384 << 10;  // smaller tables stay in a core's second level cache
constexpr double kRowsMin = 8192;          // of the input: fewer are not worth the code
constexpr int64_t kStageBytesMax = 8 << 10;
constexpr int64_t kStageRowsMax = 64;
}  // namespace

bool Generator::is_worth_staging(const PlanNode& input, double table_rows, int64_t tuple_bytes) {
  return input.rows >= kRowsMin && table_rows * static_cast<double>(tuple_bytes + 16) > kCacheBytes;
}

// Runs consume(hash) for each row of `input` for which `hash` has given one (it may leave to the block it is given
// instead), with the row's columns in a tuple. `store`: where entries of that hash will be looked for.
void Generator::gen_staged(const PlanNode& input, Reg store, const std::function<Reg(Block)>& hash_row,
                           const std::function<void(Reg)>& consume) {
  TupleLayout layout(8);
  StoredColumns columns = lay_out(input.needed, produced_by(input), false, &layout);
  int64_t bytes = (layout.bytes() + 7) & ~int64_t{7};
  int64_t rows = std::clamp<int64_t>(kStageBytesMax / bytes, 8, kStageRowsMax);
  int64_t frame = b_.reserve_frame(static_cast<uint32_t>(bytes * rows));
  Reg count = b_.new_variable(Type::kI64), again = b_.new_variable(Type::kI8), i = b_.new_variable(Type::kI64);
  Reg zero = constant(Type::kI64, 0), one = constant(Type::kI64, 1);
  Reg stage = b_.frame_address(frame);
  b_.assign(count, zero);
  staged_ = true;  // the way from `flush` back into the pipeline: its temporaries are assigned whenever it is taken
  Block flush = b_.new_block(), resume = b_.new_block(), finished = b_.new_block();
  gen_node(input, [&] {
    Block next = b_.new_block(), full = b_.new_block();
    Reg hash = hash_row(next);
    b_.prefetch(find_slot(store, hash), 0);
    Reg tuple = b_.index(stage, count, bytes);
    b_.store(tuple, 0, hash);
    store_columns(columns, tuple);
    b_.assign(count, b_.binary(Op::kAdd, count, one));
    b_.branch(b_.compare(Op::kEq, count, constant(Type::kI64, rows)), full, next, 2);
    b_.set_block(full);
    b_.assign(again, constant(Type::kI8, 1));
    b_.jump(flush);
    b_.set_block(resume);
    b_.assign(count, zero);
    b_.jump(next);
    b_.set_block(next);
  });
  b_.assign(again, constant(Type::kI8, 0));
  b_.jump(flush);
  b_.set_block(flush);
  auto each_row = [&](const std::function<void(Reg)>& body) {
    Block head = b_.new_block(), each = b_.new_block(), next = b_.new_block(), done = b_.new_block();
    b_.assign(i, zero);
    b_.jump(head);
    b_.set_block(head);
    b_.branch(b_.compare(Op::kLt, i, count), each, done, 1);
    b_.set_block(each);
    body(b_.index(stage, i, bytes));
    if (!b_.terminated()) b_.jump(next);
    b_.set_block(next);
    b_.assign(i, b_.binary(Op::kAdd, i, one));
    b_.jump(head);
    b_.set_block(done);
  };
  each_row([&](Reg tuple) {
    Reg slot = b_.load(Type::kI64, find_slot(store, b_.load(Type::kI64, tuple)));
    Reg entry = b_.binary(Op::kAnd, slot, constant(Type::kI64, static_cast<int64_t>(kPointerMask)));
    b_.prefetch(b_.convert(Op::kBitcast, entry, Type::kPtr), 0);
  });
  each_row([&](Reg tuple) {
    publish(columns, tuple);
    consume(b_.load(Type::kI64, tuple));
  });
  b_.branch(again, resume, finished);
  b_.set_block(finished);
}

}  // namespace scyper::query
