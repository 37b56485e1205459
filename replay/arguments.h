#pragma once

#include <memory>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "storage/type.h"

namespace scyper::replay {

struct ArrayArgument {
  ArrayValue value;
  std::vector<Datum> elements;
};

// Reads the arguments of logical records (docs/transaction_redo.md), one after the other into the same memory.
// Threads: one.
class ArgumentReader {
 public:
  // XX001 when the bytes do not fit the types.
  Status read(const std::vector<SqlType>& types, std::string_view bytes);
  // Of the last record. Strings point into its bytes, arrays into this object.
  const Datum* arguments() const { return arguments_.data(); }

 private:
  std::vector<Datum> arguments_;
  std::vector<std::unique_ptr<ArrayArgument>> arrays_;
};

}  // namespace scyper::replay
