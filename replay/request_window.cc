#include "replay/request_window.h"

#include <utility>

#include "base/check.h"

namespace scyper::replay {

namespace {

constexpr uint32_t kVersion = 3, kVersionWithoutRoles = 2;
// Instead of the size of the rows.
constexpr uint32_t kNoRows = ~uint32_t{0}, kPart = ~uint32_t{0} - 1;

template <typename T>
void put(std::string* out, T number) {
  out->append(reinterpret_cast<const char*>(&number), sizeof(number));
}

}  // namespace

// Zero behind the end; ok says so.
struct RequestInput {
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

RequestWindow::Answer RequestWindow::find(const Key& key, uint64_t fingerprint, Outcome* known) const {
  std::lock_guard<std::mutex> lock(mutex_);
  if (const auto found = requests_.find(key); found != requests_.end()) {
    if (found->second.fingerprint != fingerprint) return Answer::kAnother;
    *known = found->second;
    return Answer::kCommitted;
  }
  return is_forgotten(key) ? Answer::kForgotten : Answer::kNew;
}

bool RequestWindow::is_forgotten(const Key& key) const {
  const auto is_old = [&key](const Role& role, bool if_unknown) {
    const auto client = role.clients.find(key.client_id);
    return client != role.clients.end() ? key.request_id <= client->second.forgotten_id : if_unknown;
  };
  // it has committed, perhaps: an old log does not say whether it was this role's
  if (requests_.contains({key.client_id, key.request_id, kUnknownRole})) return true;
  const auto unknown = roles_.find(kUnknownRole), role = roles_.find(key.role_id);
  if (unknown != roles_.end() && is_old(unknown->second, /*if_unknown=*/false)) return true;
  return role != roles_.end() && is_old(role->second, key.client_id <= role->second.forgotten_client);
}

void RequestWindow::finish(const Key& key, Outcome outcome) {
  std::lock_guard<std::mutex> lock(mutex_);
  insert(key, std::move(outcome));
}

void RequestWindow::finish(const RecordView& record) {
  if ((record.header.flags & kRedoHasClient) == 0) return;
  RedoClient client;
  std::string_view body = record.body, rows;
  if (!take_client(&body, &client, &rows)) return;
  Outcome outcome{record.header.lsn, client.affected_rows, true, std::string(rows)};
  outcome.is_part = (client.flags & RedoClient::kPartOnly) != 0;
  outcome.has_rows = !outcome.is_part && (client.flags & RedoClient::kLacksRows) == 0;
  outcome.fingerprint = client.fingerprint;
  finish({client.client_id, record.header.request_id, client.role_id}, std::move(outcome));
}

void RequestWindow::insert(const Key& key, Outcome outcome) {
  const uint64_t lsn = outcome.lsn;
  if (outcome.lsn < rows_from_lsn_ && !outcome.rows.empty()) {
    outcome.has_rows = false;
    outcome.rows.clear();
  }
  Role& role = roles_[key.role_id];
  if (const auto known = requests_.find(key); known != requests_.end()) {
    if (!known->second.is_part || lsn < known->second.lsn) return;  // its first commit counts
    row_bytes_ += outcome.rows.size();
    order_.erase(known->second.lsn);
    known->second = std::move(outcome);
    order_.emplace(lsn, key);
    Client& client = role.clients[key.client_id];
    client.last_lsn = std::max(client.last_lsn, lsn);
    while (row_bytes_ > row_bytes_max_) drop_rows();
    return;
  }
  row_bytes_ += outcome.rows.size();
  requests_.emplace(key, std::move(outcome));
  order_.emplace(lsn, key);
  Client& client = role.clients[key.client_id];
  if (client.remembered == 0) role.idle.erase(client.last_lsn);
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
  Role& role = roles_[key.role_id];
  Client& client = role.clients[key.client_id];
  client.forgotten_id = std::max(client.forgotten_id, key.request_id);
  if (--client.remembered > 0) return;
  role.idle[client.last_lsn] = key.client_id;
  if (role.idle.size() <= kIdleClientsMax) return;
  const uint64_t client_id = role.idle.begin()->second;
  role.forgotten_client = std::max(role.forgotten_client, client_id);
  role.clients.erase(client_id);
  role.idle.erase(role.idle.begin());
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
  put(&out, rows_from_lsn_);
  put(&out, static_cast<uint32_t>(roles_.size()));
  for (const auto& [role_id, role] : roles_) {
    std::map<uint64_t, Client> forgotten;  // sorted: the same state gives the same bytes
    for (const auto& [id, client] : role.clients) {
      if (client.forgotten_id != 0 || client.remembered == 0) forgotten[id] = client;
    }
    put(&out, role_id);
    put(&out, role.forgotten_client);
    put(&out, uint64_t{forgotten.size()});
    for (const auto& [id, client] : forgotten) {
      put(&out, id);
      put(&out, client.forgotten_id);
      put(&out, client.last_lsn);
    }
  }
  for (const auto& [lsn, key] : order_) {
    if (lsn > lsn_max) break;
    const Outcome& outcome = requests_.at(key);
    put(&out, key.role_id);
    put(&out, key.client_id);
    put(&out, key.request_id);
    put(&out, outcome.fingerprint);
    put(&out, lsn);
    put(&out, outcome.affected_rows);
    put(&out, static_cast<uint32_t>(outcome.is_part ? kPart : outcome.has_rows ? outcome.rows.size() : kNoRows));
    out += outcome.rows;
  }
  return out;
}

void RequestWindow::clear() {
  requests_.clear();
  order_.clear();
  roles_.clear();
  row_bytes_ = 0;
}

// False: cut off.
bool RequestWindow::decode_roles(RequestInput* in, bool has_roles) {
  uint64_t forgotten_client = 0;
  if (!has_roles) forgotten_client = in->number<uint64_t>();
  rows_from_lsn_ = in->number<uint64_t>();
  for (uint32_t roles = has_roles ? in->number<uint32_t>() : 1; roles > 0 && in->ok; --roles) {
    Role& role = roles_[has_roles ? in->number<uint32_t>() : kUnknownRole];
    role.forgotten_client = has_roles ? in->number<uint64_t>() : forgotten_client;
    for (auto left = in->number<uint64_t>(); left > 0 && in->ok; --left) {
      const auto id = in->number<uint64_t>();
      Client client;
      client.forgotten_id = in->number<uint64_t>();
      client.last_lsn = in->number<uint64_t>();
      if (!in->ok) return false;
      role.clients[id] = client;
      role.idle[client.last_lsn] = id;
    }
  }
  return in->ok;
}

Status RequestWindow::decode(std::string_view bytes) {
  const Status damaged = sql_error("XX001", "the request ids of the archive are damaged");
  RequestInput in{bytes};
  const auto version = in.number<uint32_t>();
  const bool has_roles = version == kVersion;
  if (!has_roles && version != kVersionWithoutRoles) return damaged;
  std::lock_guard<std::mutex> lock(mutex_);
  clear();
  if (!decode_roles(&in, has_roles)) return damaged;
  while (in.ok && !in.bytes.empty()) {
    Key key;
    Outcome outcome;
    if (has_roles) key.role_id = in.number<uint32_t>();
    key.client_id = in.number<uint64_t>();
    key.request_id = in.number<uint64_t>();
    if (has_roles) outcome.fingerprint = in.number<uint64_t>();
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
