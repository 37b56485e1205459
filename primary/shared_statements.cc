#include "shared_statements.h"

#include <utility>

namespace scyper::primary {

SharedStatements::Found SharedStatements::find(std::string_view text, uint64_t catalog_version) {
  MutexLock lock(&mutex_);
  auto known = by_text_.find(text);
  if (known == by_text_.end() || known->second->catalog_version != catalog_version) return {};
  entries_.splice(entries_.begin(), entries_, known->second);
  return known->second->found;
}

void SharedStatements::set(std::string_view text, uint64_t catalog_version, Found found) {
  Found forgotten;  // freed without the lock
  MutexLock lock(&mutex_);
  auto known = by_text_.find(text);
  if (known != by_text_.end()) {
    known->second->catalog_version = catalog_version;
    forgotten = std::exchange(known->second->found, std::move(found));
    return;
  }
  entries_.push_front({std::string(text), catalog_version, std::move(found)});
  by_text_.emplace(entries_.front().text, entries_.begin());
  if (entries_.size() <= capacity_) return;
  forgotten = std::move(entries_.back().found);
  by_text_.erase(entries_.back().text);
  entries_.pop_back();
}

}  // namespace scyper::primary
