#include <cstring>
#include <span>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "arguments.h"
#include "replay/record.h"
#include "replay/request_window.h"
#include "storage/big_numeric.h"

namespace scyper::replay {

namespace {

void put_varint(std::string* out, unsigned __int128 value) {
  for (; value >= 0x80; value >>= 7) *out += static_cast<char>(static_cast<uint8_t>(value) | 0x80);
  *out += static_cast<char>(value);
}
void put_signed(std::string* out, __int128 value) {
  put_varint(out, (static_cast<unsigned __int128>(value) << 1) ^ static_cast<unsigned __int128>(value >> 127));
}

void put_null_bits(std::string* out, std::span<const Datum> values) {
  const size_t at = out->size();
  out->append((values.size() + 7) / 8, '\0');
  for (size_t i = 0; i < values.size(); ++i) {
    if (values[i].null != 0) (*out)[at + i / 8] = static_cast<char>((*out)[at + i / 8] | (1 << (i % 8)));
  }
}

void put_scalar(std::string* out, TypeId type, const Datum& value) {
  if (holds_bytes(type) || type == TypeId::kUnknown) {
    put_varint(out, value.size());
    out->append(value.data(), value.size());
  } else if (type == TypeId::kFloat8) {
    out->append(reinterpret_cast<const char*>(&value.lo), sizeof(value.lo));
  } else if (type == TypeId::kNumeric) {
    const uint64_t bytes = big_numeric_bytes(value);
    put_signed(out, value.scale);
    put_signed(out, bytes == 0 ? value.int128() : static_cast<__int128>(value.hi) << 64);
    if (bytes != 0) out->append(value.data(), bytes);
  } else {
    put_signed(out, value.lo);
    if (type == TypeId::kInterval || type == TypeId::kUuid) put_signed(out, value.hi);
  }
}

void put_value(std::string* out, const SqlType& type, const Datum& value) {
  if (type.id != TypeId::kArray) return put_scalar(out, type.id, value);
  const auto& array = *reinterpret_cast<const ArrayValue*>(value.lo);
  const std::span<const Datum> elements(array.elements, static_cast<size_t>(array.size));
  put_varint(out, elements.size());
  put_signed(out, array.lower_bound);
  put_null_bits(out, elements);
  for (const Datum& element : elements) {
    if (element.null == 0) put_scalar(out, type.element, element);
  }
}

}  // namespace

std::string encode_rows(const query::ResultSet& result) {
  std::string out, row;
  const size_t width = result.columns.size();
  for (size_t i = 0; i < result.row_count(); ++i) {
    row.clear();
    put_null_bits(&row, {&result.value(i, 0), width});
    for (size_t column = 0; column < width; ++column) {
      const Datum& value = result.value(i, column);
      if (value.null == 0) put_value(&row, result.columns[column].type, value);
    }
    put_varint(&out, row.size());
    out += row;
  }
  return out;
}

uint64_t request_fingerprint(std::string_view text, const std::vector<SqlType>& types,
                             std::span<const Datum> arguments) {
  // one node splits a text into its statements where another runs it whole
  const size_t last = text.find_last_not_of("; \t\r\n");
  text = text.substr(0, last == std::string_view::npos ? 0 : last + 1);
  std::string bytes;
  put_varint(&bytes, text.size());
  bytes += text;
  put_null_bits(&bytes, arguments);
  for (size_t i = 0; i < arguments.size(); ++i) {
    if (arguments[i].null == 0) put_value(&bytes, types[i], arguments[i]);
  }
  const uint64_t hash = XXH3_64bits(bytes.data(), bytes.size());
  return hash == 0 ? 1 : hash;
}

Status decode_rows(std::string_view bytes, query::ResultSet* result) {
  std::vector<SqlType> types;
  for (const query::ResultColumn& column : result->columns) types.push_back(column.type);
  ArgumentReader reader;
  while (!bytes.empty()) {
    uint64_t size;
    if (!take_varint(&bytes, &size) || size > bytes.size()) return sql_error("XX001", "damaged rows of a request");
    SCYPER_RETURN_IF_ERROR(reader.read(types, bytes.substr(0, size)));
    for (size_t i = 0; i < types.size(); ++i) result->append(types[i], reader.arguments()[i]);
    bytes.remove_prefix(size);
  }
  return Status();
}

}  // namespace scyper::replay
