#include "codegen/tuple.h"

#include <cstring>
#include <utility>

#include "base/invariant.h"
#include "codegen/generator.h"
#include "runtime/team.h"

namespace scyper::query {

using ir::Op;
using ir::Type;

namespace {
int64_t bytes_of(Type type) {
  switch (type) {
    case Type::kVoid:
      return 0;
    case Type::kI8:
      return 1;
    case Type::kI16:
      return 2;
    case Type::kI32:
      return 4;
    case Type::kI128:
      return 16;
    default:
      return 8;
  }
}
}  // namespace

int64_t TupleLayout::add_bytes(int64_t bytes, int64_t alignment) {
  bytes_ = (bytes_ + alignment - 1) & ~(alignment - 1);
  int64_t offset = bytes_;
  bytes_ += bytes;
  return offset;
}

TupleField TupleLayout::add(const SqlType& type, bool nullable) {
  TupleField field;
  field.type = type;
  int64_t first = bytes_of(register_type(type));
  int64_t second = bytes_of(second_register_type(type));
  field.offset = add_bytes(first + second, first > 8 ? 8 : first);
  if (nullable) field.null_offset = add_bytes(1, 1);
  return field;
}

void Generator::store_field(Reg tuple, const TupleField& field, const Value& given) {
  const bool may_lie_in_window = reads_windows() && holds_bytes(given.type.id) && !given.is_stored;
  const Value value = may_lie_in_window ? stabilise(given) : given;
  Type type = register_type(field.type);
  INVARIANT(b_.type_of(value.a) == type);
  b_.store(tuple, field.offset, value.a);
  Type second = second_register_type(field.type);
  if (second != Type::kVoid) {
    Reg b = value.b != ir::kNoReg ? value.b : constant(second, value.type.scale);
    b_.store(tuple, field.offset + bytes_of(type), b);
  }
  if (field.null_offset >= 0) b_.store(tuple, field.null_offset, is_null(value));
}

Value Generator::load_field(Reg tuple, const TupleField& field) {
  Value value;
  value.type = field.type;
  Type type = register_type(field.type);
  value.a = b_.load(type, tuple, field.offset);
  Type second = second_register_type(field.type);
  if (second != Type::kVoid) value.b = b_.load(second, tuple, field.offset + bytes_of(type));
  if (field.null_offset >= 0) value.null = b_.load(Type::kI8, tuple, field.null_offset);
  value.is_stored = true;
  return value;
}

// Room for one more tuple; its address.
ir::Reg Generator::append_tuple(Reg store, int64_t bytes) {
  Reg cursor = b_.new_variable(Type::kPtr);
  b_.assign(cursor, b_.load(Type::kPtr, store, offsetof(TupleStore, cursor)));
  Block full = b_.new_block(), room = b_.new_block();
  Reg end = b_.convert(Op::kBitcast, b_.offset(cursor, bytes), Type::kI64);
  Reg limit = b_.load(Type::kI64, store, offsetof(TupleStore, limit));
  b_.branch(b_.compare(Op::kULt, limit, end), full, room, 2);
  b_.set_block(full);
  check(b_.call(k_rt_tuples_grow, {context(), store}));
  b_.assign(cursor, b_.load(Type::kPtr, store, offsetof(TupleStore, cursor)));
  b_.jump(room);
  b_.set_block(room);
  Reg tuple = b_.offset(cursor, 0);
  b_.store(store, offsetof(TupleStore, cursor), b_.offset(tuple, bytes));
  return tuple;
}

// Every tuple of a store, chunk after chunk.
void Generator::for_each_tuple(Reg store, int64_t bytes, const std::function<void(Reg)>& body, bool dispensed) {
  Reg chunk = b_.new_variable(Type::kPtr), tuple = b_.new_variable(Type::kPtr);
  dispensed &= shared_run_;
  if (!dispensed && !std::exchange(sealed_, false)) b_.call(k_rt_tuples_seal, {store});
  Reg scan = dispensed ? constant(Type::kI64, scan_count_++) : ir::kNoReg;
  if (dispensed)
    b_.assign(chunk, b_.call(k_rt_next_chunk, {context(), scan, store, b_.null_pointer()}));
  else
    b_.assign(chunk, b_.load(Type::kPtr, store, offsetof(TupleStore, first)));
  Block head = b_.new_block(), open = b_.new_block(), test = b_.new_block(), each = b_.new_block(),
        next = b_.new_block(), close = b_.new_block(), done = b_.new_block();
  b_.branch(b_.compare(Op::kEq, chunk, b_.null_pointer()), done, head, 2);  // nothing: not even a place to swap
  b_.set_block(head);
  may_swap();
  b_.branch(b_.compare(Op::kEq, chunk, b_.null_pointer()), done, open);
  b_.set_block(open);
  check_interrupt();
  Reg end = b_.load(Type::kPtr, chunk, offsetof(TupleStore::Chunk, end));
  b_.assign(tuple, b_.offset(chunk, sizeof(TupleStore::Chunk)));
  b_.jump(test);
  b_.set_block(test);
  b_.branch(b_.compare(Op::kEq, tuple, end), close, each, 2);
  b_.set_block(each);
  Reg current = b_.offset(tuple, 0);
  gen_round([&] { body(current); });
  if (!b_.terminated()) b_.jump(next);
  b_.set_block(next);
  b_.assign(tuple, b_.offset(tuple, bytes));
  b_.jump(test);
  b_.set_block(close);
  if (dispensed)
    b_.assign(chunk, b_.call(k_rt_next_chunk, {context(), scan, store, chunk}));
  else
    b_.assign(chunk, b_.load(Type::kPtr, chunk, offsetof(TupleStore::Chunk, next)));
  b_.jump(head);
  b_.set_block(done);
}

// Columns that lie in a tuple from now on.
void Generator::publish(const std::vector<StoredColumn>& columns, Reg tuple) {
  std::set<uint32_t> fresh;
  for (const auto& column : columns) {
    RowSource& source = sources_[column.id.relation];
    if (fresh.insert(column.id.relation).second) {
      const Relation* relation = source.relation;
      source = RowSource{};
      source.relation = relation;
      source.tuple = tuple;
    }
    source.fields[column.id.index] = column.field;
  }
}

void Generator::store_columns(const std::vector<StoredColumn>& columns, Reg tuple) {
  for (const auto& column : columns)
    store_field(tuple, column.field,
                cast_stored(load_column(sources_[column.id.relation], column.id.index), column.field.type));
}

// A column may be referred to with less of its type than it has.
Value Generator::cast_stored(const Value& value, const SqlType& type) {
  if (register_type(value.type) == register_type(type) && is_dynamic_numeric(value.type) == is_dynamic_numeric(type) &&
      (type.id != TypeId::kNumeric || is_dynamic_numeric(type) || value.type.scale == type.scale))
    return value;
  return cast(value, type, true);
}

}  // namespace scyper::query
