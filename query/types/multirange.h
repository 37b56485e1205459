#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "storage/type.h"
#include "types/range.h"

// Multiranges: ranges in order, none of them empty, overlapping or adjacent.
namespace scyper::query {

using Multirange = std::vector<Range>;

// As ordered bytes: range after range, then the trailer (types/range.h). No bytes: no range.
Multirange multirange_of_bytes(std::string_view bytes);
std::string bytes_of_multirange(const Multirange& multirange);

// Of ranges in any order.
Multirange make_multirange(std::vector<Range> ranges);
// From the first bound to the last one.
Range multirange_span(const Multirange& multirange);

// 22P02.
Status multirange_parse(const SqlType& type, std::string_view text, std::string* bytes);
void multirange_append(std::string* out, const SqlType& type, const Multirange& multirange);
Status multirange_receive(const SqlType& type, std::string_view sent, std::string* bytes);
void multirange_send(std::string* out, const SqlType& type, const Multirange& multirange);

bool multirange_has(const Multirange& multirange, const RangeBound& value);
bool multirange_contains(const Multirange& a, const Multirange& b);
bool multirange_overlaps(const Multirange& a, const Multirange& b);
Multirange multirange_union(const Multirange& a, const Multirange& b);
Multirange multirange_intersection(const Multirange& a, const Multirange& b);
Multirange multirange_difference(const Multirange& a, const Multirange& b);

}  // namespace scyper::query
