#include "runtime/analysis.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "base/invariant.h"
#include "codegen/generator.h"
#include "plan/explain.h"
#include "storage/frozen_slot.h"

// EXPLAIN and EXPLAIN ANALYZE: counts of what plan nodes do, the statement's plans as text.
namespace scyper::query {

using ir::Op;
using ir::Type;

namespace {
constexpr int64_t kCounterBytes = 8;

bool scans_by_hot_views(const std::vector<ChunkOpening>& openings) {
  return std::any_of(openings.begin(), openings.end(), [](const ChunkOpening& opening) {
    return opening.is_scan && opening.table->frozen_store()->hot_views() != nullptr;
  });
}

bool reads_tier(const std::vector<ChunkOpening>& openings) {
  return std::any_of(openings.begin(), openings.end(),
                     [](const ChunkOpening& opening) { return opening.table->frozen_store()->tier != nullptr; });
}

// Lines about what was read of frozen chunks, where that depends on hot data views or the tier.
std::string show_frozen_counts(const std::vector<ChunkOpening>& openings, bool is_json) {
  const auto count = [](uint32_t counter) { return counter_text(CounterForm::kCount, counter); };
  std::string text;
  if (scans_by_hot_views(openings)) {
    absl::StrAppend(&text, is_json ? ",\n    \"Frozen Chunks\": " : "Frozen Chunks: ", count(kChunksCounter),
                    is_json ? ",\n    \"Frozen Chunks Skipped\": " : ", skipped: ", count(kSkippedCounter),
                    is_json ? ",\n    \"Frozen Chunks Skipped By Hot Data Views\": " : ", of these by hot data views: ",
                    count(kIrrelevantCounter), is_json ? "" : "\n");
  }
  if (reads_tier(openings)) {
    absl::StrAppend(&text, is_json ? ",\n    \"Tier Pages\": " : "Tier Pages: ", count(kTierPagesCounter),
                    is_json ? ",\n    \"Tier Pages Read\": " : ", read: ", count(kTierReadCounter),
                    is_json ? ",\n    \"Tier Page Waits\": " : ", waits: ", count(kTierWaitsCounter),
                    is_json ? "" : "\n");
  }
  return text;
}
}  // namespace

void Generator::gen_node(const PlanNode& node, const Body& body) {
  check_stack();
  if (node.tests.empty()) return gen_counted(node, body);
  const Block done = gen_bounds_tests(node);
  gen_counted(node, body);
  if (!b_.terminated()) b_.jump(done);
  b_.set_block(done);
}

void Generator::gen_counted(const PlanNode& node, const Body& body) {
  bool counts = is_analysed() && next_counter_ + 3 <= kAnalysisCounters;
  if (!counts) return gen_operator(node, body);
  NodeCounters& mine = counters_[&node];
  mine = {next_counter_, next_counter_ + 1, next_counter_ + 2};
  next_counter_ += 3;
  Reg started = b_.new_variable(Type::kI64), had = b_.new_variable(Type::kI64);
  b_.assign(started, b_.call(k_rt_analysis_clock, {context()}));
  b_.assign(had, b_.call(k_rt_analysis_memory, {context()}));
  NodeCounters numbers = mine;
  gen_operator(node, [&] {
    raise_counter(numbers.rows, constant(Type::kI64, 1));
    body();
  });
  if (b_.terminated()) return;
  raise_counter(numbers.ns, b_.binary(Op::kSub, b_.call(k_rt_analysis_clock, {context()}), started));
  raise_counter(numbers.bytes, b_.binary(Op::kSub, b_.call(k_rt_analysis_memory, {context()}), had));
}

void Generator::raise_counter(uint32_t counter, Reg by) {
  int64_t at = static_cast<int64_t>(counter) * kCounterBytes;
  b_.store(analysis_, at, b_.binary(Op::kAdd, b_.load(Type::kI64, analysis_, at), by));
}

void Generator::begin_analysis() {
  if (!is_analysed()) return;
  check(b_.call(k_rt_analysis_start, {context()}));
  analysis_ = b_.load(Type::kPtr, context(), kContextValue);
  b_.store(analysis_, kFirstFormCounter * kCounterBytes, b_.form());
}

void Generator::note_plan(const Plan& plan) {
  if (!resources_.explains) return;
  const ExplainOptions& options = resources_.explain_options;
  const PlanCounters* counters = is_analysed() ? &counters_ : nullptr;
  std::string text = options.json ? explain_json(plan, options, counters) : explain_text(plan, options, counters);
  bool later = !resources_.plan.empty();
  absl::StrAppend(&resources_.plan, later && options.json ? "\n  },\n  {\n" : "", text);
  counters_.clear();  // nodes of other plans may get these addresses
}

// The plans as the rows of the result.
void Generator::end_analysis() {
  if (!is_analysed() || b_.terminated()) return;
  const ExplainOptions& options = resources_.explain_options;
  b_.store(analysis_, kRowsCounter * kCounterBytes, b_.binary(Op::kAdd, row_count_, constant(Type::kI64, 0)));
  b_.store(analysis_, kFormCounter * kCounterBytes, b_.form());
  std::string text = resources_.plan;
  std::string code = counter_text(CounterForm::kCode, kFormCounter, {kFirstFormCounter});
  std::string rows = counter_text(CounterForm::kCount, kRowsCounter);
  std::string time = counter_text(CounterForm::kMilliseconds, kTimeCounter);
  std::string memory = counter_text(CounterForm::kKilobytes, kMemoryCounter);
  std::string spilled = counter_text(CounterForm::kKilobytes, kSpillCounter);
  const std::string frozen = show_frozen_counts(resources_.openings, options.json);
  if (options.json) {
    if (text.empty()) text = absl::StrCat("    \"Plan\": {\"Node Type\": \"Direct\", \"Actual Rows\": ", rows, "}");
    if (options.summary)
      absl::StrAppend(&text, ",\n    \"Planning Time\": ", resources_.planning_time,
                      ",\n    \"Memory Usage\": ", memory,
                      resources_.can_spill ? absl::StrCat(",\n    \"Written To Disk\": ", spilled) : "", frozen,
                      ",\n    \"Code\": \"", code, "\",\n    \"Execution Time\": ", time);
    text = absl::StrCat("[\n  {\n", text, "\n  }\n]");
  } else {
    if (text.empty()) text = absl::StrCat(kDirectPlan, " (actual rows=", rows, ")\n");
    if (options.summary)
      absl::StrAppend(&text, "Planning Time: ", resources_.planning_time, " ms\nMemory: ", memory, " kB\n",
                      resources_.can_spill ? absl::StrCat("Written to Disk: ", spilled, " kB\n") : "", frozen,
                      "Code: ", code, "\nExecution Time: ", time, " ms\n");
  }
  check(b_.call(k_rt_analysis_emit, {context(), b_.data(text), constant(Type::kI64, static_cast<int64_t>(text.size())),
                                     analysis_, constant(Type::kI64, options.json ? 1 : 0)}));
}

}  // namespace scyper::query
