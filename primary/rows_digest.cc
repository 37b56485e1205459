#include "primary/rows_digest.h"

#include <string>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "query/value_text.h"

namespace scyper::primary {

namespace {

void append_scalar(std::string* out, const SqlType& type, const Datum& value) {
  if (holds_bytes(type.id)) {
    out->append(value.data(), value.size());
  } else if (is_moment(type.id) || is_integer(type.id) || is_float(type.id) || type.id == TypeId::kTime) {
    *out += std::to_string(value.lo);
  } else if (type.id == TypeId::kInterval) {
    *out += std::to_string(value.lo) + '/' + std::to_string(value.hi);
  } else {
    query::append_value(out, type, value);
  }
}

}  // namespace

void append_value_bytes(std::string* out, const SqlType& type, const Datum& value) {
  const size_t begin = out->size();
  if (value.null != 0) {
    *out += 'n';
  } else if (type.id == TypeId::kArray) {
    const auto& array = *reinterpret_cast<const ArrayValue*>(value.lo);
    *out += std::to_string(array.lower_bound) + '[';
    for (int32_t i = 0; i < array.size; ++i) append_value_bytes(out, element_of(type), array.elements[i]);
    *out += ']';
  } else {
    append_scalar(out, type, value);
  }
  // values of any bytes: their lengths part them
  *out += ':' + std::to_string(out->size() - begin) + ';';
}

RowsDigest RowsDigest::of(uint64_t count, uint64_t chain) {
  RowsDigest digest;
  digest.count_ = count;
  digest.chain_ = chain;
  return digest;
}

void RowsDigest::add(const query::ResultSet& rows, size_t first) {
  std::string row;
  const size_t width = rows.columns.size();
  for (size_t i = first; i < rows.row_count(); ++i) {
    row.clear();
    for (size_t column = 0; column < width; ++column)
      append_value_bytes(&row, rows.columns[column].type, rows.value(i, column));
    chain_ = XXH3_64bits_withSeed(row.data(), row.size(), chain_);
    ++count_;
  }
}

}  // namespace scyper::primary
