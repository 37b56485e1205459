#pragma once

#include <string_view>

#include "storage/type.h"

// Which operators PostgreSQL has between two types, where our own types and implicit casts would find more: json is a
// text of a kind here, and a literal without a type could become anything.
namespace scyper::query {

enum class OperatorFit {
  kOpen,       // the usual search decides
  kMissing,    // 42883
  kNotUnique,  // 42725
};

OperatorFit operator_fit(std::string_view op, const SqlType& left, const SqlType& right);

}  // namespace scyper::query
