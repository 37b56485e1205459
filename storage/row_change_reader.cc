#include <cstring>
#include <utility>

#include "storage/cell.h"
#include "storage/row_change.h"
#include "storage/row_values.h"

namespace scyper::storage {
namespace {

constexpr uint32_t kMaxArrayElements = 1u << 27;  // PostgreSQL's MaxArraySize

Status damaged(const char* what) { return sql_error("XX001", std::string("damaged redo record: ") + what); }

struct ArrayMemory {
  ArrayValue value;
  std::vector<Datum> elements;
};

}  // namespace

// The bytes that are left. Remembers its first failure: what is read after it is zero.
struct RowChangeReader::Input {
  const char* at;
  const char* end;
  bool ok = true;
  std::vector<std::unique_ptr<ArrayMemory>> arrays;

  size_t left() const { return static_cast<size_t>(end - at); }
  uint64_t varint() {
    uint64_t value = 0;
    for (int shift = 0; at < end && shift < 64; shift += 7) {
      const auto byte = static_cast<uint8_t>(*at++);
      if (shift == 63 && byte > 1) break;
      value |= uint64_t{byte & 0x7fu} << shift;
      if ((byte & 0x80) == 0) return value;
    }
    ok = false;
    return 0;
  }
  uint32_t varint32() {
    const uint64_t value = varint();
    if (value > UINT32_MAX) ok = false;
    return ok ? static_cast<uint32_t>(value) : 0;
  }
  int64_t signed64() {
    const uint64_t bits = varint();
    return static_cast<int64_t>((bits >> 1) ^ (~(bits & 1) + 1));
  }
  const char* bytes(uint64_t size) {
    if (size > left()) {
      ok = false;
      return nullptr;
    }
    return std::exchange(at, at + size);
  }
  int64_t integer(int64_t lo, int64_t hi) {
    const int64_t value = signed64();
    if (value < lo || value > hi) ok = false;
    return value;
  }
  Datum fixed(const SqlType& type);
  Datum string();
  Datum array(const SqlType& type);
  void values(const TableSchema& schema, const std::vector<uint32_t>& columns, std::vector<Datum>* out);
};

// A value of fixed width: the cell's bytes.
Datum RowChangeReader::Input::fixed(const SqlType& type) {
  const CellKind kind = cell_kind_of(type);
  const char* raw = bytes(fixed_value_bytes(kind));
  if (raw == nullptr) return null_datum();
  if (kind == CellKind::kBool && static_cast<uint8_t>(*raw) > 1) ok = false;
  return read_cell(kind, raw, type);
}

Datum RowChangeReader::Input::string() {
  const uint64_t size = varint();
  const char* text = bytes(size);
  return string_datum(text, ok ? size : 0);
}

Datum RowChangeReader::Input::array(const SqlType& type) {
  auto array = std::make_unique<ArrayMemory>();
  const uint32_t size = varint32();
  array->value.lower_bound = static_cast<int32_t>(integer(INT32_MIN, INT32_MAX));
  array->value.element = type.element;
  // every element has a bit of the bitmap, so that its bytes bound the memory taken here
  const char* bitmap = size <= kMaxArrayElements ? bytes((uint64_t{size} + 7) / 8) : nullptr;
  if (bitmap == nullptr || !ok) {
    ok = false;
    return null_datum();
  }
  const SqlType element = element_of(type);
  array->elements.resize(size);
  for (uint32_t i = 0; i < size && ok; ++i) {
    if ((bitmap[i / 8] >> (i % 8) & 1) == 0) array->elements[i] = holds_bytes(element.id) ? string() : fixed(element);
  }
  array->value.size = array->value.capacity = static_cast<int32_t>(size);
  array->value.elements = array->elements.data();
  Datum datum;
  datum.lo = reinterpret_cast<int64_t>(&array->value);
  datum.null = 0;
  arrays.push_back(std::move(array));
  return datum;
}

// NULL bitmap of the nullable ones among `columns`, those of fixed width, the others.
void RowChangeReader::Input::values(const TableSchema& schema, const std::vector<uint32_t>& columns,
                                    std::vector<Datum>* out) {
  std::vector<int64_t> bits(columns.size(), -1);
  int64_t nullable = 0;
  for (size_t i = 0; i < columns.size(); ++i) {
    if (!schema.columns[columns[i]].not_null) bits[i] = nullable++;
  }
  const char* bitmap = bytes((static_cast<uint64_t>(nullable) + 7) / 8);
  out->resize(columns.size());
  for (const bool varying : {false, true}) {
    for (size_t i = 0; i < columns.size(); ++i) {
      if (!ok) return;
      const SqlType& type = schema.columns[columns[i]].type;
      const uint32_t width = fixed_value_bytes(cell_kind_of(type));
      if ((width == 0) != varying) continue;
      const bool null = bits[i] >= 0 && (bitmap[bits[i] / 8] >> (bits[i] % 8) & 1) != 0;
      if (null) {
        const char* zeros = bytes(width);
        for (uint32_t j = 0; ok && j < width; ++j) ok = zeros[j] == 0;
        (*out)[i] = null_datum();
      } else {
        (*out)[i] = !varying ? fixed(type) : holds_bytes(type.id) ? string() : array(type);
      }
    }
  }
}

RowChangeReader::RowChangeReader(std::string_view bytes, SchemaLookup lookup)
    : lookup_(std::move(lookup)), input_(new Input{bytes.data(), bytes.data() + bytes.size(), true, {}}) {}
RowChangeReader::~RowChangeReader() = default;

StatusOr<bool> RowChangeReader::next(RowChange* change) {
  Input& in = *input_;
  in.arrays.clear();
  change->key.clear();
  change->columns.clear();
  change->values.clear();
  if (in.ok && in.left() == 0) return false;
  const char* kind = in.bytes(1);
  if (kind == nullptr || *kind < 1 || *kind > 4) return damaged("kind of row change");
  change->kind = static_cast<RowChangeKind>(*kind);
  if (change->kind == RowChangeKind::kSequence) {
    change->sequence = SequenceId(in.varint32());
    change->state.changes = in.varint();
    change->state.value = in.signed64();
    const char* called = in.bytes(1);
    if (!in.ok) return damaged("sequence");
    change->state.is_called = *called != 0;
    return true;
  }
  change->table = TableId(in.varint32());
  const TableSchema* schema = in.ok ? lookup_(change->table) : nullptr;
  if (schema == nullptr) return damaged("unknown table");
  const size_t width = schema->columns.size();
  if (change->kind == RowChangeKind::kUpdate) {
    const uint64_t count = in.varint();
    uint64_t column = 0;
    for (uint64_t i = 0; i < count && in.ok; ++i) {
      const uint64_t step = in.varint();
      column += step;
      if (step > width || column >= width || (i > 0 && step == 0)) return damaged("changed column");
      change->columns.push_back(static_cast<uint32_t>(column));
    }
  } else if (change->kind == RowChangeKind::kInsert) {
    for (uint32_t i = 0; i < width; ++i) change->columns.push_back(i);
  }
  const char* partition = in.bytes(sizeof(uint16_t));
  if (partition != nullptr) change->partition = load_cell<uint16_t>(partition);
  if (change->kind != RowChangeKind::kInsert) in.values(*schema, identity_columns(*schema), &change->key);
  if (change->kind != RowChangeKind::kDelete) in.values(*schema, change->columns, &change->values);
  if (!in.ok) return damaged("values");
  return true;
}

}  // namespace scyper::storage
