#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/status.h"
#include "query/catalog.h"
#include "query/exec_context.h"
#include "query/value_text.h"

namespace scyper::query {

// The checks of deferrable foreign keys that a transaction has put off until it ends (SET CONSTRAINTS, INITIALLY
// DEFERRED). A check is noted only where the row breaks the constraint when it changes; what was noted is looked at
// again by its key: rows that refer to the key are there and the key is not. So a check whose change was rolled back
// does no harm, and checks need not be taken back with the rows. Threads: that of the transaction.
class DeferredChecks {
 public:
  // kForgets: nothing waits and nothing fails; for replay, whose transactions have been checked.
  enum class Mode : uint8_t { kChecks, kForgets };
  explicit DeferredChecks(Mode mode = Mode::kChecks) : mode_(mode) {}

  // Which constraint a check is of, as generated code carries it. Empty: one that cannot be deferred.
  static std::string mark_of(const ForeignKey& key, TableId table);

  // A transaction begins. is_block: its statements come one by one, and commit() of its owner looks at what has waited.
  void begin(bool is_block);
  bool is_block() const { return is_block_; }
  bool empty() const { return events_.empty(); }
  // Something of the transaction is for its end: checks that wait, SET CONSTRAINTS, locks of the transaction.
  bool reaches_end() const {
    return !events_.empty() || all_deferred_.has_value() || !set_deferred_.empty() || has_locks_;
  }
  // The transaction asks for an advisory lock that it keeps until its end.
  void note_lock() { has_locks_ = true; }
  // It has got it.
  void count_lock() { ++taken_locks_; }
  bool has_taken_locks() const { return taken_locks_ != 0; }
  // Those that it has to give back.
  uint32_t take_locks() { return std::exchange(taken_locks_, 0); }
  // The row at hand breaks a constraint, which the context's error says. True: the check waits, and the error is gone.
  bool defer(ExecContext* context, std::string_view mark, const Datum* key, const SqlType* types, int64_t count);
  // SET CONSTRAINTS. names: empty = ALL. Looks at once at what has waited for constraints that are immediate now.
  int32_t set(ExecContext* context, const std::vector<std::pair<uint32_t, std::string>>& keys, bool is_all,
              bool is_deferred);
  // ALTER TABLE ... RENAME CONSTRAINT: what waits for it goes on doing so.
  void rename(TableId table, const std::string& from, const std::string& to);
  // All that has waited; an Outcome. The transaction is about to commit.
  int32_t check(ExecContext* context);
  // The end of a program that is a transaction of its own.
  int32_t check_at_end(ExecContext* context) { return is_block_ || events_.empty() ? 0 : check(context); }

  // Savepoints: what SET CONSTRAINTS has said goes back, too.
  struct Savepoint;
  std::shared_ptr<const Savepoint> mark() const;
  void roll_back_to(const Savepoint& savepoint);

 private:
  // A constraint: the table that has it, and its name.
  using Key = std::pair<uint32_t, std::string>;
  struct Rename {
    Key from;
    std::string to;
  };
  struct Event {
    Key key;             // as it was called then
    size_t renames = 0;  // that came before
    ErrorState error;
    std::vector<SqlType> types;
    std::vector<Datum> values;
  };
  bool is_deferred(const Key& key, bool is_initially) const;
  Key key_of(const Event& event) const;
  int32_t check_if(ExecContext* context, const std::map<Key, bool>* chosen);
  int32_t check_event(ExecContext* context, const Event& event, const std::string& sql);

  const Mode mode_;
  bool is_block_ = false;
  bool has_locks_ = false;
  uint32_t taken_locks_ = 0;
  std::vector<Event> events_;
  ValueArena memory_;                 // of the events' values
  std::optional<bool> all_deferred_;  // SET CONSTRAINTS ALL
  std::map<Key, bool> set_deferred_;  // SET CONSTRAINTS name, since then
  std::vector<Rename> renames_;       // in order
};

}  // namespace scyper::query
