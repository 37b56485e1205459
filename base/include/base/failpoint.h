#pragma once

#include <atomic>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"

namespace scyper {

// A named place where tests and drills make the program fail. Compiled in always, off by default; off, fires() is one
// relaxed load. Defined at namespace scope of the .cc file that has the place, never destroyed:
//
//   Failpoint before_fsync("log.before_fsync");
//   ...
//   if (before_fsync.fires()) return absl::InternalError("failpoint log.before_fsync");
//
// Threads: fires() from any thread. Fork: the child may call it; off unless armed before the fork.
class Failpoint {
 public:
  // name: a literal, `area.place`, unique in the program.
  explicit Failpoint(const char* name);
  Failpoint(const Failpoint&) = delete;
  Failpoint& operator=(const Failpoint&) = delete;

  // True when the place shall fail now. The actions sleep and exit happen in here; after a sleep it returns false.
  bool fires() noexcept { return armed_.load(std::memory_order_relaxed) && fires_armed(); }

  const char* name() const { return name_; }
  // How often it has failed, slept or exited since it was armed.
  uint64_t count() const { return count_.load(std::memory_order_relaxed); }

 private:
  friend Status arm_failpoints(std::string_view spec);
  friend void disarm_failpoints();
  friend std::vector<std::string> failpoint_names();

  enum class Action : uint8_t { kFail, kSleep, kExit };
  struct Plan {
    Action action = Action::kFail;
    uint32_t sleep_ms = 0;
    uint64_t skip = 0;              // the first `skip` passes do nothing
    uint64_t times = ~uint64_t{0};  // then `times` passes act
  };
  static Status parse(std::string_view text, Plan* plan);
  static Failpoint* find(std::string_view name);
  bool fires_armed() noexcept;

  const char* name_;
  Failpoint* next_;  // list of all, built before main()
  std::atomic<bool> armed_{false};
  std::atomic<uint64_t> passes_{0};
  std::atomic<uint64_t> count_{0};
  // The plan, field by field: a pass that races with arming sees a mixture at worst, for one pass.
  std::atomic<Action> action_{Action::kFail};
  std::atomic<uint32_t> sleep_ms_{0};
  std::atomic<uint64_t> skip_{0};
  std::atomic<uint64_t> times_{0};
};

// Arms failpoints: `name=action[;name=action...]`, action = fail | sleep(ms) | exit | off, then optionally `@skip`
// (passes that do nothing first) and `*times` (passes that act): "log.before_fsync=fail@3*1" fails the fourth fsync
// only. exit leaves by _exit(134), without flushing anything, as a crash would. An unknown name or action arms nothing
// and is an error.
Status arm_failpoints(std::string_view spec);
void disarm_failpoints();
std::vector<std::string> failpoint_names();

}  // namespace scyper
