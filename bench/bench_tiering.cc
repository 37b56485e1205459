// Figures 2 and 3 of "Dynamic and Transparent Data Tiering" (ADMS 2015): reads of a column of which a part does not fit
// in memory, by our page cache, by mmap and by anonymous memory with swap.

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <functional>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "base/disk.h"
#include "base/random.h"
#include "memory_group.h"
#include "storage/tier_file.h"
#include "tiering_ways.h"

namespace scyper::bench {
namespace {

using Json = nlohmann::ordered_json;
using Maker = std::function<std::unique_ptr<Way>(const WayFlags&, std::string*)>;
// One round over a way; returns a sum, so that nothing is left out.
using Work = std::function<uint64_t(Way*, Random*)>;

struct Flags {
  std::string directory = ".";
  uint64_t megabytes = 1024;
  std::vector<int> evicted = {0, 20, 33, 50};
  int scans = 5;
  int lookups = 20'000;
  int repeat = 1;
  size_t scan_page_bytes = 16384;
  size_t lookup_page_bytes = 4096;
  uint64_t slack_megabytes = 12;
  uint64_t seed = 1;
  bool with_swap = false;
  std::string output = "table";
};

struct Measured {
  double seconds = 0;
  uint64_t faults = 0;
  uint64_t disk_bytes = 0;  // read
  uint64_t sum = 0;
  char why[256] = {};
};

// What a page cache needs for a frame besides its page: tables of both sides, the order of eviction, pages that are
// gone.
constexpr size_t kFrameBytes = 192;

// What this process has had read of disks so far, by whichever way.
uint64_t bytes_from_disk() {
  std::FILE* const file = std::fopen("/proc/self/io", "re");
  if (file == nullptr) return 0;
  unsigned long long bytes = 0;
  char line[128];
  while (std::fgets(line, sizeof line, file) != nullptr && std::sscanf(line, "read_bytes: %llu", &bytes) != 1) {
  }
  std::fclose(file);
  return bytes;
}

uint64_t round_to_page(uint64_t bytes) { return bytes / storage::kTierPageBytesMax * storage::kTierPageBytesMax; }

Status write_column(const Flags& flags, const std::string& path, size_t page_bytes) {
  const auto disk = make_real_disk();
  SCYPER_ASSIGN_OR_RETURN(const auto writer,
                          storage::TierFileWriter::create(disk.get(), path, static_cast<uint32_t>(page_bytes), 1));
  Random random(flags.seed);
  std::string piece(size_t{1} << 20, '\0');
  for (uint64_t i = 0; i < flags.megabytes; ++i) {
    for (size_t at = 0; at < piece.size(); at += sizeof(uint64_t)) {
      const uint64_t number = random.next();
      std::memcpy(piece.data() + at, &number, sizeof number);
    }
    SCYPER_RETURN_IF_ERROR(writer->append(piece).status());
  }
  return writer->seal();
}

// In a process of its own, in a group with that much memory (0: no limit): a scan and two rounds to warm up, then the
// rounds that count. Equal seeds do equal work.
Measured measure(const Flags& flags, const WayFlags& way_flags, uint64_t limit_bytes, const Maker& make,
                 const Work& work, int rounds) {
  Measured result;
  std::string why;
  std::unique_ptr<MemoryGroup> group;
  if (limit_bytes != 0) group = MemoryGroup::create(limit_bytes, &why);
  const auto fail = [&] {
    std::snprintf(result.why, sizeof result.why, "%s", why.c_str());
    return result;
  };
  if (limit_bytes != 0 && group == nullptr) return fail();
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) return fail();
  const pid_t pid = fork();
  if (pid == 0) {
    if (group != nullptr && !group->enter()) why = "the memory cgroup cannot be entered";
    const std::unique_ptr<Way> way = why.empty() ? make(way_flags, &why) : nullptr;
    if (way != nullptr) {
      Random random(flags.seed);
      way->scan(0, way_flags.bytes);
      for (int i = 0; i < 2; ++i) work(way.get(), &random);
      const uint64_t faults = way->faults();
      const uint64_t disk_bytes = bytes_from_disk();
      const auto start = std::chrono::steady_clock::now();
      for (int i = 0; i < rounds; ++i) result.sum += work(way.get(), &random);
      result.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
      result.faults = way->faults() - faults;
      result.disk_bytes = bytes_from_disk() - disk_bytes;
    } else {
      fail();
    }
    const bool is_told = write(ends[1], &result, sizeof result) == static_cast<ssize_t>(sizeof result);
    _exit(is_told ? 0 : 1);
  }
  close(ends[1]);
  why = "the process has ended (out of memory?)";
  const bool is_told = read(ends[0], &result, sizeof result) == static_cast<ssize_t>(sizeof result);
  close(ends[0]);
  waitpid(pid, nullptr, 0);
  return is_told ? result : fail();
}

// One figure: ways by how much does not fit.
class Figure {
 public:
  Figure(const Flags& flags, Work work, int rounds) : flags_(flags), work_(std::move(work)), rounds_(rounds) {}

