#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "storage/type.h"

namespace scyper::query {

struct ResultColumn {
  std::string name;
  SqlType type;           // of the values in a ResultSet
  SqlType declared = {};  // what SQL says, where values of that type leave as another (uuid as text); else kUnknown
};

// The rows that a statement or call returned, owning all that its Datums point to. Reusable: clear() keeps the memory.
// Threads: one at a time.
class ResultSet {
 public:
  std::vector<ResultColumn> columns;
  std::string command_tag;  // "SELECT 3", "INSERT 0 1", "CALL", "CREATE TABLE": as PostgreSQL's
  uint64_t affected_rows = 0;
  std::vector<std::string> notices;  // RAISE NOTICE and the like: "NOTICE: text"

  size_t row_count() const { return columns.empty() ? 0 : values_.size() / columns.size(); }
  const Datum& value(size_t row, size_t column) const { return values_[row * columns.size() + column]; }
  const std::vector<Datum>& values() const { return values_; }
  // Appends one value of a row (left to right), copying what it points to.
  void append(const SqlType& type, const Datum& value);
  void clear();
  // Forgets the rows but keeps columns and memory: for the next answer of the same statement.
  void clear_rows() {
    values_.clear();
    rewind();
    affected_rows = 0;
  }
  size_t bytes() const { return used_bytes_; }

 private:
  char* allocate(size_t bytes) {
    if (static_cast<size_t>(free_.end - free_.begin) < bytes) [[unlikely]]
      return allocate_slow(bytes);
    char* result = free_.begin;
    free_.begin += bytes;
    return result;
  }
  char* allocate_slow(size_t bytes);
  Datum copy_text(const Datum& text);
  ArrayValue* copy_array(const SqlType& type, const ArrayValue& array);
  // All blocks are free again.
  void rewind();

  std::vector<Datum> values_;
  std::vector<std::unique_ptr<char[]>> blocks_;
  std::vector<size_t> block_sizes_;
  size_t block_ = 0;  // block in use
  // What is free of it; of a result that was moved from: nothing.
  struct Free {
    char* begin = nullptr;
    char* end = nullptr;
    Free() = default;
    Free(Free&& other) noexcept : begin(std::exchange(other.begin, nullptr)), end(std::exchange(other.end, nullptr)) {}
    Free& operator=(Free&& other) noexcept {
      begin = std::exchange(other.begin, nullptr);
      end = std::exchange(other.end, nullptr);
      return *this;
    }
  };
  Free free_;
  size_t used_bytes_ = 0;
};

}  // namespace scyper::query
