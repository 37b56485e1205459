#include <algorithm>

#include "codegen/generator.h"
#include "runtime/spill.h"
#include "runtime/team.h"

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
constexpr int64_t kEnd = 0, kResume = 1, kFromDisk = 2;  // where rows of the stage come from, and what follows
}  // namespace

bool Generator::is_worth_staging(const PlanNode& input, double table_rows, int64_t tuple_bytes) {
  return input.rows >= kRowsMin && table_rows * static_cast<double>(tuple_bytes + 16) > kCacheBytes;
}

struct Generator::StageState {  // variables
  Reg again, rows, count;
};
struct Generator::StageBlocks {
  Block resume, flush, partition, finished;
};

// Is it to have code for going to disk? Where memory is certain to do, it costs nothing.
bool Generator::may_spill(double rows, int64_t bytes) {
  bool may = resources_.spill_from_bytes > 0 && !program_.writes &&
             rows * static_cast<double>(bytes) >= resources_.spill_from_bytes;
  resources_.can_spill |= may;
  return may;
}

// Runs consume(hash) for each row of `input` for which `hash` has given one (it may leave to the block it is given
// instead), with the row's columns in a tuple. `store`: where entries of that hash will be looked for.
void Generator::gen_staged(const PlanNode& input, Reg store, const std::function<Reg(Block)>& hash_row,
                           const std::function<void(Reg)>& consume, const Rounds* rounds) {
  TupleLayout layout(8);
  StoredColumns columns = lay_out(input.needed, produced_by(input), false, &layout);
  int64_t bytes = (layout.bytes() + 7) & ~int64_t{7};
  int64_t rows = std::clamp<int64_t>(kStageBytesMax / bytes, 8, kStageRowsMax);
  int64_t frame = b_.reserve_frame(static_cast<uint32_t>(bytes * rows));
  Reg count = b_.new_variable(Type::kI64), again = b_.new_variable(Type::kI8), i = b_.new_variable(Type::kI64);
  Reg zero = constant(Type::kI64, 0), one = constant(Type::kI64, 1);
  Reg stage = b_.frame_address(frame), from = stage;
  if (rounds != nullptr) {
    from = b_.new_variable(Type::kPtr);  // the stage, or rows that come back from disk
    b_.assign(from, stage);
  }
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
    b_.assign(again, constant(Type::kI8, kResume));
    b_.jump(flush);
    b_.set_block(resume);
    b_.assign(count, zero);
    b_.jump(next);
    b_.set_block(next);
  });
  b_.assign(again, constant(Type::kI8, kEnd));
  b_.jump(flush);
  b_.set_block(flush);
  Block partition = rounds != nullptr ? b_.new_block() : ir::kNoBlock;
  if (rounds != nullptr) gen_spilled_rows(store, stage, count, bytes, again, resume, partition);
  auto each_row = [&](const std::function<void(Reg)>& body) {
    Block head = b_.new_block(), each = b_.new_block(), next = b_.new_block(), done = b_.new_block();
    b_.assign(i, zero);
    b_.jump(head);
    b_.set_block(head);
    b_.branch(b_.compare(Op::kLt, i, count), each, done, 1);
    b_.set_block(each);
    body(b_.index(from, i, bytes));
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
    gen_round([&] { consume(b_.load(Type::kI64, tuple)); });
  });
  if (rounds != nullptr)
    gen_stage_rounds(store, *rounds, {again, from, count}, {resume, flush, partition, finished});
  else
    b_.branch(again, resume, finished);
  b_.set_block(finished);
}

// Rows that need a table that went to disk follow it.
void Generator::gen_spilled_rows(Reg store, Reg stage, Reg count, int64_t bytes, Reg again, Block resume,
                                 Block partition) {
  Block asks = b_.new_block(), put = b_.new_block(), keep = b_.new_block();
  b_.branch(b_.compare(Op::kEq, again, constant(Type::kI8, kFromDisk)), keep, asks);
  b_.set_block(asks);
  Reg spilled = b_.load(Type::kI64, store, offsetof(TupleStore, spilled));
  b_.branch(b_.compare(Op::kNe, spilled, constant(Type::kI64, 0)), put, keep, 2);
  b_.set_block(put);
  check(b_.call(k_rt_spill_rows, {context(), store, stage, count, constant(Type::kI64, bytes)}));
  b_.branch(b_.compare(Op::kEq, again, constant(Type::kI8, kResume)), resume, partition);
  b_.set_block(keep);
}

// Where the stage is empty: back into the pipeline, to more rows from disk, or to the next partition.
void Generator::gen_stage_rounds(Reg store, const Rounds& rounds, const StageState& state, const StageBlocks& blocks) {
  Block other = b_.new_block(), batch = b_.new_block(), last = b_.new_block(), after = b_.new_block(),
        all = b_.new_block();
  b_.branch(b_.compare(Op::kEq, state.again, constant(Type::kI8, kResume)), blocks.resume, other);
  b_.set_block(other);
  b_.branch(b_.compare(Op::kEq, state.again, constant(Type::kI8, kFromDisk)), batch, last);
  b_.set_block(last);
  if (rounds.meets && shared_run_) check(b_.call(k_rt_meet, {context()}));
  b_.jump(after);
  b_.set_block(blocks.partition);
  check(b_.call(k_rt_join_round, {context(), store}));
  Reg found = b_.load(Type::kI64, context(), offsetof(ExecContext, value));
  b_.branch(b_.compare(Op::kNe, found, constant(Type::kI64, 0)), batch, blocks.finished);
  b_.set_block(batch);
  check(b_.call(k_rt_join_rows, {context(), store}));
  b_.assign(state.rows, b_.load(Type::kPtr, context(), offsetof(ExecContext, value)));
  b_.assign(state.count, b_.load(Type::kI64, context(), offsetof(ExecContext, value) + 8));
  b_.assign(state.again, constant(Type::kI8, kFromDisk));
  b_.branch(b_.compare(Op::kNe, state.count, constant(Type::kI64, 0)), blocks.flush, after);
  b_.set_block(after);
  if (rounds.after) rounds.after();
  if (!b_.terminated()) b_.jump(all);
  b_.set_block(all);
  Reg spilled = b_.load(Type::kI64, store, offsetof(TupleStore, spilled));
  b_.branch(b_.compare(Op::kNe, spilled, constant(Type::kI64, 0)), blocks.partition, blocks.finished);
}

}  // namespace scyper::query