  void add(const std::string& name, const WayFlags& way_flags, const Maker& make) {
    for (const int evicted : flags_.evicted) {
      WayFlags own = way_flags;
      const uint64_t fits = round_to_page(own.bytes * static_cast<uint64_t>(100 - evicted) / 100);
      // the cache's own tables lie in the same memory
      own.cache_bytes = (fits - own.hot_bytes) / (own.page_bytes + kFrameBytes) * own.page_bytes;
      if (evicted == 0) own.cache_bytes = own.bytes;
      const uint64_t limit = evicted == 0 ? 0 : fits + (flags_.slack_megabytes << 20);
      Measured best;
      for (int i = 0; i < flags_.repeat; ++i) {
        const Measured one = measure(flags_, own, limit, make, work_, rounds_);
        if (i == 0 || (one.why[0] == '\0' && one.seconds < best.seconds)) best = one;
      }
      note(name, evicted, best);
    }
  }

  // How much faster `name` is than the best of the others whose names begin so.
  Json speedup(const std::string& name, const std::string& others) const {
    Json result;
    for (const int evicted : flags_.evicted) {
      double best = 0;
      for (const auto& [key, seconds] : seconds_) {
        if (key.second != evicted || !key.first.starts_with(others)) continue;
        if (best == 0 || seconds < best) best = seconds;
      }
      const auto own = seconds_.find({name, evicted});
      if (evicted != 0 && best != 0 && own != seconds_.end()) result[std::to_string(evicted)] = best / own->second;
    }
    return result;
  }
  const Json& rows() const { return rows_; }

 private:
  void note(const std::string& name, int evicted, const Measured& measured) {
    Json row{{"way", name}, {"evicted_pct", evicted}};
    if (measured.why[0] != '\0') {
      row["why_not"] = measured.why;
    } else {
      row["seconds"] = measured.seconds / rounds_;
      if (evicted == 0) in_memory_[name] = measured.seconds;
      if (in_memory_.contains(name)) row["slowdown"] = measured.seconds / in_memory_[name];
      row["faults"] = measured.faults / static_cast<uint64_t>(rounds_);
      row["disk_mb"] = static_cast<double>(measured.disk_bytes) / rounds_ / (1 << 20);
      seconds_[{name, evicted}] = measured.seconds;
      if (sum_ == 0) sum_ = measured.sum;
      row["is_right"] = sum_ == measured.sum;
    }
    std::fprintf(stderr, "bench_tiering: %s\n", row.dump().c_str());
    rows_.push_back(std::move(row));
  }

