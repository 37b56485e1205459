#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "storage/type.h"

namespace scyper::query {

// A column of a function that returns rows of several columns: the builtin that gives its values as an array.
struct SetColumn {
  std::string_view name, builtin;
  SqlType array;  // kArray: the values are texts of such arrays
};
// The columns of ts_parse() and its kin, and of unnest(tsvector); empty: another function. `first`: its first argument.
std::span<const SetColumn> text_search_columns(std::string_view function, TypeId first);

}  // namespace scyper::query
