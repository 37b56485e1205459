#pragma once

#include "ir/ir.h"

// Rows that a table's rules refuse: 23502, 23503, 23505 and 23514, with the row's values in DETAIL.
namespace scyper::query {

// context, texts, size, Datum* row, SqlType* types, count. texts, each ended by a zero byte: SQLSTATE, message, DETAIL
// before and behind the values; of keys the mark of those that may be deferred.
extern const ir::External k_rt_violation;
// context, table number, column, DETAIL before the values (ended by a zero byte), Datum* row, SqlType* types, count:
// 23502. No values, no DETAIL.
extern const ir::External k_rt_not_null;

}  // namespace scyper::query
