#include "query/column_batch.h"

#include <cstring>
#include <deque>
#include <memory>
#include <vector>

#include "storage/big_numeric.h"

namespace scyper::query {
namespace {

// Flags of a column.
constexpr uint8_t kHasNulls = 1;   // a bitmap follows
constexpr uint8_t kIsWide = 2;     // numeric: 16 bytes a value instead of 8
constexpr uint8_t kHasScales = 4;  // numeric: a scale byte per value instead of one for all
constexpr uint8_t kIsLong = 8;     // numeric: some are more than 16 bytes and a scale (storage/big_numeric.h)
constexpr int kArrayDepthMax = 1;  // arrays have one dimension

enum class Form : uint8_t { kNothing, kFixed, kWide, kNumeric, kText, kArray };

// Of types of which both halves of the Datum count.
constexpr size_t kWideBytes = 16;

Form form_of(TypeId type) {
  switch (kept_as(type)) {
    case TypeId::kNumeric:
      return Form::kNumeric;
    case TypeId::kArray:
      return Form::kArray;
    case TypeId::kVoid:
    case TypeId::kRecord:
      return Form::kNothing;
    case TypeId::kUnknown:
    case TypeId::kChar:
    case TypeId::kVarchar:
    case TypeId::kText:
    case TypeId::kBytea:
    case TypeId::kJsonb:
      return Form::kText;
    case TypeId::kUuid:
    case TypeId::kInterval:
      return Form::kWide;
    default:
      return Form::kFixed;
  }
}

size_t width_of(TypeId type) {
  switch (type) {
    case TypeId::kBool:
      return 1;
    case TypeId::kInt2:
      return 2;
    case TypeId::kInt4:
    case TypeId::kDate:
      return 4;
    default:
      return 8;
  }
}

template <typename T>
void put(std::string* out, T value) {
  out->append(reinterpret_cast<const char*>(&value), sizeof value);
}

// One column of rows that lie `stride` Datums apart.
class ColumnWriter {
 public:
  ColumnWriter(const SqlType& type, const Datum* first, size_t count, size_t stride, std::string* out)
      : type_(type), first_(first), count_(count), stride_(stride), out_(out) {}

  void write() {
    const Form form = form_of(type_.id);
    uint8_t flags = 0;
    for (size_t i = 0; i < count_; ++i) flags |= flags_of(form, at(i));
    out_->push_back(static_cast<char>(flags));
    if ((flags & kHasNulls) != 0) write_nulls();
    if (form == Form::kFixed) write_fixed();
    if (form == Form::kWide) write_wide();
    if (form == Form::kNumeric) write_numeric(flags);
    if (form == Form::kText || form == Form::kArray) write_variable(form);
  }

 private:
  const Datum& at(size_t i) const { return first_[i * stride_]; }

  uint8_t flags_of(Form form, const Datum& value) const {
    if (value.null) return kHasNulls;
    if (form != Form::kNumeric) return 0;
    if (is_special_numeric(value)) return kIsLong;
    uint8_t flags = value.hi != (value.lo < 0 ? -1 : 0) ? kIsWide : 0;
    return value.scale == scale() ? flags : flags | kHasScales;
  }
  // Of the first value that is not NULL.
  int32_t scale() const {
    for (size_t i = 0; i < count_; ++i) {
      if (!at(i).null) return at(i).scale;
    }
    return 0;
  }

  void write_nulls() {
    const size_t start = out_->size();
    out_->append((count_ + 7) / 8, '\0');
    for (size_t i = 0; i < count_; ++i) {
      if (at(i).null) (*out_)[start + i / 8] = static_cast<char>((*out_)[start + i / 8] | (1 << (i % 8)));
    }
  }

  void write_fixed() {
    const size_t width = width_of(type_.id);
    const size_t start = out_->size();
    out_->resize(start + count_ * width);
    char* to = out_->data() + start;
    for (size_t i = 0; i < count_; ++i, to += width) {
      const int64_t value = at(i).null ? 0 : at(i).lo;
      std::memcpy(to, &value, width);  // little endian
    }
  }

  void write_wide() {
    for (size_t i = 0; i < count_; ++i) {
      put<int64_t>(out_, at(i).null ? 0 : at(i).lo);
      put<int64_t>(out_, at(i).null ? 0 : at(i).hi);
    }
  }

  // Scale, 16 bytes and the bytes that a long one points to, for each that is not NULL.
  void write_long_numeric() {
    for (size_t i = 0; i < count_; ++i) {
      const Datum& value = at(i);
      if (value.null) continue;
      const uint64_t bytes = big_numeric_bytes(value);
      put<int32_t>(out_, value.scale);
      put<int64_t>(out_, bytes == 0 ? value.lo : 0);
      put<int64_t>(out_, value.hi);
      if (bytes != 0) out_->append(value.data(), bytes);
    }
  }

