#include "thread_times.h"

#include <sys/resource.h>

#include <algorithm>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <system_error>

namespace scyper::client {

namespace {

constexpr double kNsPerMs = 1e6;
constexpr int kFaultsField = 10;  // of /proc/PID/task/TID/stat, proc(5)
constexpr int kStateField = 3;    // the first one behind the name

double ms_of(const timeval& time) {
  return static_cast<double>(time.tv_sec) * 1e3 + static_cast<double>(time.tv_usec) / 1e3;
}

ThreadTimes times_of(const rusage& usage) {
  return {ms_of(usage.ru_utime) + ms_of(usage.ru_stime), 0, static_cast<uint64_t>(usage.ru_minflt)};
}

// False: it has ended meanwhile.
bool read_thread(const std::filesystem::path& task, std::string* name, ThreadTimes* times) {
  double cpu_ns = 0, wait_ns = 0;
  std::string stat;
  const bool is_whole = static_cast<bool>(std::getline(std::ifstream(task / "comm"), *name)) &&
                        static_cast<bool>(std::ifstream(task / "schedstat") >> cpu_ns >> wait_ns) &&
                        static_cast<bool>(std::getline(std::ifstream(task / "stat"), stat));
  const size_t behind_name = stat.rfind(')');
  if (!is_whole || behind_name == std::string::npos) return false;
  std::istringstream fields(stat.substr(behind_name + 1));
  std::string field;
  for (int i = kStateField; i <= kFaultsField; ++i) fields >> field;
  *times = {cpu_ns / kNsPerMs, wait_ns / kNsPerMs, std::strtoull(field.c_str(), nullptr, 10)};
  return true;
}

void add(const ThreadTimes& more, ThreadTimes* sum) {
  sum->cpu_ms += more.cpu_ms;
  sum->wait_ms += more.wait_ms;
  sum->faults += more.faults;
}

}  // namespace

std::map<std::string, ThreadTimes> thread_times() {
  std::map<std::string, ThreadTimes> result;
  ThreadTimes living;
  std::error_code error;
  for (const auto& task : std::filesystem::directory_iterator("/proc/self/task", error)) {
    std::string name;
    ThreadTimes times;
    if (!read_thread(task.path(), &name, &times)) continue;
    add(times, &result[name]);
    add(times, &living);
  }
  if (result.empty()) return result;
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  const ThreadTimes all = times_of(usage);
  result["ended"] = {std::max(0.0, all.cpu_ms - living.cpu_ms), 0, all.faults - std::min(all.faults, living.faults)};
  getrusage(RUSAGE_CHILDREN, &usage);
  result["children"] = times_of(usage);
  return result;
}

std::map<std::string, ThreadTimes> difference(const std::map<std::string, ThreadTimes>& before,
                                              const std::map<std::string, ThreadTimes>& after) {
  constexpr double kShownMsMin = 1;
  std::map<std::string, ThreadTimes> result;
  for (const auto& [name, times] : after) {
    auto known = before.find(name);
    const ThreadTimes old = known == before.end() ? ThreadTimes{} : known->second;
    const ThreadTimes more{times.cpu_ms - old.cpu_ms, times.wait_ms - old.wait_ms,
                           times.faults - std::min(times.faults, old.faults)};
    if (more.cpu_ms >= kShownMsMin) result[name] = more;
  }
  return result;
}

double process_cpu_s() {
  timespec time;
  ::clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) / 1e9;
}

}  // namespace scyper::client
