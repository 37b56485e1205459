#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/mutex.h"
#include "query/catalog.h"

namespace scyper::primary {

// Whether a text has FOR UPDATE, FOR SHARE or their kin, as far as its words tell.
bool has_locking_words(std::string_view sql);

// Tells which statements may lock rows until their block ends. Their texts say so, or mention a routine that does, or
// one that mentions such a routine. Words decide: a statement that only looks like it runs alone for nothing.
// Threads: any.
class RowLocking {
 public:
  bool may_lock(std::string_view sql, const std::shared_ptr<const query::Catalog>& catalog);

 private:
  struct Routines {
    uint64_t version = 0;            // of the catalog
    std::vector<std::string> names;  // in lower case
    bool triggers_lock = false;
  };
  static Routines routines_of(const query::Catalog& catalog);

  Mutex mutex_;
  Routines routines_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace scyper::primary
