#include <charconv>

#include "types/jsonb.h"

// Assignment to a part of a document by subscripts: what does not lie on the way yet is made.
namespace scyper::query {

namespace {

constexpr size_t kElementsMax = 268435455;  // of PostgreSQL's jsonb

using Path = std::vector<std::string_view>;

bool integer_of(std::string_view step, int32_t* out) {
  const auto read = std::from_chars(step.data(), step.data() + step.size(), *out);
  return !step.empty() && read.ec == std::errc() && read.ptr == step.data() + step.size();
}

Status add_nulls(size_t count, Json* array) {
  if (array->items.size() + count >= kElementsMax)
    return sql_error("54000", "number of jsonb array elements exceeds the maximum allowed (268435455)");
  array->items.resize(array->items.size() + count);
  return absl::OkStatus();
}

// The objects and arrays from `level` on, with the value in the last one.
Status make_chain(const Path& path, size_t level, const Json& value, Json* out) {
  if (level == path.size()) return *out = value, absl::OkStatus();
  int32_t index = 0;
  const bool is_array = integer_of(path[level], &index);
  *out = is_array ? json_array() : json_object();
  if (!is_array) out->keys.emplace_back(path[level]);
  if (is_array && index > 0) SCYPER_RETURN_IF_ERROR(add_nulls(static_cast<size_t>(index), out));
  return make_chain(path, level + 1, value, &out->items.emplace_back());
}

Status assign(const Path& path, size_t level, const Json& value, Json* json);

Status assign_element(const Path& path, size_t level, const Json& value, Json* array) {
  int32_t index = 0;
  const std::string place = "path element at position " + std::to_string(level + 1) + " is ";
  if (!integer_of(path[level], &index))
    return sql_error("22P02", place + "not an integer: \"" + std::string(path[level]) + "\"");
  const auto size = static_cast<int64_t>(array->items.size());
  const int64_t at = index < 0 ? index + size : index;
  if (at < 0) return sql_error("22023", place + "out of range: " + std::to_string(index));
  if (at < size) return assign(path, level + 1, value, &array->items[static_cast<size_t>(at)]);
  SCYPER_RETURN_IF_ERROR(add_nulls(static_cast<size_t>(at - size), array));
  return make_chain(path, level + 1, value, &array->items.emplace_back());
}

Status assign(const Path& path, size_t level, const Json& value, Json* json) {
  if (level == path.size()) return *json = value, absl::OkStatus();
  if (json->kind == JsonKind::kArray) return assign_element(path, level, value, json);
  if (json->kind != JsonKind::kObject)
    return with_detail(sql_error("22023", "cannot replace existing key"),
                       "The path assumes key is a composite object, but it is a scalar value.");
  if (const Json* member = json_member(*json, path[level]); member != nullptr)
    return assign(path, level + 1, value, const_cast<Json*>(member));
  json->keys.emplace_back(path[level]);
  SCYPER_RETURN_IF_ERROR(make_chain(path, level + 1, value, &json->items.emplace_back()));
  json_normalise(json);
  return absl::OkStatus();
}

}  // namespace

Status json_assign(Json* json, const std::vector<std::string_view>& path, const Json& value) {
  constexpr size_t kDepthMax = 1000;  // of documents
  if (path.size() > kDepthMax) return sql_error("54001", "stack depth limit exceeded");
  return assign(path, 0, value, json);
}

}  // namespace scyper::query