  void write_numeric(uint8_t flags) {
    if ((flags & kIsLong) != 0) return write_long_numeric();
    if ((flags & kHasScales) == 0) {
      out_->push_back(static_cast<char>(scale()));
    } else {
      for (size_t i = 0; i < count_; ++i) out_->push_back(static_cast<char>(at(i).null ? 0 : at(i).scale));
    }
    for (size_t i = 0; i < count_; ++i) {
      put<int64_t>(out_, at(i).null ? 0 : at(i).lo);
      if ((flags & kIsWide) != 0) put<int64_t>(out_, at(i).null ? 0 : at(i).hi);
    }
  }

  // Ends of the values within the bytes behind them.
  void write_variable(Form form) {
    const size_t ends = out_->size();
    out_->resize(ends + count_ * sizeof(uint32_t));
    const size_t start = out_->size();
    for (size_t i = 0; i < count_; ++i) {
      const Datum& value = at(i);
      if (!value.null && form == Form::kText) out_->append(value.data(), value.size());
      if (!value.null && form == Form::kArray) write_array(*reinterpret_cast<const ArrayValue*>(value.lo));
      const auto end = static_cast<uint32_t>(out_->size() - start);
      std::memcpy(out_->data() + ends + i * sizeof end, &end, sizeof end);
    }
  }

  void write_array(const ArrayValue& array) {
    put<int32_t>(out_, array.size);
    put<int32_t>(out_, array.lower_bound);
    if (array.size == 0) return;
    ColumnWriter(element_of(type_), array.elements, static_cast<size_t>(array.size), 1, out_).write();
  }

  const SqlType type_;
  const Datum* const first_;
  const size_t count_;
  const size_t stride_;
  std::string* const out_;
};

// Arrays while their batch is read.
struct ReadArrays {
  std::deque<ArrayValue> values;
  std::vector<std::unique_ptr<Datum[]>> elements;
};

class ColumnReader {
 public:
  ColumnReader(std::string_view* bytes, ReadArrays* arrays) : bytes_(bytes), arrays_(arrays) {}

  // False when malformed. Values that point into the batch are valid as long as it is.
  bool read(const SqlType& type, size_t count, Datum* first, size_t stride, int depth) {
    uint8_t flags;
    if (!take(&flags)) return false;
    const char* nulls = nullptr;
    if ((flags & kHasNulls) != 0 && (nulls = take_bytes((count + 7) / 8)) == nullptr) return false;
    const auto is_null = [&](size_t i) { return nulls != nullptr && ((nulls[i / 8] >> (i % 8)) & 1) != 0; };
    for (size_t i = 0; i < count; ++i) first[i * stride] = is_null(i) ? null_datum() : int_datum(0);
    switch (form_of(type.id)) {
      case Form::kNothing:
        for (size_t i = 0; i < count; ++i) first[i * stride] = null_datum();
        return true;
      case Form::kFixed:
        return read_fixed(type.id, count, first, stride);
      case Form::kWide:
        return read_wide(count, first, stride);
      case Form::kNumeric:
        return read_numeric(flags, count, first, stride);
      case Form::kText:
      case Form::kArray:
        return read_variable(type, count, first, stride, depth);
    }
    return false;
  }

 private:
  const char* take_bytes(size_t size) {
    if (bytes_->size() < size) return nullptr;
    const char* data = bytes_->data();
    bytes_->remove_prefix(size);
    return data;
  }
  template <typename T>
  bool take(T* value) {
    const char* data = take_bytes(sizeof(T));
    if (data != nullptr) std::memcpy(value, data, sizeof(T));
    return data != nullptr;
  }

  bool read_fixed(TypeId type, size_t count, Datum* first, size_t stride) {
    const size_t width = width_of(type);
    const char* data = take_bytes(count * width);
    if (data == nullptr) return false;
    const int shift = static_cast<int>(64 - 8 * width);
    for (size_t i = 0; i < count; ++i, data += width) {
      Datum& value = first[i * stride];
      if (value.null) continue;
      uint64_t raw = 0;
      std::memcpy(&raw, data, width);
      value = int_datum(static_cast<int64_t>(raw << shift) >> shift);
      if (type == TypeId::kFloat8) value.hi = 0;
    }
    return true;
  }

  bool read_wide(size_t count, Datum* first, size_t stride) {
    const char* data = take_bytes(count * kWideBytes);
    if (data == nullptr) return false;
    for (size_t i = 0; i < count; ++i, data += kWideBytes) {
      Datum& value = first[i * stride];
      if (value.null) continue;
      std::memcpy(&value.lo, data, sizeof value.lo);
      std::memcpy(&value.hi, data + sizeof value.lo, sizeof value.hi);
    }
    return true;
  }

