#include "codegen/hash_table.h"
#include "runtime/direct.h"

// Joins by arrays instead of chains, and filters that joins give to scans (runtime/direct.h).
namespace scyper::query {

using ir::Op;
using ir::Type;

namespace {

int64_t bytes_of(Type type) { return type == Type::kI16 ? 2 : type == Type::kI32 ? 4 : 8; }
}  // namespace

// object: a DirectTable* or JoinFilter*; memory: the offset of its pointer.
Generator::Places Generator::load_places(Reg object, int64_t memory, size_t keys) {
  Places places;
  places.size = b_.load(Type::kI64, object, offsetof(KeyPlaces, size));
  places.shift = b_.load(Type::kI64, object, offsetof(KeyPlaces, shift));
  places.offset = b_.load(Type::kI64, object, offsetof(KeyPlaces, offset));
  places.object = object;
  places.memory = b_.load(Type::kPtr, object, memory);
  for (size_t i = 0; i < keys; i++)
    places.factors.push_back(
        b_.load(Type::kI64, object, static_cast<int64_t>(offsetof(KeyPlaces, factor) + i * sizeof(uint64_t))));
  return places;
}

// The place of these keys, integers that are not NULL: `size` or more where there is none.
ir::Reg Generator::gen_place(const Places& places, const Values& keys) {
  Reg sum = places.offset;
  for (size_t i = 0; i < keys.size(); i++) {
    Reg word = b_.type_of(keys[i].a) == Type::kI64 ? keys[i].a : b_.convert(Op::kSExt, keys[i].a, Type::kI64);
    sum = b_.binary(Op::kAdd, sum, b_.binary(Op::kMul, word, places.factors[i]));
  }
  return b_.binary(Op::kLShr, sum, places.shift);
}

// hashed: the runtime is to go by the tuples' hashes.
ir::Reg Generator::layout_data(const JoinTable& table, bool hashed) {
  DirectLayout layout;
  layout.present_offset = table.present;
  if (!hashed) {
    layout.count = static_cast<int64_t>(table.keys.size());
    for (size_t i = 0; i < table.keys.size(); i++) {
      layout.offset[i] = table.keys[i].offset;
      layout.bytes[i] = bytes_of(register_type(table.keys[i].type));
    }
  }
  return b_.data(std::string_view(reinterpret_cast<const char*>(&layout), sizeof layout));
}

void Generator::gen_direct_build(size_t keys, JoinTable* table) {
  check(b_.call(k_rt_direct_build, {context(), table->store, layout_data(*table, false)}));
  table->direct = b_.load(Type::kPtr, context(), kContextValue);
  table->store = b_.load(Type::kPtr, context(), kContextValue + 8);
  table->places = load_places(table->direct, offsetof(DirectTable, tuples), keys);
  table->step = b_.load(Type::kI64, table->direct, offsetof(DirectTable, step));
}

// As gen_chain(): the tuple at the place of the keys, and where places are hashed those behind it.
void Generator::gen_direct_run(const JoinTable& table, const Values& keys, Reg entry,
                               const std::function<void(Block)>& match, Block end) {
  Block inside = b_.new_block(), walk = b_.new_block(), compare_block = b_.new_block(), equal = b_.new_block(),
        next = b_.new_block(), more = b_.new_block();
  Reg place = gen_place(table.places, keys);
  b_.branch(b_.compare(Op::kULt, place, table.places.size), inside, end);
  b_.set_block(inside);
  b_.assign(entry, b_.index(table.places.memory, place, table.bytes));
  if (table.place != ir::kNoReg) b_.assign(table.place, place);
  b_.jump(walk);
  b_.set_block(walk);
  b_.branch(b_.load(Type::kI8, entry, table.present), compare_block, end);
  b_.set_block(compare_block);
  compare_keys(keys, table.keys, entry, equal, next);
  b_.set_block(equal);
  match(next);
  if (!b_.terminated()) b_.jump(next);
  b_.set_block(next);
  b_.branch(b_.compare(Op::kEq, table.step, constant(Type::kI64, 0)), end, more, 1);
  b_.set_block(more);
  check_interrupt();
  b_.assign(entry, b_.offset(entry, table.bytes));
  if (table.place != ir::kNoReg) b_.assign(table.place, b_.binary(Op::kAdd, table.place, constant(Type::kI64, 1)));
  b_.jump(walk);
}

// After its table, before the rows that ask it.
void Generator::gen_filter_build(const PlanNode& join, const JoinTable& table) {
  if (join.filter == 0 || table.spills) return;
  check(b_.call(k_rt_filter_build, {context(), table.store, layout_data(table, !join.filters_integers)}));
  Reg filter = b_.load(Type::kPtr, context(), kContextValue);
  filters_[join.filter] = load_places(filter, offsetof(JoinFilter, bits), join.filters_integers ? join.keys.size() : 1);
}

// Rows of a scan that have no partner in a join to come are left out.
void Generator::gen_join_filters(const PlanNode& get, Block reject) {
  for (const ScanFilter& filter : get.filters) {
    auto made = filters_.find(filter.number);
    if (made == filters_.end()) continue;
    const Places& places = made->second;
    Values keys;
    for (size_t i = 0; i < filter.keys.size(); i++) {
      Value value = cast(gen(*filter.keys[i]), filter.types[i], true);
      reject_null(&value, reject);
      keys.push_back(value);
    }
    if (!filter.integers) {
      Value hash;
      hash.type = make_type(TypeId::kInt8);
      hash.a = hash_of(keys, std::vector<bool>(keys.size(), false));
      keys = {hash};
    }
    Block inside = b_.new_block(), accept = b_.new_block();
    Reg place = gen_place(places, keys);
    b_.branch(b_.compare(Op::kULt, place, places.size), inside, reject);
    b_.set_block(inside);
    Reg word = b_.load(Type::kI64, b_.index(places.memory, b_.binary(Op::kLShr, place, constant(Type::kI64, 6)), 8));
    Reg bit = b_.binary(Op::kAnd, b_.binary(Op::kLShr, word, b_.binary(Op::kAnd, place, constant(Type::kI64, 63))),
                        constant(Type::kI64, 1));
    b_.branch(b_.compare(Op::kNe, bit, constant(Type::kI64, 0)), accept, reject);
    b_.set_block(accept);
  }
}

}  // namespace scyper::query
