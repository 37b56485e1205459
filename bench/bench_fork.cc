// HyPer's table of fork costs (ICDE 2011, V.E): how long fork() takes against the size of the database, with 4 KB and
// 2 MB pages; and what a thread that writes all the time notices of it.

#include <sys/mman.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <atomic>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <thread>
#include <vector>

#include "base/check.h"
#include "base/clock.h"
#include "storage/arena.h"
#include "storage/child_process.h"

namespace scyper::bench {
namespace {

struct PaperRow {
  double mb;
  double small_ms;
  double huge_ms;
};
constexpr PaperRow kPaper[] = {{409.6, 7, 0.087}, {819.2, 14, 0.119},  {1638.4, 28, 0.165}, {4096, 34, 0.300},
                               {8192, 69, 0.529}, {16384, 136, 0.958}, {32768, 271, 1.863}, {40960, 344, 2.702}};

struct Figures {
  double fork_ms = 0;   // median of the repetitions
  double stall_ms = 0;  // longest gap between two stores of the writer while forking
  double exit_ms = 0;   // killing the child and waiting for it
  uint64_t huge_mb = 0;
};

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

// Stores to random pages of a warm range of 64 MB, as transactions do.
class Writer {
 public:
  Writer(char* memory, size_t bytes) : memory_(memory), pages_(std::min<size_t>(bytes, size_t{64} << 20) / 4096) {
    thread_ = std::thread([this] { run(); });
  }
  ~Writer() {
    is_over_ = true;
    thread_.join();
  }
  double take_longest_ms() { return static_cast<double>(longest_ns_.exchange(0)) / 1e6; }

 private:
  void run() {
    const RealClock clock;
    uint64_t state = 1;
    int64_t last_ns = clock.monotonic_ns();
    while (!is_over_) {
      state = state * 6364136223846793005u + 1442695040888963407u;
      memory_[(state >> 33) % pages_ * 4096] = static_cast<char>(state);
      const int64_t now_ns = clock.monotonic_ns();
      if (now_ns - last_ns > longest_ns_.load(std::memory_order_relaxed)) longest_ns_ = now_ns - last_ns;
      last_ns = now_ns;
    }
  }

  char* const memory_;
  const size_t pages_;
  std::atomic<bool> is_over_{false};
  std::atomic<int64_t> longest_ns_{0};
  std::thread thread_;
};

// Every repetition begins with what the fork before has split put together again: MADV_COLLAPSE where there is one.
Figures measure(size_t bytes, storage::PageMode mode, int repeat) {
  auto arena = storage::Arena::create(bytes + storage::kHugePageBytes, bytes + storage::kHugePageBytes, mode);
  CHECK(arena.ok());
  char* memory = static_cast<char*>((*arena)->allocate(bytes));
  CHECK(memory != nullptr);
  for (size_t i = 0; i < bytes; i += 4096) memory[i] = 1;
  const RealClock clock;
  Figures figures;
  std::vector<double> forks, exits;
  for (int i = 0; i < repeat; ++i) {
#ifdef MADV_COLLAPSE
    if (mode == storage::PageMode::kTransparentHuge) madvise(memory, bytes, MADV_COLLAPSE);
#endif
    Writer writer(memory, bytes);
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    writer.take_longest_ms();
    const int64_t start_ns = clock.monotonic_ns();
    auto child = storage::ChildProcess::fork({}, [](int socket) {
      char end;
      return static_cast<int>(read(socket, &end, 1));
    });
    const int64_t end_ns = clock.monotonic_ns();
    CHECK(child.ok());
    forks.push_back(static_cast<double>(end_ns - start_ns) / 1e6);
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
    figures.stall_ms = std::max(figures.stall_ms, writer.take_longest_ms());
    (*child)->wait_until_watched();
    const int64_t exit_ns = clock.monotonic_ns();
    (*child)->kill();
    (*child)->wait();
    exits.push_back(static_cast<double>(clock.monotonic_ns() - exit_ns) / 1e6);
  }
  figures.fork_ms = median(forks);
  figures.exit_ms = median(exits);
  auto memory_use = storage::memory_of_process(getpid());
  if (memory_use.ok()) figures.huge_mb = memory_use->huge_bytes >> 20;
  return figures;
}

int run(int argc, char** argv) {
  CLI::App app("HyPer's table of fork costs (ICDE 2011, V.E), on this machine and beside the paper's.");
  double mb_max = 4096;
  int repeat = 5;
  std::string output = "table";
  app.add_option("--mb-max", mb_max, "largest database, in MB")->capture_default_str();
  app.add_option("--repeat", repeat, "forks per size")->check(CLI::Range(1, 100))->capture_default_str();
  app.add_option("-o,--output", output)->check(CLI::IsMember({"table", "json"}))->capture_default_str();
  CLI11_PARSE(app, argc, argv);
  auto rows = nlohmann::ordered_json::array();
  if (output == "table") {
    std::printf("%10s | %27s | %27s | %s\n", "", "4 KB pages", "2 MB pages", "longest gap of a writer, ms");
    std::printf("%10s | %8s %9s %8s | %8s %9s %8s | %8s %8s\n", "DB in MB", "fork ms", "us per MB", "paper", "fork ms",
                "us per MB", "paper", "4 KB", "2 MB");
  }
  for (const PaperRow& paper : kPaper) {
    if (paper.mb > mb_max) break;
    const auto bytes = static_cast<size_t>(paper.mb * 1024 * 1024) / 4096 * 4096;
    const Figures small = measure(bytes, storage::PageMode::kSmall, repeat);
    const Figures huge = measure(bytes, storage::PageMode::kTransparentHuge, repeat);
    if (output == "table") {
      std::printf("%10.1f | %8.2f %9.2f %8.1f | %8.3f %9.3f %8.3f | %8.2f %8.2f\n", paper.mb, small.fork_ms,
                  small.fork_ms * 1000 / paper.mb, paper.small_ms, huge.fork_ms, huge.fork_ms * 1000 / paper.mb,
                  paper.huge_ms, small.stall_ms, huge.stall_ms);
      std::fflush(stdout);
    }
    auto json = [](const Figures& f, double paper_ms) {
      return nlohmann::ordered_json{
          {"fork_ms", f.fork_ms}, {"paper_ms", paper_ms}, {"stall_ms", f.stall_ms}, {"exit_ms", f.exit_ms}};
    };
    rows.push_back({{"mb", paper.mb}, {"small", json(small, paper.small_ms)}, {"huge", json(huge, paper.huge_ms)}});
  }
  if (output == "json") std::printf("%s\n", nlohmann::ordered_json{{"sizes", rows}}.dump(2).c_str());
  return 0;
}

}  // namespace
}  // namespace scyper::bench

int main(int argc, char** argv) { return scyper::bench::run(argc, argv); }
