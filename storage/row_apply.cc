#include "storage/row_apply.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "row_applier_parts.h"
#include "row_change_format.h"
#include "row_index.h"
#include "storage/string_heap.h"
#include "tuple_place.h"

namespace scyper::storage {

namespace {

constexpr uint32_t kMaxArrayElements = 1u << 27;  // PostgreSQL's MaxArraySize

constexpr size_t kUpdatePlansMax = 64;  // sets of columns per table that are remembered

Status out_of_memory() { return sql_error("53200", "out of memory while redo is applied"); }

}  // namespace

// A value that is not NULL and no array.
Datum RowApplier::Input::value(const SqlType& type) {
  if (holds_bytes(type.id)) {
    const StringRef text = string();
    return string_datum(text.data, text.size);
  }
  const CellKind kind = cell_kind_of(type);
  const uint32_t width = fixed_value_bytes(kind);
  const char* raw = width > 0 ? bytes(width) : nullptr;
  if (raw == nullptr || (kind == CellKind::kDecimal && !is_decimal(raw))) {
    ok = false;
    return null_datum();
  }
  return read_cell(kind, raw, type);
}

ArrayValue RowApplier::Input::array(const SqlType& type) {
  ArrayValue array;
  const uint64_t size = varint();
  const int64_t lower_bound = signed64();
  array.lower_bound = static_cast<int32_t>(lower_bound);
  array.element = type.element;
  // every element has a bit of the bitmap, so that its bytes bound the memory taken here
  const char* bitmap = size <= kMaxArrayElements ? bytes((size + 7) / 8) : nullptr;
  if (bitmap == nullptr || !ok || array.lower_bound != lower_bound) {
    ok = false;
    return array;
  }
  elements.push_back(std::make_unique<std::vector<Datum>>(size));
  const SqlType element = element_of(type);
  for (size_t i = 0; i < size && ok; ++i) {
    if ((bitmap[i / 8] >> (i % 8) & 1) == 0) (*elements.back())[i] = value(element);
  }
  array.size = array.capacity = static_cast<int32_t>(size);
  array.elements = elements.back()->data();
  return array;
}

RowApplier::RowApplier(TableLookup lookup, SequenceLookup sequences, Define define)
    : lookup_(std::move(lookup)), sequences_(std::move(sequences)), define_(std::move(define)) {}
RowApplier::~RowApplier() = default;
void RowApplier::forget() {
  targets_.clear();
  last_target_ = nullptr;
}

StatusOr<RowApplier::Target*> RowApplier::target_of(uint32_t number) {
  std::unique_ptr<Target>& target = targets_[number];
  if (target != nullptr) return target.get();
  Table* table = lookup_(TableId(number));
  if (table == nullptr) {
    targets_.erase(number);
    return damaged_redo("unknown table");
  }
  target = std::make_unique<Target>();
  target->table = table;
  target->plan = &table->plan();
  target->moves = std::make_unique<Moves>(target->plan->row);
  target->is_shared = table->schema().scheme == PartitionScheme::kShared;
  const TableSchema& schema = table->schema();
  target->affected.resize(schema.columns.size());
  for (uint32_t i = 0; i < schema.indexes.size(); ++i) {
    for (uint32_t column : schema.indexes[i].columns) target->affected[column] |= 1u << i;
    if (!schema.indexes[i].primary) continue;
    target->has_key = true;
    target->key_index = i;
    target->has_simple_key = target->plan->indexes[i].simple && target->plan->key.varying.empty();
    SCYPER_ASSIGN_OR_RETURN(KeyFormat format, KeyFormat::create(schema.indexes[i], schema));
    target->key_format = std::make_unique<KeyFormat>(std::move(format));
  }
  target->row_ids.resize(table->partition_count());
  target->has_row_ids.resize(table->partition_count());
  return target.get();
}

namespace {

char* put_simple_part(char* out, const char* value, uint32_t bytes) {
  switch (bytes) {
    case 1:
      return put_key_integer(out, load_cell<uint8_t>(value));
    case 2:
      return put_key_integer(out, load_cell<uint16_t>(value));
    case 4:
      return put_key_integer(out, load_cell<uint32_t>(value));
    case 8:
      return put_key_integer(out, load_cell<uint64_t>(value));
    default:
      return put_key_integer(out, load_cell<unsigned __int128>(value));
  }
}

bool bit_of(const char* bitmap, int32_t bit) {
  return bit >= 0 && (static_cast<uint8_t>(bitmap[bit / 8]) >> (bit % 8) & 1) != 0;
}

uint64_t row_id_of(const TablePartition* partition, Tid tid) {
  const auto column = static_cast<uint32_t>(partition->plan->row_id_column);
  const char* chunk = chunk_of(partition, tid);
  if (chunk == nullptr) [[unlikely]]
    return static_cast<uint64_t>(read_column(partition, tid, column).lo);
  return load_cell<uint64_t>(cell_of(partition->plan->columns[column].access, chunk, offset_of(tid)));
}

// Whether a tuple that was found before is still there: the compactor moves them.
StatusOr<bool> is_still_there(const TablePartition* partition, Tid tid, uint64_t row_id) {
  if (partition->frozen == nullptr) return true;
  if (!has_tuple(partition, tid)) return false;
  const auto column = static_cast<uint32_t>(partition->plan->row_id_column);
  SCYPER_RETURN_IF_ERROR(bring_tuple(partition, tid, {&column, 1}));
  return row_id_of(partition, tid) == row_id;
}

Status read_row_ids(const TablePartition* partition, std::unordered_map<uint64_t, Tid>* row_ids) {
  const auto column = static_cast<uint32_t>(partition->plan->row_id_column);
  const ColumnAccess& access = partition->plan->columns[column].access;
  ChunkReader reader(partition, {&column, 1});
  reader.for_each([&](Tid tid, const char* chunk, uint32_t offset) {
    (*row_ids)[load_cell<uint64_t>(cell_of(access, chunk, offset))] = tid;
    return true;
  });
  return reader.status();
}

}  // namespace

// Fills the cells of a tuple that refer to nothing in the heap.
ChangeResult RowApplier::write_values(TablePartition* partition, Tid tid, const RowValues& values, const Moves& moves,
                                      Input* in) {
  char* chunk = chunk_of(partition, tid);
  const uint32_t offset = offset_of(tid);
  const char* base = in->bytes(values.fixed_bytes);
  if (base == nullptr) return ChangeResult::kOk;
  moves.run(base, chunk, offset);
  for (const RowValues::Column& column : moves.rest) {
    char* cell = cell_of(column.access, chunk, offset);
    put_fixed(cell, base + column.at, column.bytes);
    if (column.access.kind == CellKind::kBool) *cell = static_cast<char>(*cell & 1);
    if (column.access.kind == CellKind::kDecimal) {
      save_cell(cell + column.bytes, int32_t{0});
      if (!is_decimal(cell)) in->ok = false;
    }
    if (column.access.null_offset == 0) continue;
    chunk[column.access.null_offset + uint64_t{offset} * column.access.null_stride] =
        bit_of(base, column.null_bit) ? 1 : 0;
  }
  ChangeResult result = ChangeResult::kOk;
  for (const RowValues::Column& column : values.varying) {
    char* cell = cell_of(column.access, chunk, offset);
    const bool is_null = bit_of(base, column.null_bit);
    write_empty_cell(column.access.kind, cell, column.access.cell_bytes);
    if (column.access.null_offset != 0) {
      chunk[column.access.null_offset + uint64_t{offset} * column.access.null_stride] = is_null ? 1 : 0;
    }
    if (is_null || !in->ok || result != ChangeResult::kOk) continue;
    if (column.access.kind == CellKind::kArray) {
      const ArrayValue array = in->array(column.type);
      if (in->ok) result = store_array(partition, nullptr, cell, &array, column.type);
    } else {
      const StringRef text = in->string();
      result = store_string(partition, nullptr, cell, &column.access, text.data, text.size);
    }
  }
  return result;
}

// nullptr: it may not be changed here.
TablePartition* RowApplier::partition_of(Target* target, Input* in, uint32_t allowed) {
  const char* raw = in->bytes(sizeof(uint16_t));
  const uint32_t partition = raw != nullptr ? load_cell<uint16_t>(raw) : 0;
  const bool is_allowed = allowed == kAnyPartition || (!target->is_shared && partition == allowed);
  if (in->ok && is_allowed && partition < target->table->partition_count()) [[likely]] {
    return target->table->partition(partition);
  }
  in->damage = "partition";
  return nullptr;
}

bool RowApplier::is_held(const Target& target, const TablePartition& partition) const {
  return target.is_shared || held_.has(partition.partition);
}

// The values of a key that is not simple, in index order. False: damage.
bool RowApplier::read_key(const Target& target, Input* in, std::vector<Datum>* values) {
  values->resize(target.key_format->columns().size());
  for (const bool varying : {false, true}) {
    for (size_t i = 0; i < values->size(); ++i) {
      const SqlType& type = target.key_format->columns()[i].type;
      if (holds_bytes(type.id) == varying) (*values)[i] = in->value(type);
    }
  }
  return in->ok;
}

// The key of a row that is not here.
void RowApplier::pass_key(const Target& target, Input* in) {
  std::vector<Datum> values;
  if (!target.has_key) {
    in->bytes(sizeof(uint64_t));
  } else if (target.has_simple_key) {
    in->bytes(target.plan->key.fixed_bytes);
  } else {
    read_key(target, in, &values);
  }
}

void RowApplier::pass_values(const RowValues& values, Input* in) {
  const char* base = in->bytes(values.fixed_bytes);
  for (const RowValues::Column& column : values.varying) {
    if (!in->ok || bit_of(base, column.null_bit)) continue;
    if (column.access.kind == CellKind::kArray) {
      in->array(column.type);
    } else {
      in->string();
    }
  }
}

// The tuple that the key at hand names, or kNoTid.
Tid RowApplier::find(Target* target, TablePartition* partition, Input* in) {
  const RowValues& form = target->plan->key;
  char key[kMaxIndexKeyBytes];
  size_t size;
  if (!target->has_key) {
    const char* raw = in->bytes(sizeof(uint64_t));
    auto& row_ids = target->row_ids[partition->partition];
    const uint64_t wanted = raw != nullptr ? load_cell<uint64_t>(raw) : 0;
    for (bool is_fresh = false; raw != nullptr; is_fresh = true) {
      if (is_fresh || !target->has_row_ids[partition->partition]) {
        in->unreadable = read_row_ids(partition, &row_ids);
        if (!in->unreadable.ok()) return kNoTid;
        target->has_row_ids[partition->partition] = true;
      }
      const auto found = row_ids.find(wanted);
      if (found == row_ids.end()) break;
      const StatusOr<bool> is_there = is_still_there(partition, found->second, wanted);
      in->unreadable = is_there.status();
      if (!is_there.ok()) return kNoTid;
      if (*is_there) return found->second;
      if (is_fresh) break;
    }
    in->damage = "a row that does not exist";
    return kNoTid;
  }
  if (target->has_simple_key) {
    const char* base = in->bytes(form.fixed_bytes);
    if (base == nullptr) {
      in->damage = "key";
      return kNoTid;
    }
    char* out = key;
    for (const RowValues::Column& column : form.fixed) out = put_simple_part(out, base + column.at, column.bytes);
    size = static_cast<size_t>(out - key);
  } else {
    std::vector<Datum> values;
    size = read_key(*target, in, &values) ? target->key_format->encode(values, key) : kKeyTooLarge;
    if (size == kKeyTooLarge) {
      in->damage = "key";
      return kNoTid;
    }
  }
  const Tid tid = find_unique(partition, target->key_index, key, static_cast<uint32_t>(size));
  if (tid == kNoTid) in->damage = "a row that does not exist";
  return tid;
}

Status RowApplier::insert(Target* target, TablePartition* partition, Input* in) {
  const RowPlan& plan = *target->plan;
  const Tid tid = take_position(partition);
  if (tid == kNoTid) return out_of_memory();
  mark_changed(partition, tid);
  if (write_values(partition, tid, plan.row, *target->moves, in) != ChangeResult::kOk) return out_of_memory();
  if (!in->ok) return damaged_redo("values");
  if (plan.row_id_column >= 0) {
    const uint64_t id = row_id_of(partition, tid);
    partition->next_row_id = std::max(partition->next_row_id, id / partition->partitions + 1);
    if (target->has_row_ids[partition->partition]) target->row_ids[partition->partition][id] = tid;
  }
  ChangeLog::Conflict conflict;
  const ChangeResult result = insert_keys(partition, tid, &conflict);
  if (result == ChangeResult::kOutOfMemory) return out_of_memory();
  if (result != ChangeResult::kOk) return damaged_redo("a row that exists already");
  set_live(partition, tid, true);
  return Status();
}

// The plan for the columns that the record at `begin` names, or nullptr; reads up to the partition.
RowApplier::UpdatePlan* RowApplier::update_plan(Target* target, const char* begin, Input* in) {
  const std::string_view bytes(begin, static_cast<size_t>(in->end - begin));
  for (size_t i = 0; i < target->updates.size(); ++i) {
    UpdatePlan* plan = target->updates[i].get();
    if (!bytes.starts_with(plan->prefix)) continue;
    if (i > 0) std::swap(target->updates[i], target->updates[i - 1]);  // what comes often moves to the front
    in->at = begin + plan->prefix.size();
    return plan;
  }
  std::vector<uint32_t> columns;
  const uint64_t count = in->varint();
  uint64_t column = 0;
  const size_t width = target->plan->columns.size();
  auto plan = std::make_unique<UpdatePlan>();
  for (uint64_t i = 0; i < count && in->ok; ++i) {
    const uint64_t step = in->varint();
    column += step;
    if (step > width || column >= width || (i > 0 && step == 0)) in->ok = false;
    if (!in->ok) break;
    columns.push_back(static_cast<uint32_t>(column));
    plan->affected |= target->affected[column];
  }
  if (!in->ok) {
    in->damage = "changed columns";
    return nullptr;
  }
  plan->values = make_row_values(target->table->schema(), target->table->layout(), columns);
  plan->moves = std::make_unique<Moves>(plan->values);
  plan->prefix.assign(begin, in->at);
  if (target->updates.size() == kUpdatePlansMax) target->updates.pop_back();
  target->updates.push_back(std::move(plan));
  return target->updates.back().get();
}

Status RowApplier::update(Target* target, const char* begin, Input* in, uint32_t allowed) {
  const RowPlan& plan = *target->plan;
  UpdatePlan* change = update_plan(target, begin, in);
  if (change == nullptr) return damaged_redo(in->damage);
  TablePartition* partition = partition_of(target, in, allowed);
  if (partition == nullptr) return damaged_redo(in->damage);
  if (!is_held(*target, *partition)) {
    pass_key(*target, in);
    pass_values(change->values, in);
    return in->ok ? Status() : damaged_redo("values");
  }
  ++rows_;
  Tid tid = find(target, partition, in);
  if (tid == kNoTid) return in->unreadable.ok() ? damaged_redo(in->damage) : in->unreadable;
  SCYPER_RETURN_IF_ERROR(bring_tuple(partition, tid));
  mark_changed(partition, tid);
  if (chunk_of(partition, tid) == nullptr) [[unlikely]] {
    tid = make_hot_for_good(partition, tid);
    if (tid == kNoTid) return out_of_memory();
    mark_changed(partition, tid);
    if (!target->has_key) target->row_ids[partition->partition][row_id_of(partition, tid)] = tid;
  }
  char* chunk = chunk_of(partition, tid);
  const uint32_t offset = offset_of(tid);
  char key[kMaxIndexKeyBytes];
  for (uint32_t left = change->affected; left != 0; left &= left - 1) {
    const auto index = static_cast<uint32_t>(__builtin_ctz(left));
    erase_key(partition, index, key, encode_row_key(plan.indexes[index], chunk, offset, tid, key));
  }
  for (const RowValues::Column& column : change->values.varying) {
    const StringRef payload = payload_of(column.access.kind, cell_of(column.access, chunk, offset));
    if (payload.size != 0) partition->heap->free(const_cast<char*>(payload.data), payload.size);
  }
  if (write_values(partition, tid, change->values, *change->moves, in) != ChangeResult::kOk) return out_of_memory();
  if (!in->ok) return damaged_redo("values");
  for (uint32_t left = change->affected; left != 0; left &= left - 1) {
    const auto index = static_cast<uint32_t>(__builtin_ctz(left));
    ChangeLog::Conflict conflict;
    const RowKey info = encode_row_key(plan.indexes[index], chunk, offset, tid, key);
    const ChangeResult result = insert_key(partition, index, key, info, tid, &conflict);
    if (result == ChangeResult::kOutOfMemory) return out_of_memory();
    if (result != ChangeResult::kOk) return damaged_redo("a key that exists already");
  }
  return Status();
}

Status RowApplier::remove(Target* target, TablePartition* partition, Input* in) {
  const Tid tid = find(target, partition, in);
  if (tid == kNoTid) return in->unreadable.ok() ? damaged_redo(in->damage) : in->unreadable;
  SCYPER_RETURN_IF_ERROR(bring_tuple(partition, tid));
  mark_changed(partition, tid);
  if (!target->has_key) target->row_ids[partition->partition].erase(row_id_of(partition, tid));
  erase_keys(partition, tid);
  set_live_anywhere(partition, tid, false);
  if (chunk_of(partition, tid) == nullptr) return Status();
  free_payloads(partition, tid);
  free_position(partition, tid);
  return Status();
}

// Sequences belong to no partition: streams may bring their states in any order.
Status RowApplier::apply_sequence(Input* in) {
  const uint64_t id = in->varint();
  SequenceState state;
  state.changes = in->varint();
  state.value = in->signed64();
  const char* called = in->bytes(1);
  Sequence* sequence =
      in->ok && id <= UINT32_MAX && sequences_ ? sequences_(SequenceId(static_cast<uint32_t>(id))) : nullptr;
  if (sequence == nullptr) return damaged_redo("sequence");
  state.is_called = *called != 0;
  sequence->restore(state);
  return Status();
}

Status RowApplier::apply_definition(Input* in, uint32_t allowed) {
  const uint64_t size = in->varint();
  const char* text = in->bytes(size);
  if (!in->ok || define_ == nullptr || allowed != kAnyPartition) return damaged_redo("definition");
  SCYPER_RETURN_IF_ERROR(define_({text, static_cast<size_t>(size)}));
  forget();
  return Status();
}

Status RowApplier::apply(std::string_view changes, uint32_t allowed) {
  Input in{changes.data(), changes.data() + changes.size(), true, nullptr, {}};
  while (in.left() > 0) {
    const char* begin = in.at;
    const auto kind = static_cast<RowChangeKind>(*in.at++);
    if (kind == RowChangeKind::kSequence) {
      SCYPER_RETURN_IF_ERROR(apply_sequence(&in));
      continue;
    }
    if (kind == RowChangeKind::kDefinition) {
      SCYPER_RETURN_IF_ERROR(apply_definition(&in, allowed));
      continue;
    }
    const uint64_t table = in.varint();
    if (!in.ok || table > UINT32_MAX) return damaged_redo("table");
    if (table != last_number_ || last_target_ == nullptr) {
      SCYPER_ASSIGN_OR_RETURN(last_target_, target_of(static_cast<uint32_t>(table)));
      last_number_ = static_cast<uint32_t>(table);
    }
    Target* target = last_target_;
    if (!in.elements.empty()) in.elements.clear();
    if (kind == RowChangeKind::kUpdate) {
      SCYPER_RETURN_IF_ERROR(update(target, begin, &in, allowed));
      continue;
    }
    if (kind != RowChangeKind::kInsert && kind != RowChangeKind::kDelete) return damaged_redo("kind of row change");
    SCYPER_RETURN_IF_ERROR(insert_or_remove(kind == RowChangeKind::kInsert, target, &in, allowed));
  }
  return Status();
}

Status RowApplier::insert_or_remove(bool inserts, Target* target, Input* in, uint32_t allowed) {
  TablePartition* partition = partition_of(target, in, allowed);
  if (partition == nullptr) return damaged_redo(in->damage);
  if (!is_held(*target, *partition)) {
    inserts ? pass_values(target->plan->row, in) : pass_key(*target, in);
    return in->ok ? Status() : damaged_redo("values");
  }
  ++rows_;
  return inserts ? insert(target, partition, in) : remove(target, partition, in);
}

StatusOr<std::unique_ptr<OwnedArray>> read_array_value(std::string_view bytes, const SqlType& type) {
  RowApplier::Input in{bytes.data(), bytes.data() + bytes.size(), true, nullptr, {}};
  auto owned = std::make_unique<OwnedArray>();
  owned->value = in.array(type);
  if (!in.ok || in.left() > 0) return damaged_redo("array");
  owned->elements = std::move(*in.elements.back());
  owned->value.elements = owned->elements.data();
  return owned;
}

}  // namespace scyper::storage
