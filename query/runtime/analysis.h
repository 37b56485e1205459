#pragma once

#include <cstdint>

#include "ir/ir.h"

// EXPLAIN ANALYZE at run time: counters that generated code raises, and the plan's text with their values.
namespace scyper::query {

constexpr int64_t kAnalysisCounters = 4096;  // nodes beyond are not counted
constexpr uint32_t kStartCounter = 1;        // of the clock
constexpr uint32_t kRowsCounter = 2;         // of the statement
constexpr uint32_t kTimeCounter = 3, kMemoryCounter = 4, kSpillCounter = 5;
constexpr uint32_t kFirstFormCounter = 6, kFormCounter = 7;  // ir::CodeForm at the start, at the end
// Of the statement, by its own thread: frozen chunks that scans came by, skipped, by hot data views.
constexpr uint32_t kChunksCounter = 8, kSkippedCounter = 9, kIrrelevantCounter = 10;
// Pages of the tier, likewise: asked for, read, waited for.
constexpr uint32_t kTierPagesCounter = 11, kTierReadCounter = 12, kTierWaitsCounter = 13;
constexpr uint32_t kFirstNodeCounter = 14;

#define SCYPER_ANALYSIS_FUNCTIONS(X)                                                         \
  X(rt_analysis_start, kI32, 1, false)  /* context -> value[0] = int64[kAnalysisCounters] */ \
  X(rt_analysis_clock, kI64, 1, false)  /* context: ns */                                    \
  X(rt_analysis_memory, kI64, 1, false) /* context: bytes of the transaction's memory */     \
  X(rt_analysis_emit, kI32, 5, false)   /* context, text, size, counters, in one row? else by line */

#define SCYPER_DECLARE_RUNTIME(name, result, words, pure) extern const ir::External k_##name;
SCYPER_ANALYSIS_FUNCTIONS(SCYPER_DECLARE_RUNTIME)
#undef SCYPER_DECLARE_RUNTIME

}  // namespace scyper::query
