#include "arguments.h"

#include <cstring>

#include "storage/big_numeric.h"

namespace scyper::replay {

namespace {

constexpr uint64_t kMaxArrayElements = 1u << 27;  // PostgreSQL's MaxArraySize

Status damaged() { return sql_error("XX001", "damaged redo record: arguments"); }

// What is left. Arguments are a good part of what replay does beside the transactions themselves, so this walks
// pointers.
struct Input {
  const char* at;
  const char* end;

  size_t left() const { return static_cast<size_t>(end - at); }
  bool varint(uint64_t* value) {
    if (at == end) return false;
    uint64_t byte = static_cast<uint8_t>(*at++);
    *value = byte & 0x7f;
    for (unsigned shift = 7; byte >= 0x80; shift += 7) {
      if (at == end || shift >= 64) return false;
      byte = static_cast<uint8_t>(*at++);
      *value |= (byte & 0x7f) << shift;
    }
    return true;
  }
  bool signed64(int64_t* value) {
    uint64_t bits;
    if (!varint(&bits)) return false;
    *value = static_cast<int64_t>((bits >> 1) ^ (~(bits & 1) + 1));
    return true;
  }
  bool signed128(__int128* value) {
    unsigned __int128 bits = 0;
    for (unsigned shift = 0; shift < 128 && at != end; shift += 7) {
      const auto byte = static_cast<uint8_t>(*at++);
      bits |= static_cast<unsigned __int128>(byte & 0x7fu) << shift;
      if (byte >= 0x80) continue;
      *value = static_cast<__int128>((bits >> 1) ^ (~(bits & 1) + 1));
      return true;
    }
    return false;
  }
};

bool take_scalar(TypeId type, Input* in, Datum* value) {
  int64_t number;
  switch (type) {
    case TypeId::kFloat8: {
      if (in->left() < 8) return false;
      double real;
      std::memcpy(&real, in->at, 8);
      *value = float_datum(real);
      in->at += 8;
      return true;
    }
    case TypeId::kNumeric: {
      __int128 scaled;
      if (!in->signed64(&number) || number != static_cast<int32_t>(number) || !in->signed128(&scaled)) return false;
      *value = int128_datum(scaled, static_cast<int32_t>(number));
      if (!is_numeric_form(value->hi, value->scale)) return false;
      const uint64_t bytes = big_numeric_bytes(*value);  // of a long one: behind
      if (bytes > in->left()) return false;
      if (bytes != 0) value->lo = reinterpret_cast<int64_t>(in->at);
      in->at += bytes;
      return true;
    }
    case TypeId::kUuid:
    case TypeId::kInterval: {
      int64_t days;
      if (!in->signed64(&number) || !in->signed64(&days)) return false;
      *value = int_datum(number);
      value->hi = days;
      return true;
    }
    default:
      break;
  }
  if (holds_bytes(type) || type == TypeId::kUnknown) {
    uint64_t size;
    if (!in->varint(&size) || size > in->left()) return false;
    *value = string_datum(in->at, size);
    in->at += size;
    return true;
  }
  if (!in->signed64(&number)) return false;
  *value = int_datum(number);
  return true;
}

bool bit_of(const char* bitmap, size_t bit) { return (static_cast<uint8_t>(bitmap[bit / 8]) >> (bit % 8) & 1) != 0; }

bool take_array(const SqlType& type, Input* in, ArrayArgument* array) {
  uint64_t size;
  int64_t lower_bound;
  if (!in->varint(&size) || !in->signed64(&lower_bound)) return false;
  // every element has a bit of the bitmap, so that the bytes bound the memory taken here
  if (size > kMaxArrayElements || (size + 7) / 8 > in->left()) return false;
  const char* bitmap = in->at;
  in->at += (size + 7) / 8;
  array->elements.resize(size);
  for (size_t i = 0; i < size; ++i) {
    if (bit_of(bitmap, i)) {
      array->elements[i] = null_datum();
    } else if (!take_scalar(type.element, in, &array->elements[i])) {
      return false;
    }
  }
  array->value.size = array->value.capacity = static_cast<int32_t>(size);
  array->value.lower_bound = static_cast<int32_t>(lower_bound);
  array->value.element = type.element;
  array->value.elements = array->elements.data();
  return true;
}

}  // namespace

Status ArgumentReader::read(const std::vector<SqlType>& types, std::string_view bytes) {
  const size_t count = types.size();
  if (arguments_.size() < count) arguments_.resize(count);
  if (bytes.size() < (count + 7) / 8) return damaged();
  const char* bitmap = bytes.data();
  Input in{bitmap + (count + 7) / 8, bitmap + bytes.size()};
  size_t arrays = 0;
  for (size_t i = 0; i < count; ++i) {
    Datum& argument = arguments_[i];
    if (bit_of(bitmap, i)) {
      argument = null_datum();
    } else if (types[i].id != TypeId::kArray) {
      if (!take_scalar(types[i].id, &in, &argument)) return damaged();
    } else {
      if (arrays == arrays_.size()) arrays_.push_back(std::make_unique<ArrayArgument>());
      ArrayArgument* array = arrays_[arrays++].get();
      if (!take_array(types[i], &in, array)) return damaged();
      argument = null_datum();
      argument.lo = reinterpret_cast<int64_t>(&array->value);
      argument.null = 0;
    }
  }
  return in.at == in.end ? Status() : damaged();
}

}  // namespace scyper::replay
