#pragma once

#include <cstddef>
#include <list>
#include <memory>
#include <string_view>
#include <unordered_map>

#include "base/mutex.h"
#include "prepared_statement.h"

namespace scyper::primary {

// Statements by their exact text; the one not asked for longest is forgotten (who holds it keeps it). Bounded by number
// and by weight (query/statement_weight.h). Threads: any.
class StatementCache {
 public:
  StatementCache(size_t capacity, size_t bytes_max) : capacity_(capacity), bytes_max_(bytes_max) {}

  std::shared_ptr<const PreparedStatement> find(std::string_view text);
  // The one that is kept: another thread may have been faster. `replaced` makes room for the new one.
  std::shared_ptr<const PreparedStatement> insert(std::shared_ptr<const PreparedStatement> statement,
                                                  std::shared_ptr<const PreparedStatement> replaced);

 private:
  using List = std::list<std::shared_ptr<const PreparedStatement>>;

  const size_t capacity_;
  const size_t bytes_max_;
  Mutex mutex_;
  size_t bytes_ ABSL_GUARDED_BY(mutex_) = 0;
  List statements_ ABSL_GUARDED_BY(mutex_);                                               // most recently used first
  std::unordered_map<std::string_view, List::iterator> by_text_ ABSL_GUARDED_BY(mutex_);  // keys: the statements' texts
};

}  // namespace scyper::primary
