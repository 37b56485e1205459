#include <algorithm>

#include "codegen/generator.h"
#include "plan/scan_condition.h"
#include "runtime/column_bounds.h"
#include "storage/neighbour_reader.h"

// Rows of chunks that are not hot (docs/compaction.md), in tables that may have such. The chunk of a hot row is where
// it always was; the null of another one leads, on the unlikely side, to the runtime.
namespace scyper::query {

using ir::Op;
using ir::Type;
using storage::TablePartition;

// The source's columns are noted from here on, as they are read. Its number.
ir::Reg Generator::add_opening(RowSource* source, bool is_scan) {
  const storage::Table* table = source->relation->table.get();
  std::vector<ChunkOpening>& all = resources_.openings;
  ChunkOpening opening{table, is_scan, resources_.windows, 0, {}};
  if (!is_scan)
    for (const ChunkOpening& other : all)
      if (other.table == table && !other.is_scan) {
        opening.window = other.window;
        opening.place = other.place + storage::NeighbourReader::kAtOnce;
      }
  if (opening.place >= storage::kChunkTuples) {
    unsupported("a program that looks up rows of one table in so many places");
    opening.place = 0;
  }
  resources_.windows = std::max(resources_.windows, opening.window + 1);
  source->opening = static_cast<int>(all.size());
  all.push_back(std::move(opening));
  return constant(Type::kI64, source->opening);
}

void Generator::note_read(const RowSource& source, uint32_t column) {
  if (source.opening < 0) return;
  std::vector<uint32_t>& columns = resources_.openings[static_cast<size_t>(source.opening)].columns;
  if (std::find(columns.begin(), columns.end(), column) == columns.end()) columns.push_back(column);
}

// locate() for reading the row. A Tid that was found before the running transaction moved the row does as well.
void Generator::open_row(RowSource* source, Reg partition, Reg tid) {
  locate(source, partition, tid);
  if (!compacts(*source->relation->table)) return;
  Reg number = add_opening(source, false);
  Reg chunk = b_.new_variable(Type::kPtr), window = b_.new_variable(Type::kPtr), offset = b_.new_variable(Type::kI64),
      now = b_.new_variable(Type::kI64);
  b_.assign(chunk, source->chunk);
  b_.assign(window, b_.null_pointer());
  b_.assign(offset, source->offset);
  b_.assign(now, tid);
  Block closed = b_.new_block(), open = b_.new_block();
  b_.branch(b_.compare(Op::kEq, chunk, b_.null_pointer()), closed, open, 2);
  b_.set_block(closed);
  if (source->relation->id == changed_relation_) {
    check(b_.call(k_rt_make_hot, {context(), partition, tid}));
    Reg moved = b_.load(Type::kI64, context(), kContextValue);
    Block hot = b_.new_block(), gone = b_.new_block();
    b_.branch(b_.compare(Op::kLt, moved, constant(Type::kI64, 0)), gone, hot, 2);
    b_.set_block(hot);
    RowSource there;
    locate(&there, partition, moved);
    b_.assign(chunk, there.chunk);
    b_.assign(offset, there.offset);
    b_.assign(now, moved);
    b_.jump(open);
    b_.set_block(gone);  // what changes the row finds that, too
  }
  check(b_.call(k_rt_open_tuple, {context(), partition, tid, number}));
  b_.assign(chunk, b_.load(Type::kPtr, context(), kContextValue));
  b_.assign(window, chunk);
  b_.assign(offset, b_.load(Type::kI64, context(), kContextValue + 8));
  b_.assign(now, b_.load(Type::kI64, context(), kContextValue + 16));
  b_.jump(open);
  b_.set_block(open);
  source->chunk = chunk;
  source->window = window;
  source->offset = offset;
  source->tid = now;
}

// What the conjuncts say of single columns; the bounds' values.
ir::Reg Generator::gen_scan_bounds(const RowSource& source, const ScanWish& wish,
                                   std::vector<ChunkCondition>* conditions) {
  Values bounds;
  const auto number_of = [&](const Value& bound) {
    bounds.push_back(bound);
    return static_cast<int32_t>(bounds.size()) - 1;
  };
  for (const ScanCondition& found : find_scan_conditions(*source.relation, wish.conjuncts)) {
    ChunkCondition condition = found.condition;
    note_read(source, condition.column);
    if (!found.prefix.empty()) {
      Value prefix;
      prefix.type = make_type(TypeId::kText);
      prefix.a = b_.data(found.prefix);
      prefix.b = constant(Type::kI64, static_cast<int64_t>(found.prefix.size()));
      condition.low = number_of(prefix);
    }
    if (found.low != nullptr) condition.low = number_of(gen(*found.low));
    if (found.high != nullptr) condition.high = found.high == found.low ? condition.low : number_of(gen(*found.high));
    conditions->push_back(condition);
  }
  return bounds.empty() ? b_.null_pointer() : store_row(bounds);
}

// The filters of joins that go by the keys themselves, where these are integers of the table; their objects.
ir::Reg Generator::gen_scan_filters(const RowSource& source, const ScanWish& wish, std::vector<ChunkFilter>* filters) {
  std::vector<Reg> objects;
  if (wish.filters == nullptr) return b_.null_pointer();
  for (const ScanFilter& filter : *wish.filters) {
    auto made = filters_.find(filter.number);
    if (made == filters_.end() || !filter.integers || filter.keys.size() > kDirectKeysMax) continue;
    ChunkFilter found;
    for (size_t i = 0; i < filter.keys.size(); i++) {
      const BoundExpr* key = filter.keys[i].get();
      while (widens_integer(*key)) key = key->args[0].get();
      const bool fits = key->kind == BoundKind::kColumn && key->relation == source.relation->id &&
                        is_integer(key->type.id) && is_integer(filter.types[i].id);
      if (!fits) break;
      found.columns[found.count++] = key->index;
    }
    if (found.count != filter.keys.size()) continue;
    for (uint32_t i = 0; i < found.count; i++) note_read(source, found.columns[i]);
    filters->push_back(found);
    objects.push_back(made->second.object);
  }
  if (objects.empty()) return b_.null_pointer();
  Reg all = b_.frame_address(b_.reserve_frame(static_cast<uint32_t>(objects.size() * sizeof(void*))));
  for (size_t i = 0; i < objects.size(); i++) b_.store(all, static_cast<int64_t>(i * sizeof(void*)), objects[i]);
  return all;
}

namespace {
bool has_integer_range(const std::vector<ChunkCondition>& conditions, const storage::Table& table) {
  return std::any_of(conditions.begin(), conditions.end(), [&](const ChunkCondition& condition) {
    const storage::CellKind kind = table.layout().columns[condition.column].kind;
    const bool is_integer =
        kind == storage::CellKind::kInt16 || kind == storage::CellKind::kInt32 || kind == storage::CellKind::kInt64;
    return is_integer && condition.kind == storage::FrozenPredicate::Kind::kRange;
  });
}
}  // namespace

// Goes on where the chunk's aggregates are what is wanted of it, and to `rows` where its rows have to be read.
void Generator::gen_whole_chunk(const RowSource& source, const WholeChunks& whole,
                                const std::vector<ChunkCondition>& conditions, Reg bounds, Block rows) {
  const auto count = static_cast<int64_t>(whole.wanted.size());
  Reg results = b_.frame_address(b_.reserve_frame(static_cast<uint32_t>(count) * 16));
  check(b_.call(k_rt_aggregate_chunk, {context(), source.partition, source.tid, data_of(conditions),
                                       constant(Type::kI64, static_cast<int64_t>(conditions.size())), bounds,
                                       data_of(whole.wanted), constant(Type::kI64, count), results}));
  Block told = b_.new_block();
  b_.branch(b_.compare(Op::kEq, b_.load(Type::kI64, context(), kContextValue), constant(Type::kI64, 0)), rows, told);
  b_.set_block(told);
  whole.add(results);
}

// For a scan that has located its chunk's first position and is at `offset` 0 (a variable) of `all` positions. Goes to
// `none` where no row is left for which the conjuncts hold. Of a hot chunk only ranges of integers are asked.
OpenPiece Generator::gen_open_chunk(RowSource* source, const ScanWish& wish, Reg offset, Reg all, Block none) {
  std::vector<ChunkCondition> conditions;
  Reg first = source->tid, hot = source->chunk, bounds = ir::kNoReg;
  Block open = b_.new_block();
  auto ask_hot = [&] {
    if (!has_integer_range(conditions, *source->relation->table)) return b_.jump(open);
    check(b_.call(k_rt_chunk_excluded, {context(), source->partition, first, data_of(conditions),
                                        constant(Type::kI64, static_cast<int64_t>(conditions.size())), bounds}));
    b_.branch(b_.compare(Op::kEq, b_.load(Type::kI64, context(), kContextValue), constant(Type::kI64, 0)), open, none);
  };
  if (!compacts(*source->relation->table)) {
    bounds = gen_scan_bounds(*source, wish, &conditions);
    ask_hot();
    b_.set_block(open);
    return {first, all, none};
  }
  Reg number = add_opening(source, true);
  Reg chunk = b_.new_variable(Type::kPtr), window = b_.new_variable(Type::kPtr), base = b_.new_variable(Type::kI64),
      end = b_.new_variable(Type::kI64), is_open = b_.new_variable(Type::kI64);
  b_.assign(chunk, hot);
  b_.assign(window, b_.null_pointer());
  b_.assign(base, first);
  b_.assign(end, all);
  b_.assign(is_open, constant(Type::kI64, 0));
  bounds = gen_scan_bounds(*source, wish, &conditions);
  Block closed = b_.new_block(), some = b_.new_block(), more = b_.new_block(), is_hot = b_.new_block();
  Block not_hot = wish.whole == nullptr ? closed : b_.new_block();
  b_.branch(b_.compare(Op::kEq, hot, b_.null_pointer()), not_hot, is_hot, 2);
  if (wish.whole != nullptr) {
    b_.set_block(not_hot);
    gen_whole_chunk(*source, *wish.whole, conditions, bounds, closed);
    b_.jump(none);
  }
  b_.set_block(is_hot);
  ask_hot();
  b_.set_block(more);
  b_.branch(b_.compare(Op::kEq, hot, b_.null_pointer()), closed, none, 2);
  b_.set_block(closed);
  std::vector<ChunkFilter> filters;
  Reg made = gen_scan_filters(*source, wish, &filters);
  check(b_.call(k_rt_open_chunk, {context(), source->partition, first, is_open, number, data_of(conditions),
                                  constant(Type::kI64, static_cast<int64_t>(conditions.size())), bounds,
                                  data_of(filters), constant(Type::kI64, static_cast<int64_t>(filters.size())), made}));
  b_.assign(chunk, b_.load(Type::kPtr, context(), kContextValue));
  b_.branch(b_.compare(Op::kEq, chunk, b_.null_pointer()), none, some);
  b_.set_block(some);
  b_.assign(window, chunk);
  b_.assign(base, b_.load(Type::kI64, context(), kContextValue + 8));
  b_.assign(offset, b_.load(Type::kI64, context(), kContextValue + 16));
  b_.assign(end, b_.load(Type::kI64, context(), kContextValue + 24));
  b_.assign(is_open, constant(Type::kI64, 1));
  b_.jump(open);
  b_.set_block(open);
  source->chunk = chunk;
  source->window = window;
  return {base, end, more};
}

// Before the source's row is changed in place. Jumps to `gone` where it was deleted meanwhile.
void Generator::gen_make_hot(RowSource* source, Block gone) {
  if (!compacts(*source->relation->table)) return;
  Reg tid = b_.new_variable(Type::kI64);
  b_.assign(tid, source->tid);
  Reg chunks = b_.load(Type::kPtr, source->partition, offsetof(TablePartition, chunks));
  Reg number = b_.binary(Op::kLShr, tid, constant(Type::kI64, storage::kChunkShift));
  Reg chunk = b_.load(Type::kPtr, b_.index(chunks, number, sizeof(char*)));
  Block move = b_.new_block(), hot = b_.new_block();
  b_.branch(b_.compare(Op::kEq, chunk, b_.null_pointer()), move, hot, 2);
  b_.set_block(move);
  check(b_.call(k_rt_make_hot, {context(), source->partition, tid}));
  b_.assign(tid, b_.load(Type::kI64, context(), kContextValue));
  b_.branch(b_.compare(Op::kLt, tid, constant(Type::kI64, 0)), gone, hot);
  b_.set_block(hot);
  auto known = std::move(source->known);
  locate(source, source->partition, tid);
  source->known = std::move(known);
}

}  // namespace scyper::query
