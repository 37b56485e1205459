#pragma once

#include "query/exec_context.h"
#include "runtime/runtime.h"

// KeyTable for C++ (runtime/rows.cc).
namespace scyper::query {

// A table in the transaction's memory. types: of its whole rows, outlives it. false: no room.
bool open_key_table(ExecContext* context, KeyTable* table, const SqlType* types, int64_t width,
                    int64_t key_width) noexcept;
// The first row of the key. With `adds` there is one from now on: what lies behind the key is 0. nullptr: none, or no
// room.
KeyTable::Entry* find_key(ExecContext* context, KeyTable* table, const Datum* key, bool adds, bool* is_new) noexcept;

}  // namespace scyper::query
