#include "bind/index_nulls.h"

#include "absl/strings/str_cat.h"

namespace scyper::query {

namespace {

std::string remark_of(IndexId index) { return absl::StrCat("nulls ", index.value()); }

bool is_descending(const storage::IndexDef& index, size_t position) {
  return !index.descending.empty() && index.descending[position];
}

bool are_nulls_first(const Catalog& catalog, const storage::IndexDef& index, size_t position) {
  const std::string_view nulls = index_nulls(catalog, index.id);
  const size_t key = position - (index.partial ? 1 : 0);
  const char mark = key < nulls.size() ? nulls[key] : 'd';
  return mark == 'd' ? is_descending(index, position) : mark == 'f';
}

}  // namespace

std::string_view index_nulls(const Catalog& catalog, IndexId index) {
  const auto found = catalog.comments.find(remark_of(index));
  return found == catalog.comments.end() ? std::string_view() : std::string_view(found->second);
}

void note_index_nulls(IndexId index, const std::string& nulls, Catalog* catalog) {
  if (nulls.find_first_not_of('d') != std::string::npos) catalog->comments[remark_of(index)] = nulls;
}

void forget_index_nulls(IndexId index, Catalog* catalog) { catalog->comments.erase(remark_of(index)); }

std::string shown_key_order(const Catalog& catalog, const storage::IndexDef& index, size_t position) {
  const bool descending = is_descending(index, position);
  const bool nulls_first = are_nulls_first(catalog, index, position);
  return absl::StrCat(descending ? " DESC" : "", nulls_first == descending ? ""
                                                 : nulls_first             ? " NULLS FIRST"
                                                                           : " NULLS LAST");
}

size_t key_options(const Catalog& catalog, const storage::IndexDef& index, size_t position) {
  constexpr size_t kDescending = 1, kNullsFirst = 2;
  return (is_descending(index, position) ? kDescending : 0) +
         (are_nulls_first(catalog, index, position) ? kNullsFirst : 0);
}

}  // namespace scyper::query
