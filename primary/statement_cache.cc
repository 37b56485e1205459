#include "statement_cache.h"

#include <utility>

namespace scyper::primary {

std::shared_ptr<const PreparedStatement> StatementCache::find(std::string_view text) {
  MutexLock lock(&mutex_);
  auto found = by_text_.find(text);
  if (found == by_text_.end()) return nullptr;
  statements_.splice(statements_.begin(), statements_, found->second);
  return *found->second;
}

std::shared_ptr<const PreparedStatement> StatementCache::insert(std::shared_ptr<const PreparedStatement> statement,
                                                                std::shared_ptr<const PreparedStatement> replaced) {
  std::shared_ptr<const PreparedStatement> forgotten;  // freed without the lock, like the replaced one
  MutexLock lock(&mutex_);
  auto found = by_text_.find(statement->text());
  if (found != by_text_.end()) {
    if (*found->second != replaced) return *found->second;
    auto place = found->second;
    by_text_.erase(found);  // its key is the old one's text
    *place = std::move(statement);
    by_text_.emplace((*place)->text(), place);
    return *place;
  }
  statements_.push_front(std::move(statement));
  by_text_.emplace(statements_.front()->text(), statements_.begin());
  if (statements_.size() > capacity_) {
    forgotten = statements_.back();
    by_text_.erase(forgotten->text());
    statements_.pop_back();
  }
  return statements_.front();
}

}  // namespace scyper::primary
