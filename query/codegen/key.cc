#include "storage/key.h"
#include "base/check.h"
#include "codegen/generator.h"

// Index keys (the byte format of storage/key.h) and point accesses.
namespace scyper::query {

using ir::Op;
using ir::Type;

namespace {
Type key_integer_type(const SqlType& type) {
  switch (storage::key_bytes_of(type)) {
    case 1:
      return Type::kI8;
    case 2:
      return Type::kI16;
    case 4:
      return Type::kI32;
    case 8:
      return Type::kI64;
    default:
      return Type::kI128;
  }
}

int64_t bytes_of(Type type) { return type == Type::kI8 ? 1 : type == Type::kI16 ? 2 : type == Type::kI32 ? 4 : 8; }
}  // namespace

std::pair<ir::Reg, ir::Reg> Generator::gen_key(const Relation& relation, const storage::IndexDef& index,
                                               const std::vector<const KeyPart*>& parts, Block no_match) {
  const storage::TableSchema& schema = relation.table->schema();
  uint32_t room = 0;
  for (const KeyPart* part : parts) {
    uint32_t bytes = storage::key_bytes_of(schema.columns[part->column].type);
    room += 1 + (bytes == 0 ? static_cast<uint32_t>(storage::kMaxIndexKeyBytes) : bytes);
  }
  Reg base = b_.frame_address(b_.reserve_frame(room + 16));
  int64_t fixed = 0;      // bytes so far while their number is known
  Reg size = ir::kNoReg;  // I64 variable once it is not
  for (size_t i = 0; i < parts.size(); i++) {
    const storage::ColumnDef& column = schema.columns[parts[i]->column];
    bool descending = !index.descending.empty() && index.descending[i];
    Value value = gen(*parts[i]->value);
    reject_null(&value, no_match);
    const int64_t flags = (descending ? kKeyDescending : 0) | (parts[i]->op == BuiltinOp::kEqual ? 0 : kKeyBound);
    gen_key_part(column, flags, value, base, &size, &fixed, no_match);
  }
  Reg total = size == ir::kNoReg ? constant(Type::kI64, fixed) : size;
  return {base, total};
}

void Generator::gen_key_part(const storage::ColumnDef& column, int64_t flags, Value value, Reg base, Reg* size,
                             int64_t* fixed, Block no_match) {
  const bool descending = (flags & kKeyDescending) != 0;
  Reg address = *size == ir::kNoReg ? b_.offset(base, *fixed) : b_.index(base, *size, 1);
  auto advance = [&](Reg bytes) {
    if (*size == ir::kNoReg) {
      *size = b_.new_variable(Type::kI64);
      b_.assign(*size, b_.binary(Op::kAdd, constant(Type::kI64, *fixed), bytes));
    } else {
      b_.assign(*size, b_.binary(Op::kAdd, *size, bytes));
    }
  };
  auto advance_fixed = [&](int64_t bytes) {
    if (*size == ir::kNoReg)
      *fixed += bytes;
    else
      advance(constant(Type::kI64, bytes));
  };
  if (!column.not_null) {
    b_.store(address, 0, constant(Type::kI8, descending ? -1 : 0));
    advance_fixed(1);
    address = b_.offset(address, 1);
  }
  if (is_string(column.type.id)) {
    Reg written = b_.call(k_rt_key_text,
                          {address, value.a, value.b, constant(Type::kI64, column.type.id == TypeId::kChar ? 1 : 0),
                           constant(Type::kI64, flags)});
    Block next = b_.new_block();
    b_.branch(b_.compare(Op::kLt, written, constant(Type::kI64, 0)), no_match, next, 2);
    b_.set_block(next);
    return advance(written);
  }
  if (is_ordered_bytes(column.type.id) || column.type.id == TypeId::kBytea) {
    const int64_t form = has_trailer(column.type.id) ? kKeyTrailed : 0;
    Reg written = b_.call(k_rt_key_bytea, {address, value.a, value.b, constant(Type::kI64, flags | form)});
    Block next = b_.new_block();
    b_.branch(b_.compare(Op::kLt, written, constant(Type::kI64, 0)), no_match, next, 2);
    b_.set_block(next);
    return advance(written);
  }
  if (is_dynamic_numeric(column.type)) {
    Value wide = to_dynamic(value);
    return advance(b_.call(k_rt_key_decimal, {address, wide.a, wide.b, constant(Type::kI64, descending ? 1 : 0)}));
  }
  put_key_bits(key_bits(column, value, no_match), descending, address);
  advance_fixed(storage::key_bytes_of(column.type));
}

// A fixed-width value as an integer of the key's width, not yet flipped and turned; a value that does not fit the
// column is in no row.
ir::Reg Generator::key_bits(const storage::ColumnDef& column, const Value& value, Block no_match) {
  Type reg = key_integer_type(column.type);
  Reg bits = value.a;
  if (is_float(column.type.id)) {  // as storage::put_key_float8
    Reg zero = b_.compare(Op::kFEq, bits, b_.constant_f64(0));
    Reg number = b_.compare(Op::kFEq, bits, bits);
    bits = b_.convert(Op::kBitcast, b_.select(zero, b_.constant_f64(0), bits), Type::kI64);
    bits = b_.select(number, bits, constant(Type::kI64, 0x7ff8000000000000));
    Reg negative = b_.binary(Op::kAShr, bits, constant(Type::kI64, 63));
    return b_.binary(Op::kXor, bits, b_.binary(Op::kAnd, negative, constant(Type::kI64, INT64_MAX)));
  }
  if (column.type.id == TypeId::kNumeric)
    bits = rescale(bits, value.type.scale, column.type.scale,
                   register_type(value.type) == Type::kI128 ? Type::kI128 : Type::kI64);
  Type have = b_.type_of(bits);
  if (have < reg) return b_.convert(Op::kSExt, bits, reg);
  if (have == reg) return bits;
  Reg narrow = b_.convert(Op::kTrunc, bits, reg);
  Block next = b_.new_block();
  b_.branch(b_.compare(Op::kNe, b_.convert(Op::kSExt, narrow, have), bits), no_match, next, 2);
  b_.set_block(next);
  return narrow;
}

// Sign flipped, all bits when descending: unsigned order is the key's order.
ir::Reg Generator::flip_key(Reg part, bool is_signed, bool descending) {
  Type type = b_.type_of(part);
  int64_t mask = 0;
  if (is_signed)
    mask = static_cast<int64_t>(uint64_t{1} << (type == Type::kI8    ? 7
                                                : type == Type::kI16 ? 15
                                                : type == Type::kI32 ? 31
                                                                     : 63));
  if (descending) mask = ~mask;
  return mask == 0 ? part : b_.binary(Op::kXor, part, constant(type, mask));
}

// Big endian.
void Generator::put_key_bits(Reg bits, bool descending, Reg address) {
  auto put = [&](Reg part, int64_t at, bool is_signed) {
    part = flip_key(part, is_signed, descending);
    b_.store(address, at, b_.type_of(part) == Type::kI8 ? part : b_.bswap(part));
  };
  if (b_.type_of(bits) != Type::kI128) return put(bits, 0, true);
  put(b_.convert(Op::kTrunc, b_.binary(Op::kLShr, bits, constant(Type::kI128, 64)), Type::kI64), 0, true);
  put(b_.convert(Op::kTrunc, bits, Type::kI64), 8, false);
}

// Can the whole key lie in two registers?
bool Generator::fits_words(const storage::TableSchema& schema, const storage::IndexDef& index) {
  uint32_t bytes = 0;
  for (uint32_t column : index.columns) {
    uint32_t width = storage::key_bytes_of(schema.columns[column].type);
    if (!schema.columns[column].not_null || width == 0 || width > 8) return false;
    if (is_float(schema.columns[column].type.id)) return false;
    bytes += width;
  }
  return bytes <= storage::HashIndex::kMaxWordKeyBytes;
}

// The key of these columns, whose values (not flipped, of the key's widths) are in registers.
Generator::WordKey Generator::pack_words(const storage::IndexDef& index, std::vector<std::pair<uint32_t, Reg>> cells) {
  Reg words[2] = {constant(Type::kI64, 0), constant(Type::kI64, 0)};
  int64_t at = 0;  // bit, from the first byte's highest
  auto add = [&](int word, Reg bits) { words[word] = b_.binary(Op::kOr, words[word], bits); };
  for (size_t i = 0; i < cells.size(); i++) {
    bool descending = !index.descending.empty() && index.descending[i];
    Reg part = flip_key(cells[i].second, true, descending);
    int64_t end = at + 8 * bytes_of(b_.type_of(part));
    if (b_.type_of(part) != Type::kI64) part = b_.convert(Op::kZExt, part, Type::kI64);
    auto shifted = [&](Op op, int64_t by) { return by == 0 ? part : b_.binary(op, part, constant(Type::kI64, by)); };
    if (end <= 64) {
      add(0, shifted(Op::kShl, 64 - end));
    } else {
      if (at < 64) add(0, shifted(Op::kLShr, end - 64));
      add(1, shifted(Op::kShl, 128 - end));
    }
    at = end;
  }
  WordKey key;
  key.first = b_.bswap(words[0]);
  key.second = at > 64 ? b_.bswap(words[1]) : words[1];
  key.bytes = constant(Type::kI64, at / 8);
  key.cells = std::move(cells);
  return key;
}

// The whole key of a unique index in registers, and the values of its columns.
Generator::WordKey Generator::gen_word_key(const Relation& relation, const storage::IndexDef& index,
                                           const std::vector<const KeyPart*>& parts, Block no_match) {
  std::vector<std::pair<uint32_t, Reg>> cells;
  for (const KeyPart* part : parts) {
    Value value = gen(*part->value);
    reject_null(&value, no_match);
    Reg bits = key_bits(relation.table->schema().columns[part->column], value, no_match);
    if (b_.is_variable(bits)) bits = b_.binary(Op::kAdd, bits, constant(b_.type_of(bits), 0));  // its value here
    cells.emplace_back(part->column, bits);
  }
  return pack_words(index, std::move(cells));
}

// A new row's entry in one index: the row's cells are written, values are those of the columns.
void Generator::gen_insert_key(const RowSource& source, size_t number, const Values& values) {
  const storage::TableSchema& schema = source.relation->table->schema();
  const storage::IndexDef& index = schema.indexes[number];
  Reg by_number = constant(Type::kI64, static_cast<int64_t>(number));
  if (!index.unique || !fits_words(schema, index)) {
    check(b_.call(k_rt_insert_key, {context(), source.partition, by_number, source.tid}));
    return;
  }
  std::vector<std::pair<uint32_t, Reg>> cells;
  for (uint32_t column : index.columns) {
    Type wanted = key_integer_type(schema.columns[column].type);
    Reg bits = column < values.size() ? values[column].a : load_cell(source, column).a;
    cells.emplace_back(column, b_.type_of(bits) == wanted ? bits : b_.convert(Op::kTrunc, bits, wanted));
  }
  WordKey key = pack_words(index, std::move(cells));
  check(b_.call(k_rt_insert_words, {context(), source.partition, by_number, key.first, key.second, source.tid}));
}

void Generator::gen_point_access(const Relation& relation, const AccessPath& path, Reg partition,
                                 const std::function<void()>& body) {
  const storage::IndexDef& index = relation.table->schema().indexes[path.index];
  Block done = b_.new_block();
  std::vector<const KeyPart*> parts;
  for (const auto& part : path.equal) parts.push_back(&part);
  resources_.point_indexes.emplace_back(relation.table, path.index);
  Reg number = constant(Type::kI64, static_cast<int64_t>(path.index));
  Reg tid = ir::kNoReg;
  std::vector<std::pair<uint32_t, Reg>> known;
  if (fits_words(relation.table->schema(), index)) {
    WordKey key = gen_word_key(relation, index, parts, done);
    tid = gen_remembered(relation, [&] {
      return b_.call(k_rt_index_find_words, {partition, number, key.bytes, key.first, key.second});
    });
    known = key.cells;
  } else {
    auto [key, size] = gen_key(relation, index, parts, done);
    tid = b_.call(k_rt_index_find, {partition, number, key, size});
  }
  Block found = b_.new_block();
  b_.branch(b_.compare(Op::kEq, tid, constant(Type::kI64, -1)), done, found, 2);
  b_.set_block(found);
  RowSource& source = sources_[relation.id];  // not before the key: a subquery in it brings sources of its own
  open_row(&source, partition, tid);
  source.known = std::move(known);
  body();
  if (!b_.terminated()) b_.jump(done);
  b_.set_block(done);
}

}  // namespace scyper::query
