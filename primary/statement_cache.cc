#include "statement_cache.h"

#include <utility>
#include <vector>

#include "query/statement_weight.h"

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
  std::vector<std::shared_ptr<const PreparedStatement>> forgotten;  // freed without the lock, like the replaced one
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
  const size_t bytes = query::statement_weight(statement->text());
  if (bytes > bytes_max_) return statement;
  bytes_ += bytes;
  statements_.push_front(std::move(statement));
  by_text_.emplace(statements_.front()->text(), statements_.begin());
  while (statements_.size() > capacity_ || bytes_ > bytes_max_) {
    forgotten.push_back(statements_.back());
    bytes_ -= query::statement_weight(forgotten.back()->text());
    by_text_.erase(forgotten.back()->text());
    statements_.pop_back();
  }
  return statements_.front();
}

}  // namespace scyper::primary
