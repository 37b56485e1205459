#include "query/key_rules.h"

#include <string>

#include "absl/strings/str_cat.h"

namespace scyper::query {

namespace {

std::string remark_of(IndexId index) { return absl::StrCat("key ", index.value()); }

}  // namespace

KeyRules key_rules(const Catalog& catalog, IndexId index) {
  const auto found = catalog.comments.find(remark_of(index));
  if (found == catalog.comments.end()) return {};
  const auto has = [&](char mark) { return found->second.find(mark) != std::string::npos; };
  return {has('p'), has('i') || has('d'), has('d'), has('n')};
}

void note_key_rules(IndexId index, const KeyRules& rules, Catalog* catalog) {
  std::string marks;
  if (rules.is_primary) marks += 'p';
  if (rules.is_deferrable) marks += rules.is_deferred ? 'd' : 'i';
  if (rules.are_nulls_equal) marks += 'n';
  if (rules.any())
    catalog->comments[remark_of(index)] = marks;
  else
    catalog->comments.erase(remark_of(index));
}

bool is_unique(const Catalog& catalog, const storage::IndexDef& index) {
  return index.unique || key_rules(catalog, index.id).is_deferrable;
}

bool is_primary(const Catalog& catalog, const storage::IndexDef& index) {
  return index.primary || key_rules(catalog, index.id).is_primary;
}

}  // namespace scyper::query
