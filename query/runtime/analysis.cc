#include "runtime/analysis.h"

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <string_view>

#include "plan/explain.h"
#include "runtime/memory.h"
#include "runtime/spill_space.h"
#include "runtime/windows.h"
#include "storage/page_cache.h"

namespace scyper::query {

namespace {

int64_t now_ns() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

std::string name_of_form(int64_t form) {
  switch (static_cast<ir::CodeForm>(form)) {
    case ir::CodeForm::kInterpreted:
      return "interpreted";
    case ir::CodeForm::kQuick:
      return "quick";
    case ir::CodeForm::kBetter:
      return "better";
  }
  return "";
}

// form, counter, ",other" ...
void append_number(std::string_view mark, const int64_t* counters, std::string* out) {
  auto form = static_cast<CounterForm>(mark[0]);
  std::string digits(mark.substr(1));
  char* at = digits.data();
  int64_t value = counters[std::strtoul(at, &at, 10)];
  if (form == CounterForm::kCode) {
    while (*at == ',')
      if (int64_t before = counters[std::strtoul(at + 1, &at, 10)]; before != value)
        *out += name_of_form(before) + " -> ";
    *out += name_of_form(value);
    return;
  }
  while (*at == ',') value -= counters[std::strtoul(at + 1, &at, 10)];
  char text[48];
  if (form == CounterForm::kMilliseconds)
    std::snprintf(text, sizeof text, "%.3f", static_cast<double>(value) / 1e6);
  else
    std::snprintf(text, sizeof text, "%lld",
                  static_cast<long long>(form == CounterForm::kKilobytes ? (value + 1023) / 1024 : value));
  *out += text;
}

std::string fill_in(std::string_view text, const int64_t* counters) {
  std::string out;
  while (true) {
    size_t mark = text.find(kCounterBegin);
    out += text.substr(0, mark);
    if (mark == std::string_view::npos) return out;
    size_t end = text.find(kCounterEnd, mark);
    append_number(text.substr(mark + 1, end - mark - 1), counters, &out);
    text.remove_prefix(end + 1);
  }
}

int32_t emit_text(ExecContext* c, std::string_view text) {
  Datum row = string_datum(text.data(), text.size());
  if (!copy_datum(c, make_type(TypeId::kText), &row)) return fail_memory(c);
  return emit_row(c, &row);
}

// Adds what the context and its thread have counted so far, or takes it off.
void add_window_counts(const ExecContext& c, int64_t sign, int64_t* counters) {
  const WindowCounts counts = window_counts(c);
  counters[kChunksCounter] += sign * static_cast<int64_t>(counts.chunks);
  counters[kSkippedCounter] += sign * static_cast<int64_t>(counts.skipped);
  counters[kIrrelevantCounter] += sign * static_cast<int64_t>(counts.irrelevant);
  const storage::PageReader::Uses uses = storage::PageReader::uses_of_thread();
  counters[kTierPagesCounter] += sign * static_cast<int64_t>(uses.pages);
  counters[kTierReadCounter] += sign * static_cast<int64_t>(uses.read);
  counters[kTierWaitsCounter] += sign * static_cast<int64_t>(uses.waits);
}

extern "C" {

int32_t rt_analysis_start(ExecContext* c) noexcept {
  constexpr size_t kBytes = kAnalysisCounters * sizeof(int64_t);
  char* memory = c->scratch->allocate(kBytes);
  if (memory == nullptr) return fail_memory(c);
  std::memset(memory, 0, kBytes);
  c->value[0] = reinterpret_cast<int64_t>(memory);
  reinterpret_cast<int64_t*>(memory)[kStartCounter] = now_ns();
  add_window_counts(*c, -1, reinterpret_cast<int64_t*>(memory));
  return 0;
}

int64_t rt_analysis_clock(ExecContext*) noexcept { return now_ns(); }
int64_t rt_analysis_memory(ExecContext* c) noexcept { return static_cast<int64_t>(c->scratch->used_bytes()); }

int32_t rt_analysis_emit(ExecContext* c, const char* data, int64_t size, int64_t* counters, int64_t one_row) noexcept {
  counters[kTimeCounter] = now_ns() - counters[kStartCounter];
  counters[kMemoryCounter] = static_cast<int64_t>(c->scratch->used_bytes());
  if (c->spill != nullptr) counters[kSpillCounter] = static_cast<int64_t>(c->spill->limits()->written_bytes.load());
  add_window_counts(*c, 1, counters);
  std::string text = fill_in({data, static_cast<size_t>(size)}, counters);
  if (one_row != 0) return emit_text(c, text);
  size_t from = 0;
  while (from < text.size()) {
    size_t end = std::min(text.find('\n', from), text.size());
    if (int32_t failed = emit_text(c, std::string_view(text).substr(from, end - from)); failed != 0) return failed;
    from = end + 1;
  }
  return 0;
}

}  // extern "C"

}  // namespace

#define SCYPER_DEFINE_RUNTIME(name, result, words, pure) \
  const ir::External k_##name{#name, reinterpret_cast<void*>(&name), ir::Type::result, words, pure};
SCYPER_ANALYSIS_FUNCTIONS(SCYPER_DEFINE_RUNTIME)
#undef SCYPER_DEFINE_RUNTIME

}  // namespace scyper::query
