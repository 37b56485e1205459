// What each access observer costs transactions (VLDB 2012, 5.3): 100,000 random updates of 10 million entries in the
// first window after a collection, where every page that is written costs most.

#include <sys/mman.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <random>
#include <string>
#include <vector>

#include "base/check.h"
#include "base/clock.h"
#include "storage/access_observer.h"

namespace scyper::bench {
namespace {

using storage::AccessCounter;
using storage::AccessObserver;
using storage::ObserverKind;

constexpr size_t kPageBytes = 4096;
constexpr size_t kVectorEntries = size_t{1} << 14;  // as a chunk's vector has, so that is what the engine counts for
constexpr double kPaperPlainMs = 4;
constexpr double kPaperProtectionMs = 94;
constexpr ObserverKind kKinds[] = {ObserverKind::kModule, ObserverKind::kPagemap, ObserverKind::kProtection,
                                   ObserverKind::kCounters};

// The entries, on 4 KB pages, warm.
class Entries {
 public:
  explicit Entries(size_t count) : bytes_((count * sizeof(uint64_t) + kPageBytes - 1) / kPageBytes * kPageBytes) {
    void* memory = mmap(nullptr, bytes_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    CHECK(memory != MAP_FAILED);
    madvise(memory, bytes_, MADV_NOHUGEPAGE);
    entries_ = static_cast<uint64_t*>(memory);
    std::fill_n(entries_, count, 1);
  }
  ~Entries() { munmap(entries_, bytes_); }
  Entries(const Entries&) = delete;
  Entries& operator=(const Entries&) = delete;
  uint64_t* entries() const { return entries_; }
  char* memory() const { return reinterpret_cast<char*>(entries_); }
  size_t bytes() const { return bytes_; }

 private:
  const size_t bytes_;
  uint64_t* entries_;
};

struct Figures {
  double first_ms = 0;    // of the updates, after a collection
  double again_ms = 0;    // the same updates once more in the same window
  double collect_ms = 0;  // ending that window
  size_t written_pages = 0;
};

class Bench {
 public:
  Bench(size_t entries, size_t updates, int repeat) : entries_(entries), repeat_(repeat) {
    std::mt19937_64 random(1);
    positions_.resize(updates);
    for (size_t& position : positions_) position = random() % entries;
  }

  Figures measure(AccessObserver* observer) {
    std::vector<storage::WatchId> watched;
    std::vector<AccessCounter*> counters;
    if (observer != nullptr) watch(*observer, watched, counters);
    Figures best;
    for (int i = 0; i < repeat_; ++i) {
      if (observer != nullptr) CHECK(observer->collect({}).ok());
      Figures figures;
      figures.first_ms = update(counters);
      figures.again_ms = update(counters);
      if (observer != nullptr) end_window(*observer, figures);
      if (i == 0 || figures.first_ms < best.first_ms) best = figures;
    }
    for (storage::WatchId id : watched) CHECK(observer->forget(id).ok());
    return best;
  }

 private:
  void watch(AccessObserver& observer, std::vector<storage::WatchId>& watched, std::vector<AccessCounter*>& counters) {
    const bool is_counted = observer.kind() == ObserverKind::kCounters;
    const size_t step = is_counted ? kVectorEntries * sizeof(uint64_t) : entries_.bytes();
    for (size_t at = 0; at < entries_.bytes(); at += step) {
      auto id = observer.watch(TableId(1), entries_.memory() + at, std::min(step, entries_.bytes() - at));
      CHECK(id.ok());
      watched.push_back(*id);
      if (is_counted) counters.push_back(observer.counter_of(*id));
    }
  }

  double update(const std::vector<AccessCounter*>& counters) {
    uint64_t* entries = entries_.entries();
    const int64_t start_ns = clock_.monotonic_ns();
    if (counters.empty()) {
      for (size_t position : positions_) ++entries[position];
    } else {
      for (size_t position : positions_) {
        ++entries[position];
        counters[position / kVectorEntries]->count_write();
      }
    }
    return static_cast<double>(clock_.monotonic_ns() - start_ns) / 1e6;
  }

  void end_window(AccessObserver& observer, Figures& figures) {
    const int64_t start_ns = clock_.monotonic_ns();
    auto accesses = observer.collect({});
    figures.collect_ms = static_cast<double>(clock_.monotonic_ns() - start_ns) / 1e6;
    CHECK(accesses.ok());
    for (const storage::RangeAccess& access : *accesses) figures.written_pages += access.written_units;
  }

  const Entries entries_;
  const int repeat_;
  std::vector<size_t> positions_;
  const RealClock clock_;
};

nlohmann::ordered_json to_json(const std::string& name, const Figures& figures) {
  return {{"observer", name},
          {"first_ms", figures.first_ms},
          {"again_ms", figures.again_ms},
          {"collect_ms", figures.collect_ms},
          {"written_units", figures.written_pages}};
}

void print(const nlohmann::ordered_json& row) {
  std::printf("%-10s %12.2f %12.2f %12.2f %14llu", row["observer"].get<std::string>().c_str(),
              row["first_ms"].get<double>(), row["again_ms"].get<double>(), row["collect_ms"].get<double>(),
              static_cast<unsigned long long>(row["written_units"].get<uint64_t>()));
  if (row.contains("paper_ms")) std::printf(" %10.0f", row["paper_ms"].get<double>());
  std::printf("\n");
}

int run(int argc, char** argv) {
  CLI::App app("What access observers cost 100,000 updates of 10 million entries (VLDB 2012, 5.3).");
  size_t entries = 10'000'000;
  size_t updates = 100'000;
  int repeat = 5;
  std::string output = "table";
  app.add_option("--entries", entries)->check(CLI::Range(1'000, 1'000'000'000))->capture_default_str();
  app.add_option("--updates", updates)->check(CLI::Range(1, 1'000'000'000))->capture_default_str();
  app.add_option("--repeat", repeat, "windows; the best counts")->check(CLI::Range(1, 100))->capture_default_str();
  app.add_option("-o,--output", output)->check(CLI::IsMember({"table", "json"}))->capture_default_str();
  CLI11_PARSE(app, argc, argv);
  Bench bench(entries, updates, repeat);
  auto rows = nlohmann::ordered_json::array();
  auto missing = nlohmann::ordered_json::object();
  rows.push_back(to_json("none", bench.measure(nullptr)));
  rows.back()["paper_ms"] = kPaperPlainMs;
  for (ObserverKind kind : kKinds) {
    auto observer = storage::make_observer(kind);
    const std::string name(storage::name_of(kind));
    if (!observer.ok()) {
      missing[name] = std::string(observer.status().message());
      continue;
    }
    rows.push_back(to_json(name, bench.measure(observer->get())));
    if (kind == ObserverKind::kProtection) rows.back()["paper_ms"] = kPaperProtectionMs;
  }
  if (output == "json") {
    std::printf("%s\n", nlohmann::ordered_json{{"observers", rows}, {"missing", missing}}.dump(2).c_str());
    return 0;
  }
  std::printf("%-10s %12s %12s %12s %14s %10s\n", "observer", "updates ms", "again ms", "collect ms", "written units",
              "paper ms");
  for (const auto& row : rows) print(row);
  for (const auto& [name, why] : missing.items()) std::printf("%s\n", why.get<std::string>().c_str());
  return 0;
}

}  // namespace
}  // namespace scyper::bench

int main(int argc, char** argv) { return scyper::bench::run(argc, argv); }
