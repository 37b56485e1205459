#include "replication/log_terms.h"

#include <algorithm>

namespace scyper::replication {

uint64_t term_of(std::span<const TermStart> starts, uint64_t lsn) {
  uint64_t term = 0;
  for (const TermStart& start : starts) {
    if (start.base_lsn < lsn) term = start.term;
  }
  return term;
}

std::optional<LogEnd> common_end(std::span<const TermStart> log, uint64_t lsn, std::span<const TermStart> other,
                                 uint64_t other_lsn) {
  const auto end_of = [](std::span<const TermStart> starts, size_t i, uint64_t end) {
    return i + 1 < starts.size() ? starts[i + 1].base_lsn : end;
  };
  for (size_t i = log.size(); i-- > 0;) {
    const auto same =
        std::find_if(other.begin(), other.end(), [&](const TermStart& s) { return s.term == log[i].term; });
    if (same == other.end()) continue;
    const size_t j = static_cast<size_t>(same - other.begin());
    const uint64_t end = std::min(end_of(log, i, lsn), end_of(other, j, other_lsn));
    // of the term only what both have counts; it may begin before what is known of either
    if (end > std::max(log[i].base_lsn, other[j].base_lsn)) return LogEnd{log[i].term, end};
  }
  return std::nullopt;
}

}  // namespace scyper::replication
