#include "snapshot/query_records.h"

#include <algorithm>
#include <utility>

#include "base/whole_characters.h"
#include "parse/sql_parser.h"
#include "query/search_path.h"

namespace scyper::query {

namespace {

constexpr size_t kShownBytesMax = 500;

}  // namespace

std::string shown_text(std::string_view sql) {
  if (sql.empty()) return "(a long text)";
  auto text = normalize_sql(without_search_path(sql));
  if (!text.ok()) return "(not shown)";  // who cannot take its constants out shows none
  if (text->size() <= kShownBytesMax) return *std::move(text);
  return std::string(beginning_of(*text, kShownBytesMax)) + "...";
}

void QueryRecords::note(std::string_view sql, const Receipt& receipt, uint64_t rows, bool is_answered, int64_t now_us) {
  constexpr auto kRelaxed = std::memory_order_relaxed;
  (is_answered ? answered_ : broken_).fetch_add(1, kRelaxed);
  if (receipt.swaps > 0) swapped_.fetch_add(1, kRelaxed);
  memory_bytes_.fetch_add(receipt.memory_bytes, kRelaxed);
  spilled_bytes_.fetch_add(receipt.spilled_bytes, kRelaxed);
  uint64_t most = memory_bytes_max_.load(kRelaxed);
  while (receipt.memory_bytes > most &&
         !memory_bytes_max_.compare_exchange_weak(most, receipt.memory_bytes, kRelaxed)) {
  }
  SlowQuery query;
  query.time_us = now_us;
  query.total_ms = receipt.wait_ms + receipt.compile_ms + receipt.run_ms;
  query.wait_ms = receipt.wait_ms;
  query.compile_ms = receipt.compile_ms;
  query.run_ms = receipt.run_ms;
  query.rows = rows;
  query.memory_bytes = receipt.memory_bytes;
  query.spilled_bytes = receipt.spilled_bytes;
  query.is_answered = is_answered;
  slow_.note(sql, std::move(query));
}

void SlowQueries::note(std::string_view sql, SlowQuery query) {
  if (query.total_ms < from_ms_) return;
  {
    std::lock_guard<std::mutex> lock(mutex_);
    std::erase_if(slow_, [&](const SlowQuery& one) { return query.time_us - one.time_us > kUsMax; });
    if (slow_.size() == kMax && slow_.back().total_ms >= query.total_ms) return;
  }
  query.text = shown_text(sql);
  std::lock_guard<std::mutex> lock(mutex_);
  const auto known =
      std::find_if(slow_.begin(), slow_.end(), [&](const SlowQuery& one) { return one.text == query.text; });
  if (known == slow_.end()) {
    slow_.push_back(std::move(query));
  } else {
    query.times = known->times + 1;
    if (known->total_ms >= query.total_ms) {
      ++known->times;
    } else {
      *known = std::move(query);
    }
  }
  std::sort(slow_.begin(), slow_.end(), [](const SlowQuery& a, const SlowQuery& b) { return a.total_ms > b.total_ms; });
  if (slow_.size() > kMax) slow_.pop_back();
}

std::vector<SlowQuery> SlowQueries::list(int64_t now_us) const {
  std::lock_guard<std::mutex> lock(mutex_);
  std::vector<SlowQuery> recent = slow_;
  std::erase_if(recent, [now_us](const SlowQuery& query) { return now_us - query.time_us > kUsMax; });
  return recent;
}

void QueryRecords::add_to(Queries::Counters* counters) const {
  constexpr auto kRelaxed = std::memory_order_relaxed;
  counters->answered = answered_.load(kRelaxed);
  counters->broken = broken_.load(kRelaxed);
  counters->swapped = swapped_.load(kRelaxed);
  counters->memory_bytes = memory_bytes_.load(kRelaxed);
  counters->memory_bytes_max = memory_bytes_max_.load(kRelaxed);
  counters->spilled_bytes = spilled_bytes_.load(kRelaxed);
}

}  // namespace scyper::query
