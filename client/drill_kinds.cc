#include "drill_kinds.h"

#include <unistd.h>

#include <algorithm>

namespace scyper::client {

const std::vector<std::string>& drill_kinds() {
  static const std::vector<std::string> kinds = {
      "kill-primary",   "brief-freeze",  "freeze-primary",      "brief-isolation", "isolate-primary",
      "kill-secondary", "kill-snapshot", "kill-at-failpoint",   "switchover",      "rolling-restart",
      "etcd-restart",   "etcd-down",     "etcd-and-voter-down", "disk-full"};
  return kinds;
}

bool needs_spaces(const std::string& kind) { return kind == "isolate-primary" || kind == "brief-isolation"; }
bool needs_disks(const std::string& kind) { return kind == "disk-full"; }

bool has_any(const std::vector<std::string>& kinds, bool (*needs)(const std::string&)) {
  return std::any_of(kinds.begin(), kinds.end(), needs);
}

std::vector<std::string> turns_of(const DrillOptions& options) {
  if (options.kind != "all-in-turn") return {options.kind};
  if (!options.kinds.empty()) return options.kinds;
  std::vector<std::string> all = drill_kinds();
  std::erase(all, "kill-at-failpoint");  // several elections for one fault
  if (::geteuid() != 0) std::erase_if(all, [](const auto& kind) { return needs_spaces(kind) || needs_disks(kind); });
  return all;
}

}  // namespace scyper::client
