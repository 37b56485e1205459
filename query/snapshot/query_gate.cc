#include "snapshot/query_gate.h"

#include <algorithm>
#include <chrono>
#include <tuple>

#include "base/bounded_work.h"
#include "query/stopping.h"

namespace scyper::query {

namespace {
constexpr int64_t kPollNs = 10'000'000;  // how late a cancellation is noticed
}  // namespace

StatusOr<std::shared_ptr<void>> QueryGate::enter(const std::string& client, int64_t deadline_ns) {
  std::unique_lock<std::mutex> lock(mutex_);
  if (is_stopping_) return stopping_error();
  if (running_ >= running_max_ || !waiting_.empty()) {
    if (waiting_.size() >= waiting_max_) {
      return with_hint(sql_error("53300", "too many queries are waiting"), "Retry after 100 ms.");
    }
    ++clients_[client].references;
    auto own = waiting_.insert(waiting_.end(), Waiting{&client, false});
    admit();
    Status status;
    while (!own->is_next) {
      const int64_t now_ns = clock_.monotonic_ns();
      if (is_stopping_) status = stopping_error();
      if (deadline_ns != 0 && now_ns >= deadline_ns) {
        status = sql_error("57014", "canceling statement due to statement timeout");
      }
      if (work_must_end()) status = sql_error("57014", "canceling statement due to user request");
      if (!status.ok()) break;
      const int64_t wait_ns = deadline_ns == 0 ? kPollNs : std::min(kPollNs, deadline_ns - now_ns);
      changed_.wait_for(lock, std::chrono::nanoseconds(wait_ns));
    }
    const bool is_admitted = own->is_next;
    waiting_.erase(own);
    auto known = clients_.find(client);
    if (--known->second.references == 0 && !is_admitted) clients_.erase(known);
    if (!is_admitted) return status;
  } else {
    start(client);
  }
  auto self = shared_from_this();
  return std::shared_ptr<void>(nullptr, [self, client](void*) { self->leave(client); });
}

void QueryGate::start(const std::string& client) {
  Client& known = clients_[client];
  ++known.running;
  ++known.references;
  known.last_served = ++served_;
  ++running_;
}

void QueryGate::leave(const std::string& client) {
  std::lock_guard<std::mutex> lock(mutex_);
  auto known = clients_.find(client);
  --known->second.running;
  --running_;
  if (--known->second.references == 0) clients_.erase(known);
  admit();
}

void QueryGate::admit() {
  while (running_ < running_max_) {
    auto best = waiting_.end();
    auto rank = [this](const Waiting& waiting) {
      const Client& client = clients_.at(*waiting.client);
      return std::tuple(client.running, client.last_served);
    };
    for (auto it = waiting_.begin(); it != waiting_.end(); ++it) {
      if (!it->is_next && (best == waiting_.end() || rank(*it) < rank(*best))) best = it;
    }
    if (best == waiting_.end()) break;
    best->is_next = true;
    start(*best->client);
  }
  changed_.notify_all();
}

void QueryGate::stop() {
  {
    std::lock_guard<std::mutex> lock(mutex_);
    is_stopping_ = true;
  }
  changed_.notify_all();
}

uint32_t QueryGate::running() const {
  std::lock_guard<std::mutex> lock(mutex_);
  return running_;
}
uint32_t QueryGate::waiting() const {
  std::lock_guard<std::mutex> lock(mutex_);
  return static_cast<uint32_t>(waiting_.size());
}

}  // namespace scyper::query
