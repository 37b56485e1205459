#include "statements.h"

#include "query/statement_weight.h"
#include "server/packed.h"

namespace scyper::server {

// FNV-1a, 64 bits: fixed for ever, as clients keep ids. Equal hashes of two texts are refused by prepare().
uint64_t Statements::id_of(std::string_view sql) {
  uint64_t hash = 0xcbf29ce484222325;
  for (char c : sql) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3;
  return hash == 0 ? 1 : hash;
}

namespace {
Status same_id() { return sql_error("42P05", "another prepared statement has the same id"); }
}  // namespace

StatusOr<uint64_t> Statements::Texts::add(std::string_view sql, std::string_view mark) {
  const Key key(id_of(sql), mark);
  absl::MutexLock lock(&mutex_);
  const auto [known, is_new] = by_key_.emplace(key, sql);
  if (!is_new) return known->second == sql ? StatusOr<uint64_t>(key.first) : same_id();
  order_.push_back(key);
  bytes_ += sql.size();
  while (order_.size() > kMax || (bytes_ > bytes_max_ && order_.size() > 1)) {
    const auto oldest = by_key_.find(order_.front());
    bytes_ -= oldest->second.size();
    by_key_.erase(oldest);
    order_.pop_front();
  }
  return key.first;
}

std::string Statements::Texts::find(uint64_t id, std::string_view mark) {
  absl::MutexLock lock(&mutex_);
  auto found = by_key_.find(Key(id, mark));
  return found == by_key_.end() ? std::string() : found->second;
}

StatusOr<Statements::Pointer> Statements::prepare(std::string_view sql, std::string_view mark) {
  SCYPER_RETURN_IF_ERROR(check_text(sql));
  const Key key(id_of(sql), mark);
  const std::string text = std::string(mark).append(sql);
  if (Pointer known = find(key.first, mark); known != nullptr) {
    if (known->text() != text) return same_id();
    return known;
  }
  SCYPER_ASSIGN_OR_RETURN(Pointer statement, engine_->prepare(text));
  absl::MutexLock lock(&mutex_);
  if (by_key_.contains(key)) return statement;
  entries_.push_front(Entry{key, statement});
  by_key_[key] = entries_.begin();
  bytes_ += query::statement_weight(statement->text());
  while (entries_.size() > capacity_ || (bytes_ > bytes_max_ && entries_.size() > 1)) {
    bytes_ -= query::statement_weight(entries_.back().statement->text());
    by_key_.erase(entries_.back().key);
    entries_.pop_back();
  }
  return statement;
}

Statements::Pointer Statements::find(uint64_t id, std::string_view mark) {
  absl::MutexLock lock(&mutex_);
  auto found = by_key_.find(Key(id, mark));
  if (found == by_key_.end()) return nullptr;
  entries_.splice(entries_.begin(), entries_, found->second);
  return found->second->statement;
}

size_t Statements::size() {
  absl::MutexLock lock(&mutex_);
  return entries_.size();
}

size_t Statements::bytes() {
  absl::MutexLock lock(&mutex_);
  return bytes_;
}

Status unknown_statement(uint64_t id) {
  return with_hint(sql_error("26000", "prepared statement " + std::to_string(id) + " does not exist"),
                   "Prepare it again: the node was restarted or has forgotten it. It keeps prepared_max statements and "
                   "prepared_memory bytes of them.");
}

}  // namespace scyper::server
