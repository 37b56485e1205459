#pragma once

#include <memory>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "storage/type.h"

namespace scyper::replay {

// Reads the arguments of a logical record (docs/transaction_redo.md). Strings point into the bytes, arrays into
// *arrays. XX001 when the bytes do not fit the types.
struct ArrayArgument {
  ArrayValue value;
  std::vector<Datum> elements;
};
Status read_arguments(const std::vector<SqlType>& types, std::string_view bytes, std::vector<Datum>* arguments,
                      std::vector<std::unique_ptr<ArrayArgument>>* arrays);

}  // namespace scyper::replay
