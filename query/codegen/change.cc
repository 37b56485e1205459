#include <algorithm>

#include "base/check.h"
#include "codegen/generator.h"
#include "storage/temporary.h"

// Before-images and redo written by generated code: what is changed and how it lies there is known when the statement
// is compiled, so both are stores at constant places. Changes that need more (strings in the heap, keys that move) go
// through the runtime and storage's own writers, which give the same bytes.
namespace scyper::query {

using ir::Op;
using ir::Type;
using storage::CellKind;
using storage::ChangeLogHead;
using storage::RowValues;
using storage::UndoEntry;

namespace {
constexpr int64_t kPartitionBytes = sizeof(uint16_t);
constexpr int64_t kVarintBytes = 18;  // of a length, with what the writer may touch behind it

int64_t fixed_bytes(const RowValues& values) { return static_cast<int64_t>(values.fixed_bytes); }
}  // namespace

// A column's value as its cell holds it: what store_cell() and redo write. Not for strings and arrays; the scale of an
// unconstrained numeric is apart.
ir::Reg Generator::cell_register(CellKind kind, const Value& value) {
  Type stored = kind == CellKind::kInt16   ? Type::kI16
                : kind == CellKind::kInt32 ? Type::kI32
                : kind == CellKind::kInt64 ? Type::kI64
                                           : b_.type_of(value.a);
  return b_.type_of(value.a) == stored ? value.a : b_.convert(Op::kTrunc, value.a, stored);
}

// Jumps to the slow call only when fewer than `bytes` are left between the two addresses.
void Generator::gen_log_room(size_t cursor_at, size_t end_at, Reg bytes, const ir::External& make_room) {
  Reg head = b_.load_invariant(Type::kPtr, context(), offsetof(ExecContext, changes));
  Reg cursor = b_.convert(Op::kBitcast, b_.load(Type::kPtr, head, static_cast<int64_t>(cursor_at)), Type::kI64);
  Reg end = b_.convert(Op::kBitcast, b_.load(Type::kPtr, head, static_cast<int64_t>(end_at)), Type::kI64);
  Block full = b_.new_block();
  Block fits = b_.new_block();
  b_.branch(b_.compare(Op::kULt, b_.binary(Op::kSub, end, cursor), bytes), full, fits, 2);
  b_.set_block(full);
  check(b_.call(make_room, {context(), bytes}));
  b_.jump(fits);
  b_.set_block(fits);
}

void Generator::store_bytes(Reg to, int64_t at, std::string_view bytes) {
  auto piece = [&]<typename T>(T, Type type) {
    T value;
    std::copy_n(bytes.data(), sizeof(T), reinterpret_cast<char*>(&value));
    b_.store(to, at, constant(type, value));
    bytes.remove_prefix(sizeof(T));
    at += static_cast<int64_t>(sizeof(T));
  };
  while (bytes.size() >= 8) piece(int64_t{}, Type::kI64);
  if (bytes.size() >= 4) piece(int32_t{}, Type::kI32);
  if (bytes.size() >= 2) piece(int16_t{}, Type::kI16);
  if (!bytes.empty()) b_.store(to, at, constant(Type::kI8, static_cast<uint8_t>(bytes[0])));
}

// The bitmap and the columns of fixed width (docs/redo_format.md, "values") at `to` + `at`.
void Generator::put_fixed_values(const RowValues& values, const std::function<Value(uint32_t)>& value_of, Reg to,
                                 int64_t at) {
  std::vector<Reg> bitmap(values.bitmap_bytes, ir::kNoReg);
  auto note_null = [&](const RowValues::Column& column, const Value& value) {
    if (column.null_bit < 0 || value.null == ir::kNoReg) return;
    Reg& byte = bitmap[static_cast<size_t>(column.null_bit) / 8];
    Reg bit = b_.binary(Op::kShl, value.null, constant(Type::kI8, column.null_bit % 8));
    byte = byte == ir::kNoReg ? bit : b_.binary(Op::kOr, byte, bit);
  };
  for (const RowValues::Column& column : values.varying) note_null(column, value_of(column.column));
  for (const RowValues::Column& column : values.fixed) {
    Value value = value_of(column.column);
    note_null(column, value);
    if (column.null_bit < 0) value.null = ir::kNoReg;  // checked before
    Reg cell = cell_register(column.access.kind, value);
    auto present = [&](Reg reg) {
      if (value.null == ir::kNoReg || b_.type_of(reg) == Type::kF64) return reg;
      return b_.select(value.null, constant(b_.type_of(reg), 0), reg);
    };
    if (value.null != ir::kNoReg && b_.type_of(cell) == Type::kF64) cell = b_.convert(Op::kBitcast, cell, Type::kI64);
    int64_t place = at + static_cast<int64_t>(column.at);
    b_.store(to, place, present(cell));
    if (column.access.kind == CellKind::kDecimal) b_.store(to, place + 16, present(value.b));
  }
  for (size_t i = 0; i < bitmap.size(); i++)
    b_.store(to, at + static_cast<int64_t>(i), bitmap[i] == ir::kNoReg ? constant(Type::kI8, 0) : bitmap[i]);
}

// Runs body only where redo of the table is recorded.
void Generator::if_recording(const RowSource& source, const std::function<void()>& body) {
  if (storage::is_temporary(source.relation->table->schema().id)) return;
  Reg head = b_.load_invariant(Type::kPtr, context(), offsetof(ExecContext, changes));
  Block record = b_.new_block();
  Block done = b_.new_block();
  b_.branch(b_.load(Type::kI8, head, offsetof(ChangeLogHead, record_redo)), record, done, 1);
  b_.set_block(record);
  body();
  b_.jump(done);
  b_.set_block(done);
}

// Writes `prefix` and the partition; returns the address behind them.
ir::Reg Generator::put_redo_prefix(const std::string& prefix, Reg partition) {
  Reg head = b_.load_invariant(Type::kPtr, context(), offsetof(ExecContext, changes));
  Reg out = b_.load(Type::kPtr, head, offsetof(ChangeLogHead, redo_cursor));
  store_bytes(out, 0, prefix);
  Reg number = b_.load(Type::kI16, partition, offsetof(storage::TablePartition, partition));
  b_.store(out, static_cast<int64_t>(prefix.size()), number);
  return b_.offset(out, static_cast<int64_t>(prefix.size()) + kPartitionBytes);
}

void Generator::advance_redo(Reg end) {
  Reg head = b_.load_invariant(Type::kPtr, context(), offsetof(ExecContext, changes));
  b_.store(head, offsetof(ChangeLogHead, redo_cursor), end);
}

// --- UPDATE ---

bool Generator::logs_update_inline(const storage::UpdateDescriptor& descriptor, const RowValues& key) {
  return descriptor.payloads.empty() && descriptor.affected_indexes == 0 && key.varying.empty();
}

// Before-image and redo of an update of fixed-width columns without keys; nothing can fail afterwards.
void Generator::gen_update_log(const RowSource& source, const storage::UpdateDescriptor& descriptor, uint32_t number,
                               const RowValues& key, const std::function<Value(uint32_t)>& new_value) {
  int64_t entry_bytes = static_cast<int64_t>(sizeof(UndoEntry) + ((descriptor.image_bytes + 7) & ~uint32_t{7}));
  gen_log_room(offsetof(ChangeLogHead, cursor), offsetof(ChangeLogHead, block_end), constant(Type::kI64, entry_bytes),
               k_rt_undo_room);
  if_recording(source, [&] {
    int64_t bytes = static_cast<int64_t>(descriptor.redo_prefix.size()) + kPartitionBytes + fixed_bytes(key) +
                    fixed_bytes(descriptor.values);
    gen_log_room(offsetof(ChangeLogHead, redo_cursor), offsetof(ChangeLogHead, redo_end), constant(Type::kI64, bytes),
                 k_rt_redo_room);
    Reg out = put_redo_prefix(descriptor.redo_prefix, source.partition);
    put_fixed_values(key, [&](uint32_t column) { return load_cell(source, column); }, out, 0);
    put_fixed_values(descriptor.values, new_value, out, fixed_bytes(key));
    advance_redo(b_.offset(out, fixed_bytes(key) + fixed_bytes(descriptor.values)));
  });
  gen_update_image(source, descriptor, number, entry_bytes);
}

void Generator::gen_update_image(const RowSource& source, const storage::UpdateDescriptor& descriptor, uint32_t number,
                                 int64_t entry_bytes) {
  Reg head = b_.load_invariant(Type::kPtr, context(), offsetof(ExecContext, changes));
  Reg entry = b_.load(Type::kPtr, head, offsetof(ChangeLogHead, cursor));
  b_.store(entry, offsetof(UndoEntry, previous), b_.load(Type::kPtr, head, offsetof(ChangeLogHead, top)));
  b_.store(entry, offsetof(UndoEntry, deferred), b_.null_pointer());
  b_.store(entry, offsetof(UndoEntry, partition), source.partition);
  b_.store(entry, offsetof(UndoEntry, tid), source.tid);
  b_.store(entry, offsetof(UndoEntry, kind), constant(Type::kI32, static_cast<int64_t>(UndoEntry::Kind::kUpdate)));
  b_.store(entry, offsetof(UndoEntry, moved_indexes), constant(Type::kI32, 0));
  Reg updates = b_.load_invariant(Type::kPtr, context(), offsetof(ExecContext, updates));
  b_.store(entry, offsetof(UndoEntry, descriptor),
           b_.load(Type::kPtr, updates, static_cast<int64_t>(number * sizeof(void*))));
  int64_t at = sizeof(UndoEntry);
  for (const auto& cell : descriptor.cells) {
    const storage::ColumnAccess& access = cell.access;
    Reg address = b_.index(source.chunk, source.offset, access.value_stride);
    for (int64_t done = 0; done < access.cell_bytes;) {
      int64_t left = access.cell_bytes - done;
      Type piece = left >= 8 ? Type::kI64 : left >= 4 ? Type::kI32 : left >= 2 ? Type::kI16 : Type::kI8;
      b_.store(entry, at + done, b_.load(piece, address, access.value_offset + done));
      done += left >= 8 ? 8 : left >= 4 ? 4 : left >= 2 ? 2 : 1;
    }
    at += access.cell_bytes;
    if (access.null_offset == 0) continue;
    b_.store(entry, at++,
             b_.load(Type::kI8, b_.index(source.chunk, source.offset, access.null_stride), access.null_offset));
  }
  b_.store(head, offsetof(ChangeLogHead, top), entry);
  b_.store(head, offsetof(ChangeLogHead, cursor), b_.offset(entry, entry_bytes));
  Reg used = b_.load(Type::kI64, head, offsetof(ChangeLogHead, undo_bytes));
  b_.store(head, offsetof(ChangeLogHead, undo_bytes), b_.binary(Op::kAdd, used, constant(Type::kI64, entry_bytes)));
}

// --- INSERT ---

// Redo of a new row, between rt_insert_begin and rt_insert_keys. Arrays have no form here: see logs_insert_inline().
void Generator::gen_insert_log(const RowSource& source, const RowValues& row, const std::string& prefix,
                               const std::function<Value(uint32_t)>& value_of) {
  if_recording(source, [&] {
    Reg bytes = constant(Type::kI64, static_cast<int64_t>(prefix.size()) + kPartitionBytes + fixed_bytes(row));
    for (const RowValues::Column& column : row.varying) {
      Value value = value_of(column.column);
      Reg size = value.b;
      if (value.null != ir::kNoReg && column.null_bit >= 0) size = b_.select(value.null, constant(Type::kI64, 0), size);
      bytes = b_.binary(Op::kAdd, bytes, b_.binary(Op::kAdd, size, constant(Type::kI64, kVarintBytes)));
    }
    gen_log_room(offsetof(ChangeLogHead, redo_cursor), offsetof(ChangeLogHead, redo_end), bytes, k_rt_redo_room);
    Reg out = put_redo_prefix(prefix, source.partition);
    put_fixed_values(row, value_of, out, 0);
    Reg end = b_.new_variable(Type::kPtr);
    b_.assign(end, b_.offset(out, fixed_bytes(row)));
    for (const RowValues::Column& column : row.varying) {
      Value value = value_of(column.column);
      Block next = b_.new_block();
      if (value.null != ir::kNoReg && column.null_bit >= 0) {
        Block present = b_.new_block();
        b_.branch(value.null, next, present);
        b_.set_block(present);
      }
      Reg written = b_.call(k_rt_put_text, {end, value.a, value.b});
      b_.assign(end, b_.convert(Op::kBitcast, written, Type::kPtr));
      b_.jump(next);
      b_.set_block(next);
    }
    advance_redo(end);
  });
}

// As storage's set_live().
void Generator::gen_live(const RowSource& source) {
  auto increment = [&](Reg base, Type type, int64_t at) {
    b_.store(base, at, b_.binary(Op::kAdd, b_.load(type, base, at), constant(type, 1)));
  };
  b_.store(b_.index(source.chunk, source.offset, 1), source.relation->table->layout().live_offset,
           constant(Type::kI8, 1));
  increment(source.chunk, Type::kI32, offsetof(storage::ChunkHeader, live));
  increment(source.partition, Type::kI64, offsetof(storage::TablePartition, live_tuples));
}

bool Generator::logs_insert_inline(const RowValues& row) {
  return std::none_of(row.varying.begin(), row.varying.end(),
                      [](const RowValues::Column& column) { return column.access.kind == CellKind::kArray; });
}

}  // namespace scyper::query
