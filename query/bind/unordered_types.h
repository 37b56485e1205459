#pragma once

#include <string>

#include "absl/strings/str_cat.h"
#include "storage/json_text_type.h"

// json and jsonpath: PostgreSQL neither compares nor orders their values.
namespace scyper::query {

inline std::string lacks_equality(const SqlType& type) {
  return absl::StrCat("could not identify an equality operator for type ", type_name(type));
}
inline std::string lacks_order(const SqlType& type) {
  return absl::StrCat("could not identify an ordering operator for type ", type_name(type));
}
inline constexpr const char* kOrderHint = "Use an explicit ordering operator or modify the query.";

}  // namespace scyper::query
