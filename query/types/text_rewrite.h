#pragma once

#include "types/text_query.h"

namespace scyper::query {

// ts_rewrite(): the query with `substitute` in place of each part that is `target`. Operands of & and | may stand in
// any order and number.
Status rewrite_query(const TextQuery& query, const TextQuery& target, const TextQuery& substitute, TextQuery* out);

}  // namespace scyper::query
