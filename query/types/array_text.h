#pragma once

#include <string>
#include <string_view>

#include "base/status.h"
#include "storage/type.h"
#include "types/value_error.h"

// PostgreSQL's text of one-dimensional arrays: '{1,NULL,"a b"}', '[0:1]={a,b}'.
namespace scyper::query {

Status parse_array(const SqlType& type, std::string_view text, const TextArena& arena, Datum* out);
void append_array(std::string* out, const SqlType& type, const ArrayValue& array);

}  // namespace scyper::query
