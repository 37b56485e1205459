#include "codegen/row_source.h"

#include "base/invariant.h"
#include "codegen/generator.h"

namespace scyper::query {

using ir::Op;
using ir::Type;
using storage::CellKind;
using storage::TablePartition;

// Position `tid` of `partition`: its chunk, null where that is not hot, and its offset there.
void Generator::locate(RowSource* source, Reg partition, Reg tid) {
  source->partition = partition;
  source->tid = tid;
  source->known.clear();
  source->window = ir::kNoReg;
  Reg chunks = b_.load(Type::kPtr, partition, offsetof(TablePartition, chunks));
  Reg number = b_.binary(Op::kLShr, tid, constant(Type::kI64, storage::kChunkShift));
  source->chunk = b_.load(Type::kPtr, b_.index(chunks, number, sizeof(char*)));
  source->offset = b_.binary(Op::kAnd, tid, constant(Type::kI64, storage::kChunkTuples - 1));
  source->opening = -1;
}

// Positions of deleted rows are used again only after commit, chunks never move, and what the heap holds of old values
// is freed at commit, as are images: so only updates of the column itself matter. But a cell may lie in a window
// (runtime/windows.h), and texts that come from the tier are overwritten as cells of windows are.
void Generator::note_lifetime(const RowSource& source, uint32_t column, Value* text) const {
  const storage::Table* table = source.relation->table.get();
  if (overwrites_all_ || overwritten_.count({table, column}) != 0) return;
  text->stable = !compacts(*table);
  if (text->stable || table->frozen_store()->tier != nullptr) return;
  text->cells = source.window != ir::kNoReg ? source.window : source.chunk;
  text->cells_bytes = table->layout().chunk_bytes;
}

bool Generator::may_write(uint32_t callee) const {
  return callee >= resources_.callee_writes.size() || resources_.callee_writes[callee];
}

void Generator::note_changes(const BoundDml& dml) {
  auto look = [&](const BoundExpr& e) { overwrites_all_ |= e.kind == BoundKind::kUserCall && may_write(e.index); };
  overwrites_all_ |= dml.triggers != nullptr || dml.with != nullptr || dml.merge != nullptr;
  if (dml.source != nullptr) visit(*dml.source, look);
  for (const RowCheck& check : dml.checks) visit(*check.condition, look);
  for (const RowReaction& reaction : dml.reactions)
    if (reaction.action != nullptr) note_changes(*reaction.action);
  if (dml.conflict != nullptr && dml.conflict->update != nullptr) note_changes(*dml.conflict->update);
  for (const auto& output : dml.returning) visit(*output.expr, look);
  for (const auto& assignment : dml.assignments) {
    visit(assignment.generated != nullptr ? *assignment.generated : *assignment.value, look);
    overwritten_.emplace(dml.table.get(), assignment.column);
  }
}

namespace {
bool runs_unknown(StepKind kind) {
  return kind == StepKind::kExecute || kind == StepKind::kForRows || kind == StepKind::kOpen ||
         kind == StepKind::kReturnQuery || kind == StepKind::kTransaction;
}
}  // namespace

void Generator::note_changes(const StepList& steps) {
  auto look = [&](const BoundExpr& e) { overwrites_all_ |= e.kind == BoundKind::kUserCall && may_write(e.index); };
  for (const auto& step : steps) {
    overwrites_all_ |=
        (step->kind == StepKind::kCall && may_write(step->variable)) || step->has_handlers || runs_unknown(step->kind);
    for (const auto* expr : {step->expr.get(), step->expr2.get(), step->expr3.get()})
      if (expr != nullptr) visit(*expr, look);
    for (const auto& arg : step->args) visit(*arg, look);
    for (const auto& option : step->options) visit(*option.second, look);
    if (step->query != nullptr) visit(*step->query, look);
    overwrites_all_ |= step->query != nullptr && step->query->with != nullptr;
    if (step->dml != nullptr) note_changes(*step->dml);
    note_changes(step->body);
    note_changes(step->declarations);
    for (const auto& [condition, body] : step->branches) {
      visit(*condition, look);
      note_changes(body);
    }
  }
}

Value Generator::load_column(const RowSource& source, uint32_t column) {
  if (source.tuple != ir::kNoReg) {
    auto field = source.fields.find(column);
    INVARIANT(field != source.fields.end());
    return load_field(source.tuple, field->second);
  }
  if (!source.absent && !source.values.empty()) {
    INVARIANT(column < source.values.size());
    return source.values[column];
  }
  INVARIANT(source.relation != nullptr);
  if (!source.absent && source.row == ir::kNoReg) return load_cell(source, column);
  INVARIANT(column < source.relation->columns.size());
  const RelationColumn& info = source.relation->columns[column];
  if (source.absent) return null_value(info.type);
  INVARIANT(column < source.slots.size() && source.slots[column] >= 0);
  const int slot = source.slots[column];
  return load_datum(source.row, slot * static_cast<int64_t>(sizeof(Datum)), info.type, info.nullable, true);
}

Value Generator::load_cell(const RowSource& source, uint32_t column) {
  INVARIANT(source.relation->table != nullptr && column < source.relation->table->layout().columns.size());
  const storage::ColumnAccess& access = source.relation->table->layout().columns[column];
  Value value;
  value.type = source.relation->table->schema().columns[column].type;
  for (const auto& [known, bits] : source.known) {
    if (known != column) continue;
    Type wanted = register_type(value.type);
    value.a = b_.type_of(bits) == wanted ? bits : b_.convert(Op::kSExt, bits, wanted);
    return value;
  }
  note_read(source, column);
  Reg cell = b_.index(source.chunk, source.offset, access.value_stride);
  int64_t at = access.value_offset;
  if (access.null_offset != 0)
    value.null = b_.load(Type::kI8, b_.index(source.chunk, source.offset, access.null_stride), access.null_offset);
  auto integer = [&](Type stored) {
    Reg raw = b_.load(stored, cell, at);
    Type wanted = register_type(value.type);
    value.a = stored == wanted ? raw : b_.convert(Op::kSExt, raw, wanted);
  };
  switch (access.kind) {
    case CellKind::kBool:
      value.a = b_.load(Type::kI8, cell, at);
      break;
    case CellKind::kInt16:
      integer(Type::kI16);
      break;
    case CellKind::kInt32:
      integer(Type::kI32);
      break;
    case CellKind::kInt64:
      integer(Type::kI64);
      break;
    case CellKind::kFloat64:
      value.a = b_.load(Type::kF64, cell, at);
      break;
    case CellKind::kInt128:
      value.a = b_.load(Type::kI128, cell, at);
      break;
    case CellKind::kDecimal:
      value.a = b_.load(Type::kI128, cell, at);
      value.b = b_.load(Type::kI32, cell, at + 16);
      break;
    case CellKind::kShortString:
    case CellKind::kLongString:
      load_string_cell(access, cell, &value);
      note_lifetime(source, column, &value);
      break;
    case CellKind::kArray: {
      Value result = strict({value}, value.type, [&](const Values&) {
        check(b_.call(k_rt_load_cell, {context(), source.partition, source.tid, constant(Type::kI64, column)}));
        Value loaded;
        loaded.type = value.type;
        loaded.a = b_.load(Type::kPtr, context(), kContextValue);
        loaded.stable = true;
        return loaded;
      });
      return result;
    }
  }
  return value;
}

void Generator::load_string_cell(const storage::ColumnAccess& access, Reg cell, Value* value) {
  int64_t at = access.value_offset;
  if (access.kind == CellKind::kLongString) {
    value->b = b_.convert(Op::kZExt, b_.load(Type::kI32, cell, at), Type::kI64);
    Reg inside = b_.compare(Op::kLe, value->b, constant(Type::kI64, 12));
    value->a = b_.select(inside, b_.offset(cell, at + 4), b_.load(Type::kPtr, cell, at + 8));
    return;
  }
  Reg length = b_.convert(Op::kZExt, b_.load(Type::kI8, cell, at), Type::kI64);
  Reg inline_data = b_.offset(cell, at + 1);
  if (access.cell_bytes < 16) {  // never out of line
    value->a = inline_data;
    value->b = length;
    return;
  }
  // 255: more bytes than the cell has, size and pointer follow. Read in any case, used where it is so.
  Reg outside = b_.compare(Op::kEq, length, constant(Type::kI64, 255));
  Reg long_length = b_.convert(Op::kZExt, b_.load(Type::kI32, cell, at + 4), Type::kI64);
  value->a = b_.select(outside, b_.load(Type::kPtr, cell, at + 8), inline_data);
  value->b = b_.select(outside, long_length, length);
}

// Writes a value of the column's type (the caller has cast it and refused NULL where none may be).
void Generator::store_cell(const RowSource& source, uint32_t column, const Value& value) {
  const storage::ColumnAccess& access = source.relation->table->layout().columns[column];
  Reg cell = b_.index(source.chunk, source.offset, access.value_stride);
  int64_t at = access.value_offset;
  Block done = ir::kNoBlock;
  bool by_call =
      access.kind == CellKind::kShortString || access.kind == CellKind::kLongString || access.kind == CellKind::kArray;
  if (access.null_offset != 0) {
    Reg flag = b_.index(source.chunk, source.offset, access.null_stride);
    b_.store(flag, access.null_offset, is_null(value));
    if (value.null != ir::kNoReg && by_call) {
      Block present = b_.new_block();
      Block absent = b_.new_block();
      done = b_.new_block();
      b_.branch(value.null, absent, present);
      b_.set_block(absent);  // the cell of a NULL is the empty value, so that nothing dangles
      Reg none = constant(Type::kI64, 0);
      if (access.kind == CellKind::kArray)
        b_.store(cell, at, none);
      else if (access.kind == CellKind::kLongString)
        b_.store(cell, at, constant(Type::kI32, 0));
      else
        b_.store(cell, at, constant(Type::kI8, 0));
      b_.jump(done);
      b_.set_block(present);
    }
  }
  switch (access.kind) {
    case CellKind::kBool:
    case CellKind::kInt16:
    case CellKind::kInt32:
    case CellKind::kInt64:
    case CellKind::kFloat64:
    case CellKind::kInt128:
      b_.store(cell, at, cell_register(access.kind, value));
      break;
    case CellKind::kDecimal:
      b_.store(cell, at, value.a);
      b_.store(cell, at + 16, value.b);
      break;
    case CellKind::kShortString:
    case CellKind::kLongString:
      check(b_.call(k_rt_store_text, {context(), source.partition, b_.offset(cell, at), constant(Type::kI64, column),
                                      value.a, value.b}));
      break;
    case CellKind::kArray:
      check(b_.call(k_rt_store_cell, {context(), source.partition, b_.offset(cell, at), constant(Type::kI64, column),
                                      store_row({value})}));
      break;
  }
  if (done != ir::kNoBlock) {
    b_.jump(done);
    b_.set_block(done);
  }
}

}  // namespace scyper::query
