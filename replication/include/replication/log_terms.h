#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

// Whose batches a log has, by LSN. Terms have one primary each, so a batch of the same term at the same LSN is the same
// batch, behind the same ones, in every log (Raft's log matching).
namespace scyper::replication {

// The log behind `base_lsn` is of that term, up to where the next one begins.
struct TermStart {
  uint64_t term = 0;
  uint64_t base_lsn = 0;
  friend bool operator==(const TermStart&, const TermStart&) = default;
};

// starts: of a log, oldest first. 0: it has none there, or it is not known.
uint64_t term_of(std::span<const TermStart> starts, uint64_t lsn);

struct LogEnd {
  uint64_t term = 0;
  uint64_t lsn = 0;
  friend bool operator==(const LogEnd&, const LogEnd&) = default;
};
// The last batch of the log that ends at `lsn` which the other log, which ends at `other_lsn`, has as well. Nothing:
// none that both are known to have.
std::optional<LogEnd> common_end(std::span<const TermStart> log, uint64_t lsn, std::span<const TermStart> other,
                                 uint64_t other_lsn);

}  // namespace scyper::replication
