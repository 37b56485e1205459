#include "arguments.h"

#include <cstring>

#include "replay/record.h"

namespace scyper::replay {

namespace {

constexpr uint64_t kMaxArrayElements = 1u << 27;  // PostgreSQL's MaxArraySize

Status damaged() { return sql_error("XX001", "damaged redo record: arguments"); }

bool take_signed(std::string_view* bytes, int64_t* value) {
  uint64_t bits;
  if (!take_varint(bytes, &bits)) return false;
  *value = static_cast<int64_t>((bits >> 1) ^ (~(bits & 1) + 1));
  return true;
}

bool take_signed128(std::string_view* bytes, __int128* value) {
  unsigned __int128 bits = 0;
  for (unsigned shift = 0; shift < 128 && !bytes->empty(); shift += 7) {
    const auto byte = static_cast<uint8_t>(bytes->front());
    bytes->remove_prefix(1);
    bits |= static_cast<unsigned __int128>(byte & 0x7fu) << shift;
    if (byte < 0x80) {
      *value = static_cast<__int128>((bits >> 1) ^ (~(bits & 1) + 1));
      return true;
    }
  }
  return false;
}

bool is_text(TypeId type) { return is_string(type) || type == TypeId::kUnknown; }

bool take_scalar(TypeId type, std::string_view* bytes, Datum* value) {
  if (is_text(type)) {
    uint64_t size;
    if (!take_varint(bytes, &size) || size > bytes->size()) return false;
    *value = string_datum(bytes->data(), size);
    bytes->remove_prefix(size);
    return true;
  }
  if (type == TypeId::kFloat8) {
    if (bytes->size() < 8) return false;
    double number;
    std::memcpy(&number, bytes->data(), 8);
    *value = float_datum(number);
    bytes->remove_prefix(8);
    return true;
  }
  if (type == TypeId::kNumeric) {
    int64_t scale;
    __int128 number;
    if (!take_signed(bytes, &scale) || scale != static_cast<int32_t>(scale) || !take_signed128(bytes, &number)) {
      return false;
    }
    *value = int128_datum(number, static_cast<int32_t>(scale));
    return true;
  }
  int64_t number;
  if (!take_signed(bytes, &number)) return false;
  *value = int_datum(number);
  return true;
}

bool take_array(const SqlType& type, std::string_view* bytes, ArrayArgument* array) {
  uint64_t size;
  int64_t lower_bound;
  if (!take_varint(bytes, &size) || !take_signed(bytes, &lower_bound)) return false;
  const uint64_t bitmap_bytes = (size + 7) / 8;
  if (size > kMaxArrayElements || bitmap_bytes > bytes->size()) return false;
  const std::string_view bitmap = bytes->substr(0, bitmap_bytes);
  bytes->remove_prefix(bitmap_bytes);
  array->elements.assign(size, null_datum());
  for (size_t i = 0; i < size; ++i) {
    if ((bitmap[i / 8] >> (i % 8) & 1) != 0) continue;
    if (!take_scalar(type.element, bytes, &array->elements[i])) return false;
  }
  array->value.size = array->value.capacity = static_cast<int32_t>(size);
  array->value.lower_bound = static_cast<int32_t>(lower_bound);
  array->value.element = type.element;
  array->value.elements = array->elements.data();
  return true;
}

}  // namespace

Status read_arguments(const std::vector<SqlType>& types, std::string_view bytes, std::vector<Datum>* arguments,
                      std::vector<std::unique_ptr<ArrayArgument>>* arrays) {
  arguments->assign(types.size(), null_datum());
  arrays->clear();
  const size_t bitmap_bytes = (types.size() + 7) / 8;
  if (bytes.size() < bitmap_bytes) return damaged();
  const std::string_view bitmap = bytes.substr(0, bitmap_bytes);
  bytes.remove_prefix(bitmap_bytes);
  for (size_t i = 0; i < types.size(); ++i) {
    if ((bitmap[i / 8] >> (i % 8) & 1) != 0) continue;
    Datum& argument = (*arguments)[i];
    if (types[i].id == TypeId::kArray) {
      arrays->push_back(std::make_unique<ArrayArgument>());
      if (!take_array(types[i], &bytes, arrays->back().get())) return damaged();
      argument.lo = reinterpret_cast<int64_t>(&arrays->back()->value);
      argument.null = 0;
    } else if (!take_scalar(types[i].id, &bytes, &argument)) {
      return damaged();
    }
  }
  return bytes.empty() ? Status() : damaged();
}

}  // namespace scyper::replay
