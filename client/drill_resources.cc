#include "drill_resources.h"

#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"

namespace scyper::client {

namespace {

namespace fs = std::filesystem;

int64_t resident_bytes(const std::string& process) {
  int64_t pages = 0, resident = 0;
  std::ifstream(process + "/statm") >> pages >> resident;
  return resident * ::sysconf(_SC_PAGESIZE);
}

int64_t count_entries(const std::string& folder) {
  int64_t count = 0;
  std::error_code error;
  for (fs::directory_iterator at(folder, error), end; !error && at != end; at.increment(error)) ++count;
  return count;
}

int64_t count_children(const std::string& process) {
  int64_t count = 0;
  std::error_code error;
  for (fs::directory_iterator at(process + "/task", error), end; !error && at != end; at.increment(error)) {
    std::ifstream children(at->path() / "children");
    for (pid_t child = 0; children >> child;) ++count;
  }
  return count;
}

}  // namespace

bool DrillResources::is_back(const DrillResources& before, double memory_share) const {
  const double memory_max = static_cast<double>(before.memory_bytes) * (1 + memory_share);
  return static_cast<double>(memory_bytes) <= memory_max && descriptors <= before.descriptors &&
         children <= before.children;
}

std::string DrillResources::describe() const {
  return absl::StrFormat("%.1f MB, %d descriptors, %d children", static_cast<double>(memory_bytes) / (1 << 20),
                         descriptors, children);
}

DrillResources read_resources(std::span<const pid_t> pids) {
  DrillResources all;
  for (pid_t pid : pids) {
    const std::string process = absl::StrCat("/proc/", pid);
    all.memory_bytes += resident_bytes(process);
    all.descriptors += count_entries(process + "/fd");
    all.children += count_children(process);
  }
  return all;
}

}  // namespace scyper::client
