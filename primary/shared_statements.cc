#include "shared_statements.h"

#include <utility>

#include "query/statement_weight.h"

namespace scyper::primary {

size_t SharedStatements::Entry::bytes() const {
  const size_t own = sizeof(Entry) + text.size();
  return found.statement == nullptr ? own : own + query::statement_weight(found.statement->text());
}

SharedStatements::Found SharedStatements::find(std::string_view text, uint64_t catalog_version) {
  MutexLock lock(&mutex_);
  auto known = by_text_.find(text);
  if (known == by_text_.end() || known->second->catalog_version != catalog_version) return {};
  entries_.splice(entries_.begin(), entries_, known->second);
  return known->second->found;
}

void SharedStatements::set(std::string_view text, uint64_t catalog_version, Found found) {
  std::vector<Found> forgotten;  // freed without the lock
  MutexLock lock(&mutex_);
  auto known = by_text_.find(text);
  if (known != by_text_.end()) {
    Entry& entry = *known->second;
    bytes_ -= entry.bytes();
    entry.catalog_version = catalog_version;
    forgotten.push_back(std::exchange(entry.found, std::move(found)));
    bytes_ += entry.bytes();
    entries_.splice(entries_.begin(), entries_, known->second);
  } else {
    entries_.push_front({std::string(text), catalog_version, std::move(found)});
    by_text_.emplace(entries_.front().text, entries_.begin());
    bytes_ += entries_.front().bytes();
  }
  trim(&forgotten);
}

void SharedStatements::trim(std::vector<Found>* forgotten) {
  while (entries_.size() > capacity_ || bytes_ > bytes_max_) {
    bytes_ -= entries_.back().bytes();
    forgotten->push_back(std::move(entries_.back().found));
    by_text_.erase(entries_.back().text);
    entries_.pop_back();
  }
}

}  // namespace scyper::primary
