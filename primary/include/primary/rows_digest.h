#pragma once

#include <cstdint>
#include <string>

#include "query/result.h"

namespace scyper::primary {

// Bytes that are the same for equal values only, whatever the session's settings are. A value that leaves a snapshot as
// a text has those of the text.
void append_value_bytes(std::string* out, const SqlType& type, const Datum& value);

// Tells results apart without keeping their rows. The order of the rows counts.
class RowsDigest {
 public:
  // From that row on.
  void add(const query::ResultSet& rows, size_t first = 0);
  // As another node has made it.
  static RowsDigest of(uint64_t count, uint64_t chain);
  uint64_t count() const { return count_; }
  uint64_t chain() const { return chain_; }
  friend bool operator==(const RowsDigest&, const RowsDigest&) = default;

 private:
  uint64_t count_ = 0;
  uint64_t chain_ = 0;  // each row's hash begins with that of the rows before it
};

}  // namespace scyper::primary
