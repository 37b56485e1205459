#pragma once

#include <cstdint>
#include <list>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "base/status.h"
#include "primary/engine.h"

namespace scyper::server {

// The prepared statements that clients know by id. The id is a hash of the text: a stale id from before a restart, or
// from another node, can never name another statement. Bounded: the one not used for longest is forgotten, its users
// prepare anew. Threads: any.
class Statements {
 public:
  using Pointer = std::shared_ptr<const primary::Statement>;

  // bytes_max: of what they take, about. The newest stays whatever it weighs: its client is about to call it.
  Statements(primary::Engine* engine, size_t capacity, size_t bytes_max)
      : engine_(engine), capacity_(capacity), bytes_max_(bytes_max) {}

  static uint64_t id_of(std::string_view sql);
  // Who can compute texts of equal ids could otherwise have others run what he wrote: each role has ids of its own.
  using Key = std::pair<uint64_t, std::string>;  // id and mark
  // mark: that a role's texts begin with (query/role.h); what one role has prepared is not known to others.
  // Checks the text's encoding, compiles it unless known. May block for a compilation.
  StatusOr<Pointer> prepare(std::string_view sql, std::string_view mark = {});
  // Texts of prepared queries by id; their programs belong to snapshots. Bounded as above.
  class Texts {
   public:
    explicit Texts(size_t bytes_max) : bytes_max_(bytes_max) {}
    // 42P05 when another text of the role has the same id. mark: as in prepare().
    StatusOr<uint64_t> add(std::string_view sql, std::string_view mark);
    // Empty when unknown.
    std::string find(uint64_t id, std::string_view mark);

   private:
    static constexpr size_t kMax = 10'000;
    const size_t bytes_max_;
    absl::Mutex mutex_;
    size_t bytes_ ABSL_GUARDED_BY(mutex_) = 0;
    std::map<Key, std::string> by_key_ ABSL_GUARDED_BY(mutex_);
    std::list<Key> order_ ABSL_GUARDED_BY(mutex_);  // oldest first
  };

  // Known or nullptr; never blocks for long.
  Pointer find(uint64_t id, std::string_view mark = {});
  size_t size();
  size_t bytes();

 private:
  struct Entry {
    Key key;
    Pointer statement;
  };

  primary::Engine* const engine_;
  const size_t capacity_, bytes_max_;
  absl::Mutex mutex_;
  size_t bytes_ ABSL_GUARDED_BY(mutex_) = 0;
  std::list<Entry> entries_ ABSL_GUARDED_BY(mutex_);  // most recently used first
  std::map<Key, std::list<Entry>::iterator> by_key_ ABSL_GUARDED_BY(mutex_);
};

// Whether it is the statement of that text.
inline bool is_of(const primary::Statement& statement, std::string_view mark, std::string_view sql) {
  const std::string_view text = statement.text();
  return text.size() == mark.size() + sql.size() && text.starts_with(mark) && text.ends_with(sql);
}

// The answer to an id that find() does not know.
Status unknown_statement(uint64_t id);

}  // namespace scyper::server
