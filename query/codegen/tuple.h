#pragma once

#include <cstdint>
#include <vector>

#include "codegen/value.h"

namespace scyper::query {

// One value in a tuple of runtime/tuples.h: its registers one after the other, a NULL byte where it can be NULL.
struct TupleField {
  SqlType type;
  int64_t offset = 0;
  int64_t null_offset = -1;
};

// Where the fields of a tuple lie.
class TupleLayout {
 public:
  explicit TupleLayout(int64_t header_bytes) : bytes_(header_bytes) {}
  TupleField add(const SqlType& type, bool nullable);
  int64_t add_bytes(int64_t bytes, int64_t alignment);
  int64_t bytes() const { return (bytes_ + 7) & ~int64_t{7}; }

 private:
  int64_t bytes_;
};

}  // namespace scyper::query
