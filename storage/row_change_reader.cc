#include <cstring>
#include <utility>

#include "storage/cell.h"
#include "storage/row_change.h"

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
  unsigned __int128 varint128(int bits) {
    unsigned __int128 value = 0;
    for (int shift = 0; at < end && shift < bits; shift += 7) {
      const auto byte = static_cast<uint8_t>(*at++);
      const auto part = static_cast<unsigned __int128>(byte & 0x7f);
      if (shift + 7 > bits && (part >> (bits - shift)) != 0) break;
      value |= part << shift;
      if ((byte & 0x80) == 0) return value;
    }
    ok = false;
    return 0;
  }
  uint64_t varint() { return static_cast<uint64_t>(varint128(64)); }
  uint32_t varint32() {
    const uint64_t value = varint();
    if (value > UINT32_MAX) ok = false;
    return ok ? static_cast<uint32_t>(value) : 0;
  }
  int64_t signed64() {
    const uint64_t bits = varint();
    return static_cast<int64_t>((bits >> 1) ^ (~(bits & 1) + 1));
  }
  __int128 signed128() {
    const unsigned __int128 bits = varint128(128);
    return static_cast<__int128>((bits >> 1) ^ (~(bits & 1) + 1));
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
  Datum value(const SqlType& type);
  Datum array(const SqlType& type);
  void values(const TableSchema& schema, const std::vector<uint32_t>& columns, std::vector<Datum>* out);
};

Datum RowChangeReader::Input::value(const SqlType& type) {
  switch (cell_kind_of(type)) {
    case CellKind::kBool: {
      const char* byte = bytes(1);
      if (byte != nullptr && static_cast<uint8_t>(*byte) > 1) ok = false;
      return int_datum(ok ? *byte : 0);
    }
    case CellKind::kInt16:
    case CellKind::kInt32:
    case CellKind::kInt64: {
      const int bits = 8 * static_cast<int>(cell_bytes_of(type));
      const int64_t limit = bits == 64 ? INT64_MAX : (int64_t{1} << (bits - 1)) - 1;
      Datum datum = int_datum(integer(-limit - 1, limit));
      datum.scale = type.scale;
      return datum;
    }
    case CellKind::kFloat64: {
      const char* raw = bytes(8);
      return float_datum(raw != nullptr ? load_cell<double>(raw) : 0);
    }
    case CellKind::kInt128:
      return int128_datum(signed128(), type.scale);
    case CellKind::kDecimal: {
      const auto scale = static_cast<int32_t>(integer(INT32_MIN, INT32_MAX));
      return int128_datum(signed128(), scale);
    }
    case CellKind::kShortString:
    case CellKind::kLongString: {
      const uint64_t size = varint();
      const char* text = bytes(size);
      return string_datum(text, ok ? size : 0);
    }
    case CellKind::kArray:
      return array(type);
  }
  return null_datum();
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
    if ((bitmap[i / 8] >> (i % 8) & 1) == 0) array->elements[i] = value(element);
  }
  array->value.size = array->value.capacity = static_cast<int32_t>(size);
  array->value.elements = array->elements.data();
  Datum datum;
  datum.lo = reinterpret_cast<int64_t>(&array->value);
  datum.null = 0;
  arrays.push_back(std::move(array));
  return datum;
}

// NULL bitmap of the nullable ones among `columns`, then the values of those that are not NULL.
void RowChangeReader::Input::values(const TableSchema& schema, const std::vector<uint32_t>& columns,
                                    std::vector<Datum>* out) {
  uint64_t nullable = 0;
  for (uint32_t column : columns) nullable += schema.columns[column].not_null ? 0 : 1;
  const char* bitmap = bytes((nullable + 7) / 8);
  uint64_t bit = 0;
  for (uint32_t column : columns) {
    if (!ok) return;
    bool null = false;
    if (!schema.columns[column].not_null) {
      null = (bitmap[bit / 8] >> (bit % 8) & 1) != 0;
      ++bit;
    }
    out->push_back(null ? null_datum() : value(schema.columns[column].type));
  }
}

namespace {

std::vector<uint32_t> identity_of(const TableSchema& schema) {
  for (const IndexDef& index : schema.indexes) {
    if (index.primary) return index.columns;
  }
  return {static_cast<uint32_t>(schema.columns.size()) - 1};
}

}  // namespace

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
  if (kind == nullptr || *kind < 1 || *kind > 3) return damaged("kind of row change");
  change->kind = static_cast<RowChangeKind>(*kind);
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
  change->partition = in.varint32();
  if (change->kind != RowChangeKind::kInsert) {
    for (uint32_t column : identity_of(*schema)) change->key.push_back(in.value(schema->columns[column].type));
  }
  if (change->kind != RowChangeKind::kDelete) in.values(*schema, change->columns, &change->values);
  if (!in.ok) return damaged("values");
  return true;
}

}  // namespace scyper::storage
