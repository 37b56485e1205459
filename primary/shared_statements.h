#pragma once

#include <cstddef>
#include <cstdint>
#include <list>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/mutex.h"
#include "prepared_statement.h"

namespace scyper::primary {

// Statements by their normalised text (query/normalise.h): texts that differ in literals only share one program.
// A text is compiled as it is when it comes first, so that what runs once costs nothing more; when its like comes again
// the normalised text is compiled, and taken if its result has the same columns.
// All of this holds for one catalog version: what types literals take depends on it.
// Threads: any.
class SharedStatements {
 public:
  enum class State : uint8_t {
    kNew,
    kSeen,     // statement: of a text of this form, as it was
    kShared,   // statement: of the normalised text
    kRefused,  // texts of this form are compiled each for itself
  };
  struct Found {
    State state = State::kNew;
    std::shared_ptr<const PreparedStatement> statement;
  };

  SharedStatements(size_t capacity, size_t bytes_max) : capacity_(capacity), bytes_max_(bytes_max) {}

  Found find(std::string_view text, uint64_t catalog_version);
  void set(std::string_view text, uint64_t catalog_version, Found found);

 private:
  struct Entry {
    std::string text;
    uint64_t catalog_version = 0;
    Found found;
    size_t bytes() const;  // about, of the text and the statement
  };

  void trim(std::vector<Found>* forgotten) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const size_t capacity_;
  const size_t bytes_max_;
  Mutex mutex_;
  size_t bytes_ ABSL_GUARDED_BY(mutex_) = 0;
  std::list<Entry> entries_ ABSL_GUARDED_BY(mutex_);  // most recently used first
  std::unordered_map<std::string_view, std::list<Entry>::iterator> by_text_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace scyper::primary
