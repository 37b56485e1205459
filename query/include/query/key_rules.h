#pragma once

#include "query/catalog.h"

// Rules of a key that its index does not enforce: a DEFERRABLE one is unique when its statement or transaction ends,
// not at each row, and of NULLS NOT DISTINCT equal NULLs are duplicates. Storage keeps keys unique at each row and
// takes NULLs for distinct, so a deferrable key has an index that is not unique, and each statement checks what its
// index does not (bind/binder_constraint.cc). It is a remark of the catalog on the index, kept beside its comments
// under the index's number.
namespace scyper::query {

struct KeyRules {
  bool is_primary = false;       // deferrable: the table has no primary index
  bool is_deferrable = false;    // its index is not unique
  bool is_deferred = false;      // INITIALLY DEFERRED
  bool are_nulls_equal = false;  // NULLS NOT DISTINCT

  bool any() const { return is_deferrable || are_nulls_equal; }
};

KeyRules key_rules(const Catalog& catalog, IndexId index);
// None: nothing is kept.
void note_key_rules(IndexId index, const KeyRules& rules, Catalog* catalog);

bool is_unique(const Catalog& catalog, const storage::IndexDef& index);
bool is_primary(const Catalog& catalog, const storage::IndexDef& index);

}  // namespace scyper::query