  const Flags& flags_;
  const Work work_;
  const int rounds_;
  Json rows_ = Json::array();
  std::map<std::string, double> in_memory_;
  std::map<std::pair<std::string, int>, double> seconds_;
  uint64_t sum_ = 0;
};

Maker mapped(Advice advice) {
  return [advice](const WayFlags& flags, std::string* why) { return make_mapped(flags, advice, why); };
}

void add_swapped(const Flags& flags, const WayFlags& way_flags, const std::string& path, Figure* figure) {
  if (!flags.with_swap) return;
  std::string why;
  const auto swap = SwapFile::create(path, way_flags.bytes + (uint64_t{64} << 20), &why);
  if (swap == nullptr) {
    std::fprintf(stderr, "bench_tiering: %s\n", why.c_str());
    return;
  }
  figure->add("swap", way_flags, make_anonymous);
}

// The column read as a whole, and at random places.
Json measure_pressure(const Flags& flags, WayFlags scans, WayFlags lookups, const std::string& swap, Json* summary) {
  const uint64_t bytes = scans.bytes;
  Figure sequential(flags, [=](Way* way, Random*) { return way->scan(0, bytes); }, flags.scans);
  for (const storage::EvictionPolicy policy : {storage::EvictionPolicy::kLirs, storage::EvictionPolicy::kLru}) {
    scans.policy = policy;
    sequential.add(std::string("ours, ") + policy_name(policy), scans, make_tiered);
  }
  sequential.add("mmap", scans, mapped(Advice::kNone));
  sequential.add("mmap, advised", scans, mapped(Advice::kSequential));
  add_swapped(flags, scans, swap, &sequential);
  const int count = flags.lookups;
  const auto look_up = [=](Way* way, Random* random) {
    uint64_t sum = 0;
    for (int i = 0; i < count; ++i) sum += way->look_up(random->below(bytes / kLookupBytes) * kLookupBytes);
    return sum;
  };
  Figure random(flags, look_up, 2);
  random.add("ours, lirs", lookups, make_tiered);
  random.add("mmap", lookups, mapped(Advice::kNone));
  random.add("mmap, advised", lookups, mapped(Advice::kRandom));
  add_swapped(flags, lookups, swap, &random);
  (*summary)["scan_vs_mmap"] = sequential.speedup("ours, lirs", "mmap");
  (*summary)["lookup_vs_mmap"] = random.speedup("ours, lirs", "mmap");
  return Json{{"sequential", sequential.rows()}, {"random", random.rows()}};
}

// 10 % hot, 30 % warm; four of five reads want hot data alone.
Json measure_skew(const Flags& flags, WayFlags scans, WayFlags lookups, const std::string& swap, Json* summary) {
  const uint64_t bytes = scans.bytes;
  const uint64_t hot = round_to_page(bytes / 10);
  const uint64_t warm = round_to_page(bytes * 3 / 10);
  const auto scan = [=](Way* way, Random*) {
    uint64_t sum = way->scan(0, bytes);
    for (int i = 0; i < 4; ++i) sum += way->scan(0, hot);
    return sum;
  };
  const int count = flags.lookups;
  const auto look_up = [=](Way* way, Random* random) {
    uint64_t sum = 0;
    for (int i = 0; i < count; ++i) {
      const bool is_hot = random->below(5) != 0;
      const uint64_t place = random->below((is_hot ? hot : warm) / kLookupBytes) * kLookupBytes;
      sum += way->look_up(is_hot ? place : hot + place);
    }
    return sum;
  };
  const auto add = [&](Figure* figure, WayFlags way_flags, Advice advice) {
    WayFlags own = way_flags;
    own.hot_bytes = hot;
    figure->add("ours", own, make_tiered);
    own.warm_bytes = warm;
    figure->add("ours, colours", own, make_tiered);
    figure->add("mmap", way_flags, mapped(Advice::kNone));
    figure->add("mmap, advised", way_flags, mapped(advice));
    add_swapped(flags, way_flags, swap, figure);
  };
  Figure sequential(flags, scan, flags.scans);
  add(&sequential, scans, Advice::kSequential);
  Figure random(flags, look_up, 2);
  add(&random, lookups, Advice::kRandom);
  (*summary)["skewed_scan_vs_mmap"] = sequential.speedup("ours, colours", "mmap");
  (*summary)["skewed_lookup_vs_mmap"] = random.speedup("ours, colours", "mmap");
  return Json{{"sequential", sequential.rows()}, {"random", random.rows()}};
}

// What the figures of the paper show, read off: times of what is limited, over those with unlimited memory.
Json paper() {
  return Json{{"figure_2",
               {{"sequential", "malloc and mmap 28 to 81, EMT 6.5 at 20, 33 and 50 %"},
                {"random", "malloc and mmap up to 120 at 50 %, EMT less, with as many faults"}}},
              {"figure_3", {{"sequential", "malloc 21 to 44, EMT 3.4, with colours 2.9"}}}};
}

int run(const Flags& flags) {
  const std::string base = flags.directory + "/bench_tiering_" + std::to_string(getpid());
  WayFlags scans{base + "_scans.tier", flags.megabytes << 20, 0, 0, flags.scan_page_bytes};
  WayFlags lookups{base + "_lookups.tier", flags.megabytes << 20, 0, 0, flags.lookup_page_bytes};
  Status status = write_column(flags, scans.path, scans.page_bytes);
  if (status.ok()) status = write_column(flags, lookups.path, lookups.page_bytes);
  Json out;
  Json summary;
  if (status.ok()) {
    out["figure_2"] = measure_pressure(flags, scans, lookups, base + ".swap", &summary);
    out["figure_3"] = measure_skew(flags, scans, lookups, base + ".swap", &summary);
    out["paper"] = paper();
    out["swap"] = flags.with_swap ? "measured" : "not measured: --swap makes a swap file, which all processes may use";
    out["summary"] = summary;
  }
  unlink(scans.path.c_str());
  unlink(lookups.path.c_str());
  if (!status.ok()) {
    std::fprintf(stderr, "bench_tiering: %s\n", std::string(status.message()).c_str());
    return 1;
  }
  std::printf("%s\n", (flags.output == "json" ? out : summary).dump(2).c_str());
  return 0;
}

}  // namespace
}  // namespace scyper::bench

