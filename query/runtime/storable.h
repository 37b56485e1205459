#pragma once

#include "ir/ir.h"
#include "types/decimal.h"

namespace scyper::query {

// context, Datum* (numeric or array of numerics), SqlType*: fails with 0A000 where tables do not hold the value.
extern const ir::External k_rt_check_storable;

// The key of a numeric that is no short one, in the order of those that are (storage::put_key_decimal): behind the last
// digit that it keeps is none of theirs. Infinities are at the ends, NaN is above them. Returns its end.
char* put_special_key(char* out, const Decimal& value);

}  // namespace scyper::query
