#pragma once

#include <string>
#include <string_view>

#include "query/catalog.h"

// Indexes whose declaration puts NULLs elsewhere than its direction does: a NULLS FIRST, a DESC NULLS LAST. The order
// of keys does not change by it: only columns without NULLs serve ORDER BY from an index. So it is a remark of the
// catalog on the index, kept beside its comments under the index's number, and shown by pg_get_indexdef().
namespace scyper::query {

// For each key, of expressions and columns, 'f' (NULLS FIRST), 'l' (NULLS LAST) or 'd' (as the direction has it);
// empty: all of the last.
std::string_view index_nulls(const Catalog& catalog, IndexId index);
// all 'd': nothing is kept.
void note_index_nulls(IndexId index, const std::string& nulls, Catalog* catalog);
void forget_index_nulls(IndexId index, Catalog* catalog);

// " DESC", " NULLS FIRST", " DESC NULLS LAST", or nothing, of the key at `position` in the index's columns.
std::string shown_key_order(const Catalog& catalog, const storage::IndexDef& index, size_t position);
// pg_index.indoption: 1 descending, 2 NULLS FIRST.
size_t key_options(const Catalog& catalog, const storage::IndexDef& index, size_t position);

}  // namespace scyper::query