int main(int argc, char** argv) {
  CLI::App app(
      "Reads of a column of which a part does not fit in memory: Fig. 2 and 3 of ADMS 2015. Needs root, for limits");
  scyper::bench::Flags flags;
  app.add_option("--directory", flags.directory, "on the disk to measure")->capture_default_str();
  app.add_option("--megabytes", flags.megabytes, "of the column (the paper: 5,120)")
      ->capture_default_str()
      ->check(CLI::Range(16, 1'000'000));
  app.add_option("--evicted", flags.evicted, "per cent that do not fit; 0: no limit")->capture_default_str();
  app.add_option("--scans", flags.scans, "(the paper: 50)")->capture_default_str()->check(CLI::Range(1, 1000));
  app.add_option("--lookups", flags.lookups, "per round, of two (the paper: 10,000,000)")->capture_default_str();
  app.add_option("--repeat", flags.repeat, "the best of so many runs")
      ->capture_default_str()
      ->check(CLI::Range(1, 100));
  app.add_option("--scan-page-bytes", flags.scan_page_bytes)->capture_default_str();
  app.add_option("--lookup-page-bytes", flags.lookup_page_bytes)->capture_default_str();
  app.add_option("--slack-megabytes", flags.slack_megabytes, "of a limit, for the process itself")
      ->capture_default_str();
  app.add_option("--seed", flags.seed)->capture_default_str();
  app.add_flag("--swap", flags.with_swap, "anonymous memory with a swap file, too");
  app.add_option("-o,--output", flags.output)->check(CLI::IsMember({"table", "json"}))->capture_default_str();
  CLI11_PARSE(app, argc, argv);
  return scyper::bench::run(flags);
}
