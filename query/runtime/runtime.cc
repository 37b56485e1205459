#include "runtime/runtime.h"
#include "runtime/row_lock_calls.h"

#include <cmath>
#include <cstring>

#include "absl/strings/str_cat.h"
#include "base/copy.h"
#include "base/object_name.h"
#include "bind/builtins.h"
#include "compile/program_parts.h"
#include "query/deferred_checks.h"
#include "query/error_status.h"
#include "query/program.h"
#include "query/settings.h"
#include "runtime/memory.h"
#include "runtime/storable.h"
#include "storage/key.h"
#include "storage/trailer.h"
#include "types/datum_text.h"
#include "types/decimal.h"
#include "types/interval.h"
#include "types/scalar.h"
#include "types/text.h"

namespace scyper::query {

namespace {

std::string_view view(const char* data, int64_t size) { return {data, static_cast<size_t>(size)}; }
__int128 join(int64_t lo, int64_t hi) {
  return static_cast<__int128>((static_cast<unsigned __int128>(static_cast<uint64_t>(hi)) << 64) |
                               static_cast<uint64_t>(lo));
}
void split(__int128 value, ExecContext* c) {
  c->value[0] = static_cast<int64_t>(value);
  c->value[1] = static_cast<int64_t>(value >> 64);
}

}  // namespace

int32_t report_change(ExecContext* c, storage::ChangeResult result) noexcept {
  bool limit = result == storage::ChangeResult::kOutOfMemory || result == storage::ChangeResult::kRedoLimit ||
               result == storage::ChangeResult::kUndoLimit;
  if (result == storage::ChangeResult::kDuplicateKey) {
    if (const int32_t waits = meet_duplicate(c); waits != 0) return waits;
  }
  const int32_t outcome = c->fail(storage::change_status(result, *c->log, format_datum), !limit);
  const storage::TablePartition* partition = c->log->conflict().partition;
  if (result == storage::ChangeResult::kDuplicateKey && partition != nullptr) {  // the message does not name its table
    const std::string& table = partition->table->schema().name;
    c->error.table = bare_name(table);
    c->error.schema = schema_of(table);
  }
  return outcome;
}

namespace {

struct ErrorText {
  const char* sqlstate;
  const char* message;
  const char* hint = "";
};
// The last `what "name"` in a message; a table that refers to another comes behind it.
std::string_view quoted_after(std::string_view message, std::string_view what) {
  const std::string mark = absl::StrCat(std::string(what), " \"");
  const size_t at = message.rfind(mark);
  if (at == std::string_view::npos) return {};
  message.remove_prefix(at + mark.size());
  return message.substr(0, message.find('"'));
}

}  // namespace

void name_violated(const ExecContext& context, std::string_view message, ErrorState* error) {
  const std::string_view constraint = quoted_after(message, "constraint");
  std::string_view table = quoted_after(message, "relation");
  if (table.empty()) table = quoted_after(message, "table");
  const auto catalog = context.program != nullptr ? context.program->parts().catalog : nullptr;
  if (table.empty() && catalog != nullptr) {
    const auto found = catalog->index_tables.find(constraint);
    if (found != catalog->index_tables.end()) table = found->second;
  }
  error->constraint = bare_name(constraint);
  if (constraint.empty()) error->column = quoted_after(message, "column");
  error->table = bare_name(table);
  if (!table.empty()) error->schema = schema_of(table);
}

namespace {

ErrorText error_text(RuntimeError error) {
  switch (error) {
    case RuntimeError::kInt2Range:
      return {"22003", "smallint out of range"};
    case RuntimeError::kInt4Range:
      return {"22003", "integer out of range"};
    case RuntimeError::kInt8Range:
      return {"22003", "bigint out of range"};
    case RuntimeError::kNumericOverflow:
      return {"22003", "value overflows numeric format"};
    case RuntimeError::kDivisionByZero:
      return {"22012", "division by zero"};
    case RuntimeError::kNoRows:
      return {"P0002", "query returned no rows"};
    case RuntimeError::kTooManyRows:
      return {"P0003", "query returned more than one row", "Make sure the query returns a single row, or use LIMIT 1."};
    case RuntimeError::kSubqueryRows:
      return {"21000", "more than one row returned by a subquery used as an expression"};
    case RuntimeError::kNoReturn:
      return {"2F005", "control reached end of function without RETURN"};
    case RuntimeError::kNegativeLimit:
      return {"2201W", "LIMIT must not be negative"};
    case RuntimeError::kNegativeOffset:
      return {"2201X", "OFFSET must not be negative"};
    case RuntimeError::kNullLoopFrom:
      return {"22004", "lower bound of FOR loop cannot be null"};
    case RuntimeError::kNullLoopTo:
      return {"22004", "upper bound of FOR loop cannot be null"};
    case RuntimeError::kNullLoopStep:
      return {"22004", "BY value of FOR loop cannot be null"};
    case RuntimeError::kLoopStep:
      return {"22023", "BY value of FOR loop must be greater than zero"};
    case RuntimeError::kSeriesStep:
      return {"22023", "step size cannot equal zero"};
    case RuntimeError::kNullForEach:
      return {"22004", "FOREACH expression must not be null"};
    case RuntimeError::kNullAssignment:
      return {"22004", "null value cannot be assigned to a variable declared NOT NULL"};
    case RuntimeError::kNullStatement:
      return {"22004", "query string argument of EXECUTE is null"};
    case RuntimeError::kNullSubscript:
      return {"22004", "array subscript in assignment must not be null"};
    case RuntimeError::kConflictTwice:
      return {"21000", "ON CONFLICT DO UPDATE command cannot affect row a second time",
              "Ensure that no rows proposed for insertion within the same command have duplicate constrained values."};
    case RuntimeError::kMergeTwice:
      return {"21000", "MERGE command cannot affect row a second time",
              "Ensure that not more than one source row matches any one target row."};
  }
  return {"XX000", "unknown runtime error"};
}

extern "C" {

int32_t rt_fail(ExecContext* c, int64_t error) noexcept {
  ErrorText text = error_text(static_cast<RuntimeError>(error));
  int32_t outcome = c->fail(text.sqlstate, text.message);
  c->error.hint = text.hint;
  return outcome;
}

int32_t rt_interrupted(ExecContext* c) noexcept {
  if ((c->interrupt.load(std::memory_order_relaxed) & kSafepointBit) != 0) {
    c->interrupt.fetch_and(~kSafepointBit, std::memory_order_acquire);
    if (c->safepoint != nullptr) c->safepoint(c->safepoint_owner);
  }
  return fail_interrupted(c);
}

int32_t rt_feed_next(ExecContext* c) noexcept {
  c->value[0] = reinterpret_cast<int64_t>(c->feed == nullptr ? nullptr : c->feed->next());
  return 0;
}
int32_t rt_copy_text(ExecContext* c, const char* data, int64_t size) noexcept {
  char* copy = c->scratch->allocate(size == 0 ? 1 : static_cast<size_t>(size));
  if (copy == nullptr) return fail_memory(c);
  copy_bytes(copy, data, static_cast<size_t>(size));
  c->value[0] = reinterpret_cast<int64_t>(copy);
  return 0;
}

int32_t rt_copy_array(ExecContext* c, const ArrayValue* array) noexcept {
  Datum copy = {reinterpret_cast<int64_t>(array), 0, 0, 0, {}};
  SqlType type = make_array(make_type(array->element));
  if (!copy_datum(c, type, &copy)) return fail_memory(c);
  c->value[0] = copy.lo;
  return 0;
}

int32_t rt_compare_text(const char* a, int64_t a_size, const char* b, int64_t b_size) noexcept {
  return text_compare(view(a, a_size), view(b, b_size));
}
int32_t rt_equal_text(const char* a, int64_t a_size, const char* b, int64_t b_size) noexcept {
  return view(a, a_size) == view(b, b_size) ? 1 : 0;
}
int32_t rt_compare_char(const char* a, int64_t a_size, const char* b, int64_t b_size) noexcept {
  return char_compare(view(a, a_size), view(b, b_size));
}
int32_t rt_equal_char(const char* a, int64_t a_size, const char* b, int64_t b_size) noexcept {
  return char_compare(view(a, a_size), view(b, b_size)) == 0 ? 1 : 0;
}
int8_t rt_text_contains(const char* data, int64_t size, const char* part, int64_t part_size) noexcept {
  return memmem(data, static_cast<size_t>(size), part, static_cast<size_t>(part_size)) != nullptr ? 1 : 0;
}
int64_t rt_text_prefix(const char* data, int64_t size, int64_t characters) noexcept {
  return static_cast<int64_t>(prefix_size(view(data, size), static_cast<size_t>(characters)));
}
int32_t rt_text_ascii(const char* data, int64_t size) noexcept { return first_code_point(view(data, size)); }
int64_t rt_char_text_size(const char* data, int64_t size) noexcept {
  return static_cast<int64_t>(trim_blanks(view(data, size)).size());
}

int32_t rt_concat(ExecContext* c, const char* a, int64_t a_size, const char* b, int64_t b_size) noexcept {
  // appending to what was allocated last grows in place: loops that build a text stay linear
  char* out = c->scratch->extend(a, static_cast<size_t>(a_size), static_cast<size_t>(b_size));
  if (out == nullptr) return fail_memory(c);
  if (out != a) copy_bytes(out, a, static_cast<size_t>(a_size));
  copy_bytes(out + a_size, b, static_cast<size_t>(b_size));
  c->value[0] = reinterpret_cast<int64_t>(out);
  c->value[1] = a_size + b_size;
  return 0;
}

int32_t rt_compare_array(const ArrayValue* a, const ArrayValue* b, const SqlType* element, int64_t) noexcept {
  Datum x = {reinterpret_cast<int64_t>(a), 0, 0, 0, {}};
  Datum y = {reinterpret_cast<int64_t>(b), 0, 0, 0, {}};
  return compare_datums(make_array(*element), x, y);
}

int32_t rt_compare_interval(int64_t a_lo, int64_t a_hi, int64_t b_lo, int64_t b_hi) noexcept {
  return interval_compare(interval_of({a_lo, a_hi, 0, 0, {}}), interval_of({b_lo, b_hi, 0, 0, {}}));
}

int32_t rt_decimal(ExecContext* c, int64_t op, int64_t a_lo, int64_t a_hi, int64_t a_scale, int64_t b_lo, int64_t b_hi,
                   int64_t b_scale) noexcept {
  Decimal a{join(a_lo, a_hi), static_cast<int32_t>(a_scale)};
  Decimal b{join(b_lo, b_hi), static_cast<int32_t>(b_scale)};
  Decimal out;
  ValueError error = ValueError::kNone;
  switch (static_cast<BuiltinOp>(op)) {
    case BuiltinOp::kAdd:
      error = decimal_add(a, b, &out);
      break;
    case BuiltinOp::kSubtract:
      error = decimal_subtract(a, b, &out);
      break;
    case BuiltinOp::kMultiply:
      error = decimal_multiply(a, b, &out);
      break;
    case BuiltinOp::kDivide:
      error = decimal_divide(a, b, &out);
      break;
    default:
      error = decimal_modulo(a, b, &out);
      break;
  }
  if (error != ValueError::kNone) [[unlikely]]
    return error == ValueError::kOutOfMemory ? fail_memory(c) : c->fail(error_status(error));
  split(out.value, c);
  c->value[2] = out.scale;
  return 0;
}

int32_t rt_decimal_compare(int64_t a_lo, int64_t a_hi, int64_t a_scale, int64_t b_lo, int64_t b_hi,
                           int64_t b_scale) noexcept {
  return decimal_compare({join(a_lo, a_hi), static_cast<int32_t>(a_scale)},
                         {join(b_lo, b_hi), static_cast<int32_t>(b_scale)});
}

int32_t rt_decimal_rescale(ExecContext* c, int64_t lo, int64_t hi, int64_t from_scale, int64_t precision,
                           int64_t scale) noexcept {
  Decimal value{join(lo, hi), static_cast<int32_t>(from_scale)};
  ValueError error = decimal_cast(value, static_cast<int32_t>(precision), static_cast<int32_t>(scale), &value);
  if (error != ValueError::kNone) [[unlikely]]
    return c->fail(error_status(error, make_numeric(static_cast<uint8_t>(precision), static_cast<uint8_t>(scale))));
  split(value.value, c);
  return 0;
}

int32_t rt_float(ExecContext* c, int64_t op, int64_t a_bits, int64_t b_bits) noexcept {
  double a = __builtin_bit_cast(double, a_bits);
  double b = __builtin_bit_cast(double, b_bits);
  double out = 0;
  ValueError error = ValueError::kNone;
  switch (static_cast<BuiltinOp>(op)) {
    case BuiltinOp::kAdd:
      error = float8_add(a, b, &out);
      break;
    case BuiltinOp::kSubtract:
      error = float8_subtract(a, b, &out);
      break;
    case BuiltinOp::kMultiply:
      error = float8_multiply(a, b, &out);
      break;
    default:
      error = float8_divide(a, b, &out);
      break;
  }
  if (error != ValueError::kNone) return c->fail(error_status(error));
  c->value[0] = __builtin_bit_cast(int64_t, out);
  return 0;
}

int32_t rt_cast(ExecContext* c, const Datum* in, const SqlType* from, const SqlType* to, int64_t explicit_cast,
                Datum* out) noexcept {
  return cast_datum(c, *in, *from, *to, explicit_cast != 0, out);
}

// --- indexes and keys ---

int64_t rt_index_find(storage::TablePartition* partition, int64_t index, const char* key, int64_t size) noexcept {
  return static_cast<int64_t>(
      storage::find_unique(partition, static_cast<uint32_t>(index), key, static_cast<uint32_t>(size)));
}

void rt_index_prefetch(storage::TablePartition* partition, int64_t index, const char* key, int64_t size) noexcept {
  const storage::PartitionIndex& found = partition->indexes[index];
  if (found.hash != nullptr) found.hash->prefetch(key, static_cast<uint32_t>(size));
}

int64_t rt_index_find_words(storage::TablePartition* partition, int64_t index, int64_t size, int64_t first,
                            int64_t second) noexcept {
  return static_cast<int64_t>(storage::find_unique_words(partition, static_cast<uint32_t>(index),
                                                         static_cast<uint32_t>(size), static_cast<uint64_t>(first),
                                                         static_cast<uint64_t>(second)));
}

void rt_index_prefetch_words(storage::TablePartition* partition, int64_t index, int64_t first,
                             int64_t second) noexcept {
  const storage::PartitionIndex& found = partition->indexes[index];
  if (found.hash != nullptr) found.hash->prefetch_words(static_cast<uint64_t>(first), static_cast<uint64_t>(second));
}

void rt_index_seek(storage::TablePartition* partition, int64_t index, storage::OrderedCursor* cursor, const char* lo,
                   int64_t lo_size, const char* hi, int64_t hi_size, int64_t flags) noexcept {
  uint32_t exclusive = ((flags & 2) != 0 ? 1u : 0u) | ((flags & 4) != 0 ? 2u : 0u);
  partition->indexes[index].ordered->seek(cursor, lo, static_cast<uint32_t>(lo_size), hi,
                                          static_cast<uint32_t>(hi_size), (flags & 1) != 0, exclusive);
}

int64_t rt_index_next(storage::TablePartition* partition, int64_t index, storage::OrderedCursor* cursor) noexcept {
  return static_cast<int64_t>(partition->indexes[index].ordered->next(cursor));
}

int64_t rt_index_next_many(storage::TablePartition* partition, int64_t index, storage::OrderedCursor* cursor,
                           int64_t* tids, int64_t most) noexcept {
  const storage::OrderedIndex& ordered = *partition->indexes[index].ordered;
  int64_t count = 0;
  while (count < most) {
    storage::Tid tid = ordered.next(cursor);
    if (tid == storage::kNoTid) break;
    tids[count++] = static_cast<int64_t>(tid);
  }
  return count;
}

int64_t rt_key_text(char* out, const char* data, int64_t size, int64_t blank_padded, int64_t flags) noexcept {
  size_t bytes = storage::key_string_bytes(data, static_cast<size_t>(size), blank_padded != 0);
  const bool is_too_long = bytes >= storage::kMaxKeyBytes;  // no row has such a key
  if (is_too_long && (flags & kKeyBound) == 0) return -1;
  bytes = std::min<size_t>(bytes, storage::kMaxKeyBytes - 1);
  if (bytes > 0) std::memcpy(out, data, bytes);
  out[bytes] = is_too_long ? 1 : 0;
  if ((flags & kKeyDescending) != 0)
    for (size_t i = 0; i <= bytes; i++) out[i] = static_cast<char>(~out[i]);
  return static_cast<int64_t>(bytes) + 1;
}

int64_t rt_key_bytea(char* out, const char* data, int64_t size, int64_t flags) noexcept {
  char* end = out;
  bool is_too_long = false;
  if ((flags & kKeyTrailed) != 0) size = static_cast<int64_t>(ordered_part({data, static_cast<size_t>(size)}).size());
  for (int64_t i = 0; i < size; i++) {
    const size_t bytes = (data[i] == 0 ? 2 : 1) + 2;  // with the end
    is_too_long = static_cast<size_t>(end - out) + bytes > storage::kMaxKeyBytes;
    if (is_too_long) break;
    *end++ = data[i];
    if (data[i] == 0) *end++ = static_cast<char>(0xff);
  }
  if (is_too_long && (flags & kKeyBound) == 0) return -1;
  *end++ = 0;
  *end++ = is_too_long ? 1 : 0;
  if ((flags & kKeyDescending) != 0)
    for (char* p = out; p < end; p++) *p = static_cast<char>(~*p);
  return end - out;
}

int64_t rt_key_decimal(char* out, int64_t lo, int64_t hi, int64_t scale, int64_t descending) noexcept {
  Decimal value{join(lo, hi), static_cast<int32_t>(scale)};
  char* end = is_short(value) ? storage::put_key_decimal(out, value.value, value.scale) : put_special_key(out, value);
  if (descending != 0)
    for (char* p = out; p < end; p++) *p = static_cast<char>(~*p);
  return end - out;
}

// --- changes ---

int64_t rt_insert_begin(ExecContext* c, storage::TablePartition* partition) noexcept {
  storage::Tid tid = storage::insert_begin(partition, c->log);
  if (tid == storage::kNoTid) [[unlikely]]
    fail_change(c, c->log->last_result());
  return static_cast<int64_t>(tid);
}
int32_t rt_insert_finish(ExecContext* c, storage::TablePartition* partition, int64_t tid) noexcept {
  return fail_change(c, storage::insert_finish(partition, static_cast<storage::Tid>(tid), c->log));
}
int32_t rt_insert_key(ExecContext* c, storage::TablePartition* partition, int64_t index, int64_t tid) noexcept {
  return fail_change(
      c, storage::insert_one_key(partition, static_cast<uint32_t>(index), static_cast<storage::Tid>(tid), c->log));
}
int32_t rt_insert_words(ExecContext* c, storage::TablePartition* partition, int64_t index, int64_t first,
                        int64_t second, int64_t tid) noexcept {
  return fail_change(c, storage::insert_one_key(partition, static_cast<uint32_t>(index), static_cast<uint64_t>(first),
                                                static_cast<uint64_t>(second), static_cast<storage::Tid>(tid), c->log));
}
int32_t rt_undo_room(ExecContext* c, int64_t bytes) noexcept {
  return c->log->make_undo_room(static_cast<size_t>(bytes)) ? 0 : fail_change(c, c->log->last_result());
}
int32_t rt_redo_room(ExecContext* c, int64_t bytes) noexcept {
  return c->log->make_redo_room(static_cast<size_t>(bytes)) ? 0 : fail_change(c, c->log->last_result());
}
int64_t rt_put_text(char* out, const char* data, int64_t size) noexcept {
  return reinterpret_cast<int64_t>(storage::put_text_value(out, data, static_cast<uint64_t>(size)));
}
void rt_insert_abandon(ExecContext* c, storage::TablePartition* partition, int64_t tid) noexcept {
  storage::insert_abandon(partition, static_cast<storage::Tid>(tid), c->log);
}
int32_t rt_store_text(ExecContext* c, storage::TablePartition* partition, char* cell, int64_t column, const char* data,
                      int64_t size) noexcept {
  const storage::ColumnAccess& access = partition->table->layout().columns[static_cast<size_t>(column)];
  return fail_change(c, storage::store_string(partition, c->log, cell, &access, data, static_cast<uint64_t>(size)));
}
int32_t rt_store_cell(ExecContext* c, storage::TablePartition* partition, char* cell, int64_t column,
                      const Datum* value) noexcept {
  const SqlType& type = partition->table->schema().columns[static_cast<size_t>(column)].type;
  return fail_change(c, storage::store_array(partition, c->log, cell, array_of(*value), type));
}
int32_t rt_load_cell(ExecContext* c, storage::TablePartition* partition, int64_t tid, int64_t column) noexcept {
  Datum value = storage::read_column(partition, static_cast<storage::Tid>(tid), static_cast<uint32_t>(column));
  const SqlType& type = partition->table->schema().columns[static_cast<size_t>(column)].type;
  if (!value.null && !copy_datum(c, type, &value)) return fail_memory(c);
  c->value[0] = value.lo;
  return 0;
}
int32_t rt_update_begin(ExecContext* c, storage::TablePartition* partition, int64_t tid, int64_t descriptor) noexcept {
  return fail_change(c, storage::update_begin(partition, static_cast<storage::Tid>(tid),
                                              c->program->update_descriptor(descriptor), c->log));
}
int32_t rt_update_finish(ExecContext* c, storage::TablePartition* partition, int64_t tid, int64_t descriptor) noexcept {
  return fail_change(c, storage::update_finish(partition, static_cast<storage::Tid>(tid),
                                               c->program->update_descriptor(descriptor), c->log));
}
int32_t rt_delete(ExecContext* c, storage::TablePartition* partition, int64_t tid) noexcept {
  return fail_change(c, storage::delete_tuple(partition, static_cast<storage::Tid>(tid), c->log));
}
int64_t rt_find_conflict(storage::TablePartition* partition, int64_t tid, int64_t indexes) noexcept {
  return static_cast<int64_t>(
      storage::find_conflict(partition, static_cast<storage::Tid>(tid), static_cast<uint32_t>(indexes)));
}

// --- control ---

int32_t rt_call(ExecContext* c, int64_t callee, const Datum* args, Datum* results) noexcept {
  return c->program->callee(static_cast<size_t>(callee)).run_nested(c, args, results);
}
void rt_mark(ExecContext* c, storage::ChangeLog::Mark* mark) noexcept { *mark = c->log->mark(); }
void rt_rollback_to(ExecContext* c, const storage::ChangeLog::Mark* mark) noexcept { c->log->rollback_to(*mark); }

// states: six bytes each, five of a SQLSTATE or "OTHERS". A state that ends in 000 stands for its class.
int32_t rt_catchable(ExecContext* c, const char* states, int64_t count) noexcept {
  if (!c->error.catchable) return 0;
  for (int64_t i = 0; i < count; i++) {
    std::string_view state(states + i * 6, states[i * 6 + 5] == '\0' ? 5 : 6);
    if (state == "OTHERS") {
      if (c->error.sqlstate != "57014" && c->error.sqlstate != "P0004") return 1;
    } else if (state == c->error.sqlstate ||
               (state.substr(2) == "000" && state.substr(0, 2) == std::string_view(c->error.sqlstate).substr(0, 2))) {
      return 1;
    }
  }
  return 0;
}

int32_t rt_error_fields(ExecContext* c, Datum* out) noexcept {
  ErrorState error = std::move(c->error);
  c->error = ErrorState{};
  const std::string* fields[] = {&error.sqlstate,   &error.message,  &error.detail, &error.hint,   &error.column,
                                 &error.constraint, &error.datatype, &error.table,  &error.schema, &error.context};
  for (size_t i = 0; i < std::size(fields); i++) {
    out[i] = string_datum(fields[i]->data(), fields[i]->size());
    if (!copy_datum(c, make_type(TypeId::kText), &out[i])) return fail_memory(c);
  }
  return 0;
}

int32_t rt_raise(ExecContext* c, int64_t level, const char* format, int64_t size, const Datum* args, int64_t count,
                 const Datum* options) noexcept {
  auto option = [&](int i) { return options[i].null ? std::string() : std::string(text_of(options[i])); };
  std::string text;
  int64_t used = 0;
  for (int64_t i = 0; i < size; i++) {
    if (format[i] != '%') {
      text += format[i];
    } else if (i + 1 < size && format[i + 1] == '%') {
      text += '%';
      i++;
    } else if (used < count) {
      text += args[used].null ? std::string_view("<NULL>") : text_of(args[used]);
      used++;
    }
  }
  if (!options[1].null) text = option(1);
  if (level < 5) {
    static constexpr const char* kNames[] = {"DEBUG", "LOG", "INFO", "NOTICE", "WARNING"};
    std::string_view least = "notice";
    if (const StatementSettings* settings = StatementSettings::current; settings != nullptr)
      if (const std::string* given = settings->find("client_min_messages"); given != nullptr) least = *given;
    const bool shown = shows_message(least, kNames[level]);
    if (!shown || c->notices == nullptr || c->notices->size() >= 1000) return 0;
    if (!options[2].null) text += "\nDETAIL:  " + option(2);
    if (!options[3].null) text += "\nHINT:  " + option(3);
    c->notices->push_back(absl::StrCat(kNames[level], ":  ", text));
    return 0;
  }
  std::string state = option(0);
  if (state.size() != 5) state = "P0001";
  int32_t outcome = c->fail(state, text);
  c->error.detail = option(2);
  c->error.hint = option(3);
  std::string* names[] = {&c->error.column, &c->error.constraint, &c->error.datatype, &c->error.table,
                          &c->error.schema};
  for (int i = 0; i < 5; i++) *names[i] = option(4 + i);
  return outcome;
}

int32_t rt_emit(ExecContext* c, const Datum* row) noexcept { return emit_row(c, row); }

void rt_count_rows(ExecContext* c, int64_t rows) noexcept { c->affected_rows = static_cast<uint64_t>(rows); }

}  // extern "C"

}  // namespace

#define SCYPER_DEFINE_RUNTIME(name, result, words, pure) \
  const ir::External k_##name{#name, reinterpret_cast<void*>(&name), ir::Type::result, words, pure};
// functions of runtime/rows.cc, runtime/arrays.cc and runtime/aggregates.cc
extern "C" {
int32_t rt_rows_create(ExecContext*, const SqlType*, int64_t) noexcept;
void rt_note_transition(int64_t, int64_t) noexcept;
int32_t rt_execute(ExecContext*, const char*, int64_t, const Datum*, const SqlType*, int64_t, int64_t) noexcept;
int32_t rt_rows_match(ExecContext*, const RowSet*, const SqlType*, int64_t) noexcept;
int32_t rt_rows_fetch(ExecContext*, const RowSet*, int64_t, const SqlType*, int64_t, Datum*) noexcept;
int32_t rt_rows_fields(ExecContext*, const RowSet*, int64_t, const char*, int64_t, Datum*) noexcept;
int32_t rt_row_set(ExecContext*, RowBuffer*, const char*) noexcept;
int32_t rt_portal_open(ExecContext*, RowSet*, Datum*, int64_t) noexcept;
int32_t rt_portal_fetch(ExecContext*, const Datum*, int64_t, const Datum*, int64_t) noexcept;
int32_t rt_portal_close(ExecContext*, const Datum*) noexcept;
int32_t rt_portal_current(ExecContext*, const Datum*, const char*, int64_t, Datum*) noexcept;
int32_t rt_end_transaction(ExecContext*, int64_t, int64_t) noexcept;
int32_t rt_rows_append(ExecContext*, RowBuffer*, const Datum*) noexcept;
uint8_t rt_rows_pass_limit(const RowBuffer*, const SortKey*, int64_t, int64_t, int64_t) noexcept;
int32_t rt_rows_sort(ExecContext*, RowBuffer*, const SortKey*, int64_t) noexcept;
int32_t rt_table_create(ExecContext*, const SqlType*, int64_t, int64_t) noexcept;
int32_t rt_table_find(ExecContext*, KeyTable*, const Datum*, int64_t) noexcept;
int32_t rt_table_add(ExecContext*, KeyTable*, const Datum*) noexcept;
int32_t rt_array_make(ExecContext*, const SqlType*, const Datum*, int64_t) noexcept;
int64_t rt_array_get(const ArrayValue*, int64_t) noexcept;
int32_t rt_array_set(ExecContext*, ArrayValue*, int64_t, const Datum*, const SqlType*) noexcept;
int32_t rt_array_append(ExecContext*, ArrayValue*, const Datum*, const SqlType*) noexcept;
int32_t rt_string_agg(ExecContext*, Datum*, const char*, int64_t, const Datum*) noexcept;
uint8_t rt_rows_same(const RowBuffer*, int64_t, int64_t) noexcept;
int32_t rt_aggregate_step(ExecContext*, void*, int64_t, const Datum*, const SqlType*) noexcept;
int32_t rt_aggregate_finish(ExecContext*, const void*, int64_t, const SqlType*, Datum*) noexcept;
int32_t rt_ordered_set(ExecContext*, int64_t, const RowBuffer*, const SortKey*, Datum*) noexcept;
int32_t rt_ordered_begin(ExecContext*, void*, const Datum*, const SqlType*) noexcept;
int32_t rt_ordered_add(ExecContext*, void*, const Datum*, const SqlType*) noexcept;
int32_t rt_ordered_finish(ExecContext*, const void*, int64_t, const SqlType*, int64_t, Datum*) noexcept;
}
SCYPER_RUNTIME_FUNCTIONS(SCYPER_DEFINE_RUNTIME)
#undef SCYPER_DEFINE_RUNTIME

}  // namespace scyper::query
