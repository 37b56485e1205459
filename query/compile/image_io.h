#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "query/catalog.h"

namespace scyper::query {

// The same walk over the fields writes and reads them.
class ImageWriter {
 public:
  template <typename T>
  void number(T& value) {
    out_.append(reinterpret_cast<const char*>(&value), sizeof(T));
  }
  void text(std::string& value) {
    auto size = static_cast<uint32_t>(value.size());
    number(size);
    out_ += value;
  }
  uint32_t count(size_t size) {
    auto n = static_cast<uint32_t>(size);
    number(n);
    return n;
  }
  void name_enum(int32_t number) { enums_.push_back(number); }
  void enum_number(int32_t& value) {
    auto place = static_cast<uint32_t>(std::find(enums_.begin(), enums_.end(), value) - enums_.begin());
    number(place);
  }
  bool ok() const { return true; }
  std::string take() { return std::move(out_); }

 private:
  std::string out_;
  std::vector<int32_t> enums_;
};

class ImageReader {
 public:
  explicit ImageReader(std::string_view bytes) : bytes_(bytes) {}
  template <typename T>
  void number(T& value) {
    if (bytes_.size() < sizeof(T)) {
      ok_ = false;
      value = T();
      return;
    }
    std::memcpy(&value, bytes_.data(), sizeof(T));
    bytes_.remove_prefix(sizeof(T));
  }
  void text(std::string& value) {
    uint32_t size = 0;
    number(size);
    if (size > bytes_.size()) {
      ok_ = false;
      return;
    }
    value.assign(bytes_.substr(0, size));
    bytes_.remove_prefix(size);
  }
  uint32_t count(size_t) {
    uint32_t n = 0;
    number(n);
    if (n > bytes_.size()) ok_ = false;  // each takes a byte at least
    return ok_ ? n : 0;
  }
  void name_enum(int32_t number) { enums_.push_back(number); }
  void enum_number(int32_t& value) {
    uint32_t place = 0;
    number(place);
    if (place >= enums_.size()) ok_ = false;
    value = ok_ ? enums_[place] : 0;
  }
  bool ok() const { return ok_; }
  bool is_at_end() const { return bytes_.empty(); }

 private:
  std::string_view bytes_;
  std::vector<int32_t> enums_;
  bool ok_ = true;
};

template <typename IO>
void walk_bool(IO& io, bool& value) {
  uint8_t byte = value ? 1 : 0;
  io.number(byte);
  value = byte != 0;
}

template <typename IO, typename T>
void walk_id(IO& io, T& id) {
  auto value = id.value();
  io.number(value);
  id = T(value);
}

// Enums are numbered anew in each process: an image numbers them as it has them.
template <typename IO>
void walk(IO& io, SqlType& type) {
  io.number(type.id);
  io.number(type.element);
  io.number(type.precision);
  io.number(type.scale);
  if (type.id != TypeId::kEnum && type.element != TypeId::kEnum) return io.number(type.length);
  io.enum_number(type.length);
}

template <typename IO>
void walk(IO& io, std::vector<CheckRule>& checks) {
  checks.resize(io.count(checks.size()));
  for (CheckRule& check : checks) {
    io.text(check.name);
    io.text(check.expression);
  }
}

// Roles, owners and rights: at the end of a catalog's image, once its objects have been written or read.
void encode_access(ImageWriter* out, Catalog* catalog);
void decode_access(ImageReader* in, Catalog* catalog);
void encode_database(ImageWriter* out, const DatabaseDefinition& database);
void decode_database(ImageReader* in, DatabaseDefinition* database);
void encode_sequence_access(ImageWriter* out, const Catalog& catalog);
// Of views and foreign tables, in the order of the map.
void encode_view_options(ImageWriter* out, const Catalog& catalog);
bool decode_view_options(ImageReader* in, Catalog* catalog);  // false: they are damaged
void decode_sequence_access(ImageReader* in, Catalog* catalog);
void inherit_sequence_owners(Catalog* catalog);  // of an image that has none: those of their tables

}  // namespace scyper::query