  bool read_long_numeric(size_t count, Datum* first, size_t stride) {
    for (size_t i = 0; i < count; ++i) {
      Datum& value = first[i * stride];
      if (value.null) continue;
      if (!take(&value.scale) || !take(&value.lo) || !take(&value.hi) || !is_numeric_form(value.hi, value.scale))
        return false;
      const uint64_t bytes = big_numeric_bytes(value);
      if (bytes == 0) continue;
      const char* data = take_bytes(bytes);
      if (data == nullptr) return false;
      value.lo = reinterpret_cast<int64_t>(data);
    }
    return true;
  }

  bool read_numeric(uint8_t flags, size_t count, Datum* first, size_t stride) {
    if ((flags & kIsLong) != 0) return read_long_numeric(count, first, stride);
    const bool has_scales = (flags & kHasScales) != 0, is_wide = (flags & kIsWide) != 0;
    const char* scales = take_bytes(has_scales ? count : 1);
    const char* data = scales == nullptr ? nullptr : take_bytes(count * (is_wide ? 16 : 8));
    if (data == nullptr) return false;
    for (size_t i = 0; i < count; ++i, data += is_wide ? 16 : 8) {
      Datum& value = first[i * stride];
      if (value.null) continue;
      std::memcpy(&value.lo, data, sizeof value.lo);
      value.hi = value.lo < 0 ? -1 : 0;
      if (is_wide) std::memcpy(&value.hi, data + sizeof value.lo, sizeof value.hi);
      value.scale = static_cast<uint8_t>(scales[has_scales ? i : 0]);
    }
    return true;
  }

  bool read_variable(const SqlType& type, size_t count, Datum* first, size_t stride, int depth) {
    const char* ends = take_bytes(count * sizeof(uint32_t));
    if (ends == nullptr) return false;
    uint32_t from = 0;
    std::string_view all = *bytes_;
    for (size_t i = 0; i < count; ++i) {
      uint32_t end;
      std::memcpy(&end, ends + i * sizeof end, sizeof end);
      if (end < from || end > all.size()) return false;
      Datum& value = first[i * stride];
      if (!value.null && type.id == TypeId::kArray) {
        if (!read_array(type, all.substr(from, end - from), &value, depth)) return false;
      } else if (!value.null) {
        value = string_datum(all.data() + from, end - from);
      }
      from = end;
    }
    bytes_->remove_prefix(from);
    return true;
  }

  bool read_array(const SqlType& type, std::string_view bytes, Datum* out, int depth) {
    ColumnReader inner(&bytes, arrays_);
    int32_t size, lower_bound;
    if (depth >= kArrayDepthMax || !inner.take(&size) || !inner.take(&lower_bound) || size < 0) return false;
    if (static_cast<size_t>(size) > bytes.size() * 8) return false;
    arrays_->elements.emplace_back(new Datum[static_cast<size_t>(size) + 1]);
    Datum* elements = arrays_->elements.back().get();
    if (size > 0 && !inner.read(element_of(type), static_cast<size_t>(size), elements, 1, depth + 1)) return false;
    arrays_->values.push_back(ArrayValue{size, size, lower_bound, type.element, elements});
    *out = Datum{reinterpret_cast<int64_t>(&arrays_->values.back()), 0, 0, 0, {}};
    return true;
  }

  std::string_view* const bytes_;
  ReadArrays* const arrays_;
};

}  // namespace

void encode_columns(std::span<const SqlType> types, const Datum* rows, size_t row_count, std::string* out) {
  put<uint32_t>(out, static_cast<uint32_t>(row_count));
  for (size_t c = 0; c < types.size(); ++c) {
    ColumnWriter(types[c], rows + c, row_count, types.size(), out).write();
  }
}

uint32_t row_count_of_columns(std::string_view bytes) {
  uint32_t count = 0;
  if (bytes.size() >= sizeof count) std::memcpy(&count, bytes.data(), sizeof count);
  return count;
}

Status decode_columns(std::span<const SqlType> types, std::string_view bytes, ResultSet* result) {
  const auto malformed = [] { return sql_error("08P01", "malformed columns"); };
  const size_t count = row_count_of_columns(bytes);
  if (bytes.size() < sizeof(uint32_t) || count > bytes.size() * 8 || (types.empty() && count != 0)) return malformed();
  bytes.remove_prefix(sizeof(uint32_t));
  std::vector<Datum> rows(count * types.size());
  ReadArrays arrays;
  ColumnReader reader(&bytes, &arrays);
  for (size_t c = 0; c < types.size(); ++c) {
    if (!reader.read(types[c], count, rows.data() + c, types.size(), 0)) return malformed();
  }
  if (!bytes.empty()) return malformed();
  for (size_t i = 0; i < rows.size(); ++i) result->append(types[i % types.size()], rows[i]);
  return Status();
}

}  // namespace scyper::query
