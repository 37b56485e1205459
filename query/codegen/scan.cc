#include <algorithm>
#include <utility>

#include "base/check.h"
#include "codegen/generator.h"
#include "runtime/team.h"
#include "storage/key.h"
#include "types/decimal.h"

namespace scyper::query {

using ir::Op;
using ir::Type;
using storage::TablePartition;

uint32_t Generator::table_number(const std::shared_ptr<storage::Table>& table) {
  for (size_t i = 0; i < resources_.tables.size(); i++)
    if (resources_.tables[i] == table) return static_cast<uint32_t>(i);
  resources_.tables.push_back(table);
  return static_cast<uint32_t>(resources_.tables.size() - 1);
}

// TablePartition* number `number` (I32) of a table, through the context: code holds no addresses of data.
ir::Reg Generator::partition_pointer(const Relation& relation, Reg number) {
  Reg tables = b_.load_invariant(Type::kPtr, context(), offsetof(ExecContext, tables));
  Reg partitions = b_.load_invariant(Type::kPtr, tables, static_cast<int64_t>(table_number(relation.table)) * 8);
  return b_.load_invariant(Type::kPtr, b_.index(partitions, b_.convert(Op::kSExt, number, Type::kI64), 8));
}

// The partition (I32) that a partitioning value, not NULL, belongs to.
ir::Reg Generator::gen_partition_number(const Value& value) {
  Reg key = value.a;
  if (value.type.id == TypeId::kUuid) {
    Reg high = b_.convert(Op::kTrunc, b_.binary(Op::kLShr, key, constant(Type::kI128, 64)), Type::kI64);
    key = b_.binary(Op::kXor, high, b_.convert(Op::kTrunc, key, Type::kI64));
  } else if (holds_bytes(value.type.id) || value.type.id == TypeId::kNumeric || is_float(value.type.id)) {
    unsupported("this type of a partition column");
    key = constant(Type::kI64, 0);
  }
  if (b_.type_of(key) != Type::kI64)
    key = b_.convert(b_.type_of(key) == Type::kI8 ? Op::kZExt : Op::kSExt, key, Type::kI64);
  // as storage::partition_of
  Reg mixed = b_.binary(Op::kMul, key, constant(Type::kI64, static_cast<int64_t>(0x9E3779B97F4A7C15ull)));
  Reg high = b_.binary(Op::kLShr, mixed, constant(Type::kI64, 32));
  Reg partitions =
      b_.convert(Op::kZExt, b_.load_invariant(Type::kI32, context(), offsetof(ExecContext, partitions)), Type::kI64);
  return b_.convert(Op::kTrunc, b_.binary(Op::kLShr, b_.binary(Op::kMul, high, partitions), constant(Type::kI64, 32)),
                    Type::kI32);
}

// The same, checked: leaves as misclassified where a partition-constrained transaction meets a foreign partition.
ir::Reg Generator::gen_route(const Value& value) {
  Reg number = gen_partition_number(value);
  Block foreign = b_.new_block();
  Block mine = b_.new_block();
  Reg own = b_.load_invariant(Type::kI32, context(), offsetof(ExecContext, partition));
  b_.branch(b_.compare(Op::kEq, number, own), mine, foreign, 1);
  b_.set_block(foreign);
  Reg crossing = b_.load_invariant(Type::kI32, context(), offsetof(ExecContext, crossing));
  b_.branch(b_.compare(Op::kNe, crossing, constant(Type::kI32, 0)), mine, misclassified_block_);
  b_.set_block(mine);
  return number;
}

std::optional<Route> Generator::route_of(const BoundExpr& expr) const {
  const BoundExpr* e = &expr;
  while (e->kind == BoundKind::kCast && is_integer(e->type.id) && is_integer(e->args[0]->type.id)) e = e->args[0].get();
  auto is_argument = [&](const BoundExpr& v) {
    return v.kind == BoundKind::kVariable && v.index < program_.parameters && assigned_.count(v.index) == 0;
  };
  Route route;
  if (e->kind == BoundKind::kConst && !e->value.null) {
    route.kind = Route::Kind::kConstant;
    route.constant = e->value.lo;
  } else if (is_argument(*e)) {
    route.argument = e->index;
  } else if (e->kind == BoundKind::kSubscript && is_argument(*e->args[0])) {
    route.kind = Route::Kind::kArrayArgument;
    route.argument = e->args[0]->index;
  } else {
    return std::nullopt;
  }
  return route;
}

void Generator::note_route(const BoundExpr* expr) {
  Footprint& footprint = resources_.footprint;
  footprint.reads_partitioned = true;
  if (expr == nullptr) {
    footprint.all_partitions = true;
    return;
  }
  std::optional<Route> route = route_of(*expr);
  footprint.is_beyond_routes |= !route.has_value() || !storage::routes_as_integer(expr->type.id);
  if (route.has_value() &&
      std::find(footprint.routes.begin(), footprint.routes.end(), *route) == footprint.routes.end())
    footprint.routes.push_back(*route);
}

void Generator::note_call(uint32_t callee, const std::vector<BoundPtr>& args) {
  ProgramResources::CallSite site{callee, {}};
  for (const auto& arg : args) site.arguments.push_back(route_of(*arg));
  resources_.calls.push_back(std::move(site));
}

// Runs body for each partition that the path reads.
void Generator::gen_partitions(const Relation& relation, const AccessPath& path, const std::function<void(Reg)>& body) {
  if (relation.table->schema().scheme == storage::PartitionScheme::kShared)
    return body(partition_pointer(relation, constant(Type::kI32, 0)));
  note_route(path.route);
  if (path.route != nullptr) {
    Value value = gen(*path.route);
    if (value.null != ir::kNoReg) {  // column = NULL holds for no row
      Block present = b_.new_block();
      Block done = b_.new_block();
      b_.branch(value.null, done, present, 2);
      b_.set_block(present);
      body(partition_pointer(relation, gen_route(value)));
      if (!b_.terminated()) b_.jump(done);
      b_.set_block(done);
      return;
    }
    return body(partition_pointer(relation, gen_route(value)));
  }
  // all partitions: needs to run alone unless there is only one
  Reg count = b_.load_invariant(Type::kI32, context(), offsetof(ExecContext, partitions));
  Reg crossing = b_.load_invariant(Type::kI32, context(), offsetof(ExecContext, crossing));
  Reg one = b_.compare(Op::kEq, count, constant(Type::kI32, 1));
  Block allowed = b_.new_block();
  b_.branch(b_.binary(Op::kOr, one, b_.compare(Op::kNe, crossing, constant(Type::kI32, 0))), allowed,
            misclassified_block_, 1);
  b_.set_block(allowed);
  Reg i = b_.new_variable(Type::kI32);
  b_.assign(i, constant(Type::kI32, 0));
  Block head = b_.new_block();
  Block each = b_.new_block();
  Block done = b_.new_block();
  b_.jump(head);
  b_.set_block(head);
  b_.branch(b_.compare(Op::kLt, i, count), each, done);
  b_.set_block(each);
  body(partition_pointer(relation, i));
  if (!b_.terminated()) {
    b_.assign(i, b_.binary(Op::kAdd, i, constant(Type::kI32, 1)));
    b_.jump(head);
  }
  b_.set_block(done);
}

// --- access ---

void Generator::gen_table_scan(const Relation& relation, const AccessPath& path, const ScanWish& wish,
                               const std::function<void()>& body) {
  gen_partitions(relation, path, [&](Reg partition) {
    switch (path.kind) {
      case AccessKind::kPoint:
        return gen_point_access(relation, path, partition, body);
      case AccessKind::kRange:
        return gen_range_access(relation, path, partition, body);
      case AccessKind::kFullScan:
        return gen_full_scan(relation, wish, partition, body);
    }
  });
}

// An OrderedCursor* on the range's first entry; jumps to `none` where a bound is NULL.
ir::Reg Generator::gen_seek(const Relation& relation, const AccessPath& path, Reg partition, Block none) {
  const storage::IndexDef& index = relation.table->schema().indexes[path.index];
  if (std::any_of(index.columns.begin(), index.columns.end(),
                  [&](uint32_t c) { return c >= storage::visible_columns(relation.table->schema()); }))
    resources_.footprint.hidden_keys++;
  std::vector<const KeyPart*> low;
  for (const auto& part : path.equal) low.push_back(&part);
  std::vector<const KeyPart*> high = low;
  int64_t flags = path.backward ? 1 : 0;
  if (path.has_from) {
    low.push_back(&path.bounds[0]);
    if (path.bounds[0].op == BuiltinOp::kGreater) flags |= 2;
  }
  if (path.has_to) {
    high.push_back(&path.bounds.back());
    if (path.bounds.back().op == BuiltinOp::kLess) flags |= 4;
  }
  // both bounds are written apart: they share their first parts only
  auto [low_key, low_size] = gen_key(relation, index, low, none);
  Reg high_key = low_key;
  Reg high_size = low_size;
  if (path.has_from || path.has_to) std::tie(high_key, high_size) = gen_key(relation, index, high, none);
  Reg cursor = b_.frame_address(b_.reserve_frame(sizeof(storage::OrderedCursor)));
  Reg number = constant(Type::kI64, static_cast<int64_t>(path.index));
  b_.call(k_rt_index_seek,
          {partition, number, cursor, low_key, low_size, high_key, high_size, constant(Type::kI64, flags)});
  return cursor;
}

void Generator::gen_range_access(const Relation& relation, const AccessPath& path, Reg partition,
                                 const std::function<void()>& body) {
  Block done = b_.new_block();
  Reg cursor = gen_seek(relation, path, partition, done);
  Reg number = constant(Type::kI64, static_cast<int64_t>(path.index));
  Block head = b_.new_block();
  Block found = b_.new_block();
  may_swap();
  b_.jump(head);
  b_.set_block(head);
  check_interrupt();
  Reg tid = b_.call(k_rt_index_next, {partition, number, cursor});
  b_.branch(b_.compare(Op::kEq, tid, constant(Type::kI64, -1)), done, found);
  b_.set_block(found);
  open_row(&sources_[relation.id], partition, tid);
  gen_round(body);
  if (!b_.terminated()) b_.jump(head);
  b_.set_block(done);
}

// Chunk after chunk, so that what stays the same in a chunk is out of the inner loop; of a chunk that is not hot piece
// after piece.
void Generator::gen_full_scan(const Relation& relation, const ScanWish& wish, Reg partition,
                              const std::function<void()>& body) {
  Reg scan = std::exchange(dispensed_, false) ? constant(Type::kI64, scan_count_++) : ir::kNoReg;
  Reg limit = b_.load(Type::kI64, partition, offsetof(TablePartition, tuple_limit));
  Reg first = b_.new_variable(Type::kI64), offset = b_.new_variable(Type::kI64);
  Block chunk_head = b_.new_block(), chunk_open = b_.new_block(), head = b_.new_block(), test = b_.new_block(),
        live = b_.new_block(), next = b_.new_block(), chunk_next = b_.new_block(), done = b_.new_block();
  Reg tuples = constant(Type::kI64, storage::kChunkTuples);
  b_.assign(first, constant(Type::kI64, 0));
  b_.jump(chunk_head);
  b_.set_block(chunk_head);
  may_swap();
  if (scan != ir::kNoReg) b_.assign(first, b_.call(k_rt_next_morsel, {context(), scan, partition, first}));
  b_.branch(b_.compare(Op::kLt, first, limit), chunk_open, done, 1);
  b_.set_block(chunk_open);
  check_interrupt();
  Reg base = b_.binary(Op::kAdd, first, constant(Type::kI64, 0));
  RowSource& source = sources_[relation.id];
  locate(&source, partition, base);
  Reg left = b_.binary(Op::kSub, limit, base);
  Reg all = b_.select(b_.compare(Op::kLt, left, tuples), left, tuples);
  b_.assign(offset, constant(Type::kI64, 0));
  const OpenPiece piece = gen_open_chunk(&source, wish, offset, all, chunk_next);
  b_.jump(head);
  b_.set_block(head);
  b_.branch(b_.compare(Op::kLt, offset, piece.end), test, piece.next, 1);
  b_.set_block(test);
  source.offset = b_.binary(Op::kAdd, offset, constant(Type::kI64, 0));
  source.tid = b_.binary(Op::kAdd, piece.base, source.offset);
  Reg flag = b_.load(Type::kI8, b_.index(source.chunk, source.offset, 1), relation.table->layout().live_offset);
  b_.branch(b_.compare(Op::kEq, flag, constant(Type::kI8, 1)), live, next, 1);
  b_.set_block(live);
  gen_round(body);
  if (!b_.terminated()) b_.jump(next);
  b_.set_block(next);
  b_.assign(offset, b_.binary(Op::kAdd, offset, constant(Type::kI64, 1)));
  b_.jump(head);
  b_.set_block(chunk_next);
  b_.assign(first, b_.binary(Op::kAdd, first, tuples));
  b_.jump(chunk_head);
  b_.set_block(done);
}

void Generator::gen_rounds(const std::function<Reg()>& count, const std::function<void(Reg)>& body) {
  Reg round = b_.new_variable(Type::kI64);
  b_.assign(round, constant(Type::kI64, 0));
  Block some = b_.new_block(), head = b_.new_block(), each = b_.new_block(), next = b_.new_block(),
        done = b_.new_block();
  if (loops_ == 0) {  // where there is nothing there is no place to swap
    b_.branch(b_.compare(Op::kGt, count(), constant(Type::kI64, 0)), some, done, 1);
    b_.set_block(some);
  }
  may_swap();
  b_.jump(head);
  b_.set_block(head);
  b_.branch(b_.compare(Op::kLt, round, count()), each, done, 1);
  b_.set_block(each);
  gen_round([&] { body(round); });
  if (!b_.terminated()) b_.jump(next);
  b_.set_block(next);
  b_.assign(round, b_.binary(Op::kAdd, round, constant(Type::kI64, 1)));
  b_.jump(head);
  b_.set_block(done);
}

// Rows of a RowBuffer.
void Generator::gen_materialised(const Relation& relation, Reg rows, const std::vector<int>& slots,
                                 const std::function<void()>& body) {
  Reg count = b_.load(Type::kI64, rows, offsetof(RowBuffer, count));
  Reg first = b_.load(Type::kPtr, rows, offsetof(RowBuffer, rows));
  int64_t width = 0;
  for (int slot : slots) width += slot >= 0 ? 1 : 0;
  gen_rounds([&] { return count; },
             [&](Reg i) {
               check_interrupt();
               RowSource& source = sources_[relation.id];
               source.row = b_.index(first, i, width * static_cast<int64_t>(sizeof(Datum)));
               source.slots = slots;
               body();
             });
}

}  // namespace scyper::query
