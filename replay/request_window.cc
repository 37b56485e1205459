#include "replay/request_window.h"

#include <utility>

#include "base/check.h"

namespace scyper::replay {

namespace {

constexpr uint32_t kVersion = 2;
// Instead of the size of the rows.
constexpr uint32_t kNoRows = ~uint32_t{0}, kPart = ~uint32_t{0} - 1;

template <typename T>
void put(std::string* out, T number) {
  out->append(reinterpret_cast<const char*>(&number), sizeof(number));
}

// Zero behind the end; ok says so.
struct Input {
  std::string_view bytes;
  bool ok = true;

  template <typename T>
  T number() {
    T value{};
    const std::string_view raw = text(sizeof(T));
    if (ok) std::memcpy(&value, raw.data(), sizeof(T));
    return value;
  }
  std::string_view text(size_t size) {
    ok = ok && size <= bytes.size();
    if (!ok) return {};
    const std::string_view front = bytes.substr(0, size);
    bytes.remove_prefix(size);
    return front;
  }
};

}  // namespace

RequestWindow::Answer RequestWindow::find(Key key, Outcome* known) const {
  std::lock_guard<std::mutex> lock(mutex_);
  if (const auto found = requests_.find(key); found != requests_.end()) {
    *known = found->second;
    return Answer::kCommitted;
  }
  const auto client = clients_.find(key.client_id);
  const bool is_forgotten =
      client != clients_.end() ? key.request_id <= client->second.forgotten_id : key.client_id <= forgotten_client_;
  return is_forgotten ? Answer::kForgotten : Answer::kNew;
}

void RequestWindow::finish(Key key, Outcome outcome) {
  std::lock_guard<std::mutex> lock(mutex_);
  insert(key, std::move(outcome));
}

void RequestWindow::finish(const RecordView& record) {
  if ((record.header.flags & kRedoHasClient) == 0) return;
  RedoClient client;
  std::string_view body = record.body, rows;
  if (!take_client(&body, &client, &rows)) return;
  Outcome outcome{record.header.lsn, client.affected_rows, client.lacks_rows == 0, std::string(rows)};
  outcome.is_part = client.lacks_rows == RedoClient::kPartOnly;
  finish({client.client_id, record.header.request_id}, std::move(outcome));
}

void RequestWindow::insert(Key key, Outcome outcome) {
  const uint64_t lsn = outcome.lsn;
  if (outcome.lsn < rows_from_lsn_ && !outcome.rows.empty()) {
    outcome.has_rows = false;
    outcome.rows.clear();
  }
  if (const auto known = requests_.find(key); known != requests_.end()) {
    if (!known->second.is_part || lsn < known->second.lsn) return;  // its first commit counts
    row_bytes_ += outcome.rows.size();
    order_.erase(known->second.lsn);
    known->second = std::move(outcome);
    order_.emplace(lsn, key);
    Client& client = clients_[key.client_id];
    client.last_lsn = std::max(client.last_lsn, lsn);
    while (row_bytes_ > row_bytes_max_) drop_rows();
    return;
  }
  row_bytes_ += outcome.rows.size();
  requests_.emplace(key, std::move(outcome));
  order_.emplace(lsn, key);
  Client& client = clients_[key.client_id];
  if (client.remembered == 0) idle_.erase(client.last_lsn);
  ++client.remembered;
  client.last_lsn = std::max(client.last_lsn, lsn);
  while (order_.size() > capacity_) forget_oldest();
  while (row_bytes_ > row_bytes_max_) drop_rows();
}

void RequestWindow::forget_oldest() {
  const auto oldest = order_.begin();
  const Key key = oldest->second;
  const auto found = requests_.find(key);
  CHECK(found != requests_.end());
  row_bytes_ -= found->second.rows.size();
  requests_.erase(found);
  order_.erase(oldest);
  Client& client = clients_[key.client_id];
  client.forgotten_id = std::max(client.forgotten_id, key.request_id);
  if (--client.remembered > 0) return;
  idle_[client.last_lsn] = key.client_id;
  if (idle_.size() <= kIdleClientsMax) return;
  forgotten_client_ = std::max(forgotten_client_, idle_.begin()->second);
  clients_.erase(idle_.begin()->second);
  idle_.erase(idle_.begin());
}

// Of the oldest request that has some.
void RequestWindow::drop_rows() {
  auto at = order_.lower_bound(rows_from_lsn_);
  for (; at != order_.end(); ++at) {
    Outcome& outcome = requests_[at->second];
    rows_from_lsn_ = at->first + 1;
    if (outcome.rows.empty()) continue;
    row_bytes_ -= outcome.rows.size();
    outcome.has_rows = false;
    outcome.rows = std::string();
    return;
  }
  CHECK(row_bytes_ == 0);
}

size_t RequestWindow::size() const {
  std::lock_guard<std::mutex> lock(mutex_);
  return order_.size();
}

std::string RequestWindow::encode(uint64_t lsn_max) const {
  std::lock_guard<std::mutex> lock(mutex_);
  std::string out;
  put(&out, kVersion);
  put(&out, forgotten_client_);
  put(&out, rows_from_lsn_);
  std::map<uint64_t, Client> forgotten;  // sorted: the same state gives the same bytes
  for (const auto& [id, client] : clients_) {
    if (client.forgotten_id != 0 || client.remembered == 0) forgotten[id] = client;
  }
  put(&out, uint64_t{forgotten.size()});
  for (const auto& [id, client] : forgotten) {
    put(&out, id);
    put(&out, client.forgotten_id);
    put(&out, client.last_lsn);
  }
  for (const auto& [lsn, key] : order_) {
    if (lsn > lsn_max) break;
    const Outcome& outcome = requests_.at(key);
    put(&out, key);
    put(&out, lsn);
    put(&out, outcome.affected_rows);
    put(&out, static_cast<uint32_t>(outcome.is_part ? kPart : outcome.has_rows ? outcome.rows.size() : kNoRows));
    out += outcome.rows;
  }
  return out;
}

Status RequestWindow::decode(std::string_view bytes) {
  const Status damaged = sql_error("XX001", "the request ids of the archive are damaged");
  Input in{bytes};
  if (in.number<uint32_t>() != kVersion) return damaged;
  std::lock_guard<std::mutex> lock(mutex_);
  requests_.clear();
  order_.clear();
  clients_.clear();
  idle_.clear();
  row_bytes_ = 0;
  forgotten_client_ = in.number<uint64_t>();
  rows_from_lsn_ = in.number<uint64_t>();
  for (auto left = in.number<uint64_t>(); left > 0 && in.ok; --left) {
    const auto id = in.number<uint64_t>();
    Client client;
    client.forgotten_id = in.number<uint64_t>();
    client.last_lsn = in.number<uint64_t>();
    if (!in.ok) return damaged;
    clients_[id] = client;
    idle_[client.last_lsn] = id;
  }
  while (in.ok && !in.bytes.empty()) {
    const Key key = in.number<Key>();
    Outcome outcome;
    outcome.lsn = in.number<uint64_t>();
    outcome.affected_rows = in.number<uint64_t>();
    const auto size = in.number<uint32_t>();
    outcome.is_part = size == kPart;
    outcome.has_rows = size != kNoRows && size != kPart;
    if (outcome.has_rows) outcome.rows = std::string(in.text(size));
    if (!in.ok || outcome.lsn == 0) return damaged;
    insert(key, std::move(outcome));
  }
  return in.ok ? Status() : damaged;
}

}  // namespace scyper::replay
