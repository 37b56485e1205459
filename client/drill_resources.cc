#include "drill_resources.h"

#include <algorithm>
#include <filesystem>
#include <fstream>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"

namespace scyper::client {

namespace {

namespace fs = std::filesystem;

// "RssAnon:   1234 kB"
int64_t status_bytes(const std::string& process, const std::string& name) {
  std::ifstream status(process + "/status");
  for (std::string word; status >> word;) {
    if (int64_t kilobytes = 0; word == name && status >> kilobytes) return kilobytes << 10;
  }
  return 0;
}

int64_t count_entries(const std::string& folder) {
  int64_t count = 0;
  std::error_code error;
  for (fs::directory_iterator at(folder, error), end; !error && at != end; at.increment(error)) ++count;
  return count;
}

}  // namespace

std::vector<pid_t> children_of(pid_t pid) {
  std::vector<pid_t> found;
  std::error_code error;
  for (fs::directory_iterator at(absl::StrCat("/proc/", pid, "/task"), error), end; !error && at != end;
       at.increment(error)) {
    std::ifstream children(at->path() / "children");
    for (pid_t child = 0; children >> child;) found.push_back(child);
  }
  return found;
}

void DrillResources::lower(const DrillResources& other) {
  memory_bytes = std::min(memory_bytes, other.memory_bytes);
  anonymous_bytes = std::min(anonymous_bytes, other.anonymous_bytes);
  descriptors = std::min(descriptors, other.descriptors);
  children = std::min(children, other.children);
}

std::string DrillResources::describe() const {
  const auto megabytes = [](int64_t bytes) { return static_cast<double>(bytes) / (1 << 20); };
  return absl::StrFormat("%.1f MB (%.1f of no file), %d descriptors, %d children", megabytes(memory_bytes),
                         megabytes(anonymous_bytes), descriptors, children);
}

DrillResources read_resources(std::span<const pid_t> pids) {
  DrillResources all;
  for (pid_t pid : pids) {
    const std::string process = absl::StrCat("/proc/", pid);
    all.memory_bytes += status_bytes(process, "VmRSS:");
    all.anonymous_bytes += status_bytes(process, "RssAnon:");
    all.descriptors += count_entries(process + "/fd");
    all.children += static_cast<int64_t>(children_of(pid).size());
  }
  return all;
}

double memory_drift(std::span<const DrillResources> levels) {
  const size_t part = std::max<size_t>(levels.size() / 3, 1);
  if (levels.size() < 2) return 0;
  double early = 0, late = 0;
  for (const DrillResources& level : levels.first(part)) early += static_cast<double>(level.memory_bytes);
  for (const DrillResources& level : levels.last(part)) late += static_cast<double>(level.memory_bytes);
  return early == 0 ? 0 : late / early - 1;
}

}  // namespace scyper::client
