#include "base/failpoint.h"

#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cstring>
#include <optional>
#include <utility>

#include "base/check.h"

namespace scyper {

namespace {
constexpr int kExitCode = 134;  // what a shell reports for SIGABRT

constinit Failpoint* first_failpoint = nullptr;  // changed before main() only

Status spec_error(std::string_view what, std::string_view text) {
  return absl::InvalidArgumentError(std::string(what).append(": '").append(text).append("'"));
}

// Cuts `mark number` off the end of text; `otherwise` if there is no mark.
std::optional<uint64_t> cut_number(std::string_view* text, char mark, uint64_t otherwise) {
  const size_t at = text->rfind(mark);
  if (at == std::string_view::npos) return otherwise;
  uint64_t number = 0;
  const char* end = text->data() + text->size();
  auto [stop, error] = std::from_chars(text->data() + at + 1, end, number);
  if (error != std::errc() || stop != end) return std::nullopt;
  text->remove_suffix(text->size() - at);
  return number;
}
}  // namespace

Failpoint::Failpoint(const char* name) : name_(name), next_(std::exchange(first_failpoint, this)) {
  for (Failpoint* other = next_; other != nullptr; other = other->next_) CHECK(std::strcmp(other->name_, name) != 0);
}

bool Failpoint::fires_armed() noexcept {
  const uint64_t pass = passes_.fetch_add(1);
  const uint64_t skip = skip_.load();
  if (pass < skip || pass - skip >= times_.load()) return false;
  count_.fetch_add(1);
  switch (action_.load()) {
    case Action::kFail:
      return true;
    case Action::kSleep: {
      const uint32_t ms = sleep_ms_.load();
      timespec time{ms / 1000, static_cast<long>(ms % 1000) * 1'000'000};
      ::nanosleep(&time, nullptr);
      return false;
    }
    case Action::kExit:
      ::_exit(kExitCode);
  }
  return false;
}

Failpoint* Failpoint::find(std::string_view name) {
  Failpoint* point = first_failpoint;
  while (point != nullptr && name != point->name_) point = point->next_;
  return point;
}

Status Failpoint::parse(std::string_view text, Plan* plan) {
  const std::string_view whole = text;
  const std::optional<uint64_t> times = cut_number(&text, '*', plan->times);
  const std::optional<uint64_t> skip = cut_number(&text, '@', 0);
  if (!times || !skip) return spec_error("failpoint: no number after @ or *", whole);
  plan->times = *times;
  plan->skip = *skip;
  if (text == "off") {
    plan->times = 0;
  } else if (text == "fail") {
    plan->action = Action::kFail;
  } else if (text == "exit") {
    plan->action = Action::kExit;
  } else if (text.starts_with("sleep(") && text.ends_with(")")) {
    text.remove_suffix(1);
    const std::optional<uint64_t> ms = cut_number(&text, '(', 0);
    if (!ms || *ms > 3'600'000) return spec_error("failpoint: sleep takes milliseconds, an hour at most", whole);
    plan->action = Action::kSleep;
    plan->sleep_ms = static_cast<uint32_t>(*ms);
  } else {
    return spec_error("failpoint: the actions are fail, sleep(ms), exit and off, not", whole);
  }
  return absl::OkStatus();
}

Status arm_failpoints(std::string_view spec) {
  std::vector<std::pair<Failpoint*, Failpoint::Plan>> plans;
  while (!spec.empty()) {
    const std::string_view item = spec.substr(0, spec.find(';'));
    spec.remove_prefix(std::min(spec.size(), item.size() + 1));
    const size_t equals = item.find('=');
    if (equals == std::string_view::npos) return spec_error("failpoint: not name=action", item);
    Failpoint* point = Failpoint::find(item.substr(0, equals));
    if (point == nullptr) return spec_error("failpoint: no such failpoint", item.substr(0, equals));
    Failpoint::Plan plan;
    SCYPER_RETURN_IF_ERROR(Failpoint::parse(item.substr(equals + 1), &plan));
    plans.emplace_back(point, plan);
  }
  for (auto& [point, plan] : plans) {
    point->armed_ = false;
    point->passes_ = 0;
    point->count_ = 0;
    point->action_ = plan.action;
    point->sleep_ms_ = plan.sleep_ms;
    point->skip_ = plan.skip;
    point->times_ = plan.times;
    point->armed_ = plan.times > 0;
  }
  return absl::OkStatus();
}

void disarm_failpoints() {
  for (Failpoint* point = first_failpoint; point != nullptr; point = point->next_) point->armed_ = false;
}

std::vector<std::string> failpoint_names() {
  std::vector<std::string> names;
  for (Failpoint* point = first_failpoint; point != nullptr; point = point->next_) names.emplace_back(point->name_);
  std::sort(names.begin(), names.end());
  return names;
}

}  // namespace scyper
