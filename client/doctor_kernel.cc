#include <sys/timex.h>

#include <algorithm>
#include <fstream>
#include <sstream>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "doctor.h"

// What the kernel is told, for `scyper doctor`.
namespace scyper::client {

namespace {

using Level = Finding::Level;
using server::format_bytes;

constexpr int64_t kHugePageBytes = int64_t{2} << 20;
constexpr int64_t kMappings = 65'530;  // the kernel's default
constexpr int64_t kSwappiness = 10;

std::string bytes_text(int64_t bytes) { return format_bytes(static_cast<uint64_t>(bytes) >> 20 << 20); }

// Of the machine, or of the cgroup that this process is in, when it is less.
int64_t memory_limit(const KernelFiles& kernel) {
  const int64_t machine = kernel.bytes("proc/meminfo", "MemTotal");
  const int64_t group = kernel.number("sys/fs/cgroup/memory.max");
  return group > 0 && (machine < 0 || group < machine) ? group : machine;
}

Finding examine_memory(const KernelFiles& kernel, const server::NodeConfig& config) {
  Finding found{Level::kGood, "memory", "", ""};
  const int64_t wanted = static_cast<int64_t>(config.engine.memory_bytes);
  const int64_t limit = memory_limit(kernel);
  if (limit < 0) return {Level::kSkipped, "memory", "how much there is cannot be read", ""};
  found.what = absl::StrCat("memory = ", bytes_text(wanted), " of ", bytes_text(limit));
  if (wanted > limit) {
    found.level = Level::kBad;
    found.advice = "Lower memory: tables would be swapped out, or the node be ended by the kernel.";
  } else if (wanted > limit / 10 * 8) {
    found.level = Level::kWarning;
    found.advice =
        "Leave a fifth for snapshots (pages that change while they live), queries and the system, or lower memory.";
  }
  return found;
}

Finding examine_pages(const KernelFiles& kernel, const server::NodeConfig& config) {
  const int64_t wanted = static_cast<int64_t>(config.engine.memory_bytes);
  if (config.engine.page_mode == storage::PageMode::kSmall) {
    return {Level::kWarning, "huge pages", "pages = small: forks take some 16 us for each MB",
            "Use pages = \"huge\", unless you know why not."};
  }
  if (config.engine.page_mode == storage::PageMode::kReservedHuge) {
    const int64_t free = std::max<int64_t>(kernel.bytes("proc/meminfo", "HugePages_Free"), 0) * kHugePageBytes;
    const std::string what =
        absl::StrCat(bytes_text(free), " of reserved huge pages are free, memory = ", bytes_text(wanted));
    if (free >= wanted / 3 * 7) return {Level::kGood, "huge pages", what, ""};
    const std::string advice = absl::StrCat("sysctl vm.nr_hugepages=", wanted / kHugePageBytes * 7 / 3,
                                            " holds it and the copies for one snapshot (docs/snapshots.md, Pages).");
    return {free < wanted ? Level::kBad : Level::kWarning, "huge pages", what, advice};
  }
  const std::string enabled = kernel.text("sys/kernel/mm/transparent_hugepage/enabled");
  if (enabled.empty() || absl::StrContains(enabled, "[never]")) {
    return {Level::kWarning, "huge pages", "transparent huge pages are off: fewer transactions, and slow forks",
            "echo madvise > /sys/kernel/mm/transparent_hugepage/enabled"};
  }
  return {Level::kGood, "huge pages", absl::StrCat("transparent: ", enabled), ""};
}

Finding examine_accounting(const KernelFiles& kernel) {
  const int64_t mode = kernel.number("proc/sys/vm/overcommit_memory");
  const std::string what = absl::StrCat("vm.overcommit_memory = ", mode);
  if (mode == 2) {
    return {Level::kBad, "overcommit", what + ": neither the memory nor its forks fit into the commit limit",
            "sysctl vm.overcommit_memory=0"};
  }
  return {mode < 0 ? Level::kSkipped : Level::kGood, "overcommit", what, ""};
}

Finding examine_swap(const KernelFiles& kernel) {
  const int64_t swap = kernel.bytes("proc/meminfo", "SwapTotal");
  const int64_t swappiness = kernel.number("proc/sys/vm/swappiness");
  if (swap <= 0) return {Level::kGood, "swap", "there is none", ""};
  const std::string what = absl::StrCat(bytes_text(swap), " of swap, vm.swappiness = ", swappiness);
  if (swappiness <= kSwappiness) return {Level::kGood, "swap", what, ""};
  return {Level::kWarning, "swap", what, "sysctl vm.swappiness=1: a main-memory database that is swapped out is none."};
}

Finding examine_mappings(const KernelFiles& kernel) {
  const int64_t most = kernel.number("proc/sys/vm/max_map_count");
  if (most < 0) return {Level::kSkipped, "mappings", "vm.max_map_count cannot be read", ""};
  const std::string what = absl::StrCat("vm.max_map_count = ", most);
  if (most >= kMappings) return {Level::kGood, "mappings", what, ""};
  return {Level::kWarning, "mappings", what, absl::StrCat("sysctl vm.max_map_count=", kMappings)};
}

Finding examine_clock_source(const KernelFiles& kernel) {
  const std::string source = kernel.text("sys/devices/system/clocksource/clocksource0/current_clocksource");
  if (source.empty()) return {Level::kSkipped, "clock source", "it cannot be read", ""};
  if (source == "tsc" || source == "kvm-clock" || source == "arch_sys_counter" || absl::StartsWith(source, "hyperv")) {
    return {Level::kGood, "clock source", source, ""};
  }
  return {Level::kWarning, "clock source", source + " is slow to read", "Find out why the kernel does not use tsc."};
}

// Only ages in receipts and times of archives come from it; safety does not.
Finding examine_clock() {
  timex state{};
  const int answer = ::adjtimex(&state);
  if (answer < 0) return {Level::kSkipped, "clock", "its state cannot be read", ""};
  if (answer != TIME_ERROR && (state.status & STA_UNSYNC) == 0) return {Level::kGood, "clock", "synchronised", ""};
  return {Level::kWarning, "clock", "not synchronised",
          "Run chrony or systemd-timesyncd: restores to a time and ages of answers go by it."};
}

Finding examine_governor(const KernelFiles& kernel) {
  const std::string governor = kernel.text("sys/devices/system/cpu/cpu0/cpufreq/scaling_governor");
  if (governor.empty()) return {Level::kSkipped, "cpu governor", "the machine does not tell", ""};
  if (governor == "performance" || governor == "schedutil") return {Level::kGood, "cpu governor", governor, ""};
  return {Level::kWarning, "cpu governor", governor, "cpupower frequency-set -g performance"};
}

}  // namespace

std::string KernelFiles::text(const std::string& path) const {
  std::ifstream file(absl::StrCat(root_, "/", path));
  std::stringstream content;
  content << file.rdbuf();
  return std::string(absl::StripAsciiWhitespace(content.str()));
}

int64_t KernelFiles::number(const std::string& path) const {
  int64_t value = -1;
  return absl::SimpleAtoi(text(path), &value) ? value : -1;
}

int64_t KernelFiles::bytes(const std::string& path, const std::string& key) const {
  std::stringstream lines(text(path));
  std::string line;
  while (std::getline(lines, line)) {
    absl::string_view rest = line;
    if (!absl::ConsumePrefix(&rest, key) || !absl::ConsumePrefix(&rest, ":")) continue;
    const bool is_kb = absl::ConsumeSuffix(&rest, " kB");
    int64_t value = -1;
    if (!absl::SimpleAtoi(rest, &value)) return -1;
    return is_kb ? value << 10 : value;
  }
  return -1;
}

std::vector<Finding> examine_kernel(const KernelFiles& kernel, const server::NodeConfig& config) {
  return {examine_memory(kernel, config),
          examine_pages(kernel, config),
          examine_accounting(kernel),
          examine_swap(kernel),
          examine_mappings(kernel),
          examine_clock_source(kernel),
          examine_clock(),
          examine_governor(kernel)};
}

}  // namespace scyper::client
