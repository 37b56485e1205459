#pragma once

#include <functional>

#include "bind/bound.h"
#include "query/exec_context.h"
#include "storage/type.h"

// What ordered-set aggregates have in common, however their rows are kept.
namespace scyper::query {

// The percentile of `count` rows. value: of the row at a place in their order, counted from 0. Errors go to the
// context: 22003 for a fraction outside of 0 to 1.
int32_t pick_percentile(ExecContext* c, AggregateKind which, const SqlType& type, double count, double fraction,
                        const std::function<Datum(double)>& value, Datum* out);
// One percentile, or an array of them: as the fraction is. NULL fractions give NULL. find: the percentile of one.
int32_t find_percentiles(ExecContext* c, AggregateKind which, const SqlType& type, const Datum& fraction,
                         const SqlType& fraction_type, const std::function<int32_t(double, Datum*)>& find, Datum* out);

}  // namespace scyper::query
