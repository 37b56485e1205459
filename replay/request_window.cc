#include "replay/request_window.h"

#include <cstring>

namespace scyper::replay {

namespace {
struct Stored {
  RequestWindow::Key key;
  RequestWindow::Outcome outcome;
};
static_assert(sizeof(Stored) == 32);
}  // namespace

bool RequestWindow::begin(Key key, Outcome* known) {
  std::lock_guard<std::mutex> lock(mutex_);
  const auto [found, is_new] = requests_.try_emplace(key);
  *known = found->second;
  return is_new;
}

void RequestWindow::finish(Key key, Outcome outcome) {
  std::lock_guard<std::mutex> lock(mutex_);
  requests_[key] = outcome;
  order_.push_back(key);
  while (order_.size() > capacity_) {
    requests_.erase(order_.front());
    order_.pop_front();
  }
}

void RequestWindow::forget(Key key) {
  std::lock_guard<std::mutex> lock(mutex_);
  const auto found = requests_.find(key);
  if (found != requests_.end() && found->second.lsn == 0) requests_.erase(found);
}

size_t RequestWindow::size() const {
  std::lock_guard<std::mutex> lock(mutex_);
  return order_.size();
}

std::string RequestWindow::encode(uint64_t lsn_max) const {
  std::lock_guard<std::mutex> lock(mutex_);
  std::string out;
  for (const Key& key : order_) {
    const auto found = requests_.find(key);
    if (found == requests_.end() || found->second.lsn > lsn_max) continue;
    const Stored stored{key, found->second};
    out.append(reinterpret_cast<const char*>(&stored), sizeof(stored));
  }
  return out;
}

Status RequestWindow::decode(std::string_view bytes) {
  if (bytes.size() % sizeof(Stored) != 0) return sql_error("XX001", "the request ids of the archive are damaged");
  for (size_t at = 0; at < bytes.size(); at += sizeof(Stored)) {
    Stored stored;
    std::memcpy(&stored, bytes.data() + at, sizeof(stored));
    finish(stored.key, stored.outcome);
  }
  return Status();
}

}  // namespace scyper::replay
