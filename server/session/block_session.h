#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "node_parts.h"
#include "primary/open_transaction.h"
#include "query/session_command.h"
#include "query/session_run.h"
#include "session/answer.h"
#include "session/session_settings.h"

namespace scyper::server {

// A statement as a session runs it.
struct SessionStatement {
  query::SessionCommand command;  // its text is what runs
  std::vector<SqlType> parameters;
  std::vector<query::ResultColumn> columns;
};

// A client's session: its settings, its transaction blocks, and where its statements run. The protocols of the node
// derive from this class, so blocks behave the same over all of them. A derived class reads its client's messages,
// calls run_statement(), and sends the answers.
// Invariants: (1) A block that has written runs all its statements in open_. (2) After an error a block takes only its
// end, or ROLLBACK TO. (3) A session that ends takes its block back.
// Threads: cancel() and hang_up() any; all else one, which also destroys the session.
class BlockSession {
 public:
  struct Identity {
    int32_t pid = 0;       // its number in pg_stat_activity
    std::string owner;     // of its snapshots in query::Queries
    std::string address;   // the client's
    std::string protocol;  // as the audit log says it
    RequestProtocol counted_as = RequestProtocol::kPostgres;
  };

  BlockSession(const BlockSession&) = delete;
  virtual ~BlockSession() = default;

  // The statement that runs ends with 57014. Without one this does nothing.
  void cancel();
  // The client has gone: what runs for it ends, and so does all that it begins from here on.
  void hang_up();
  bool is_running_statement() const { return is_running_.load(std::memory_order_relaxed); }

 protected:
  enum class Block : uint8_t { kNone, kOpen, kFailed };
  struct Savepoint {
    std::string name;
    SessionSettings::Mark settings;
    std::map<std::string, std::string> local_settings;
    size_t advisory_locks = 0;  // of the block, taken before it
  };
  // While one lives a statement runs, and can be cancelled (running.h).
  class Running;

  BlockSession(NodeParts* node, Identity identity) : node_(node), identity_(std::move(identity)) {}

  // --- what a protocol adds ---
  virtual void warn(const char* sqlstate, const std::string& message) = 0;
  // The transaction has ended: results that its client has not read to their end go.
  virtual void end_results(bool is_committed) { static_cast<void>(is_committed); }
  // The same of those that are newer than the savepoint with this number: it is released, or the block goes back to it.
  virtual void leave_savepoint(size_t number, bool is_undone) {
    static_cast<void>(number);
    static_cast<void>(is_undone);
  }
  // Before a statement that writes runs: it may begin a block.
  virtual Status enter_pipeline(std::string_view sql);
  // Prepared statements, cursors and DISCARD.
  virtual StatusOr<std::unique_ptr<Answer>> run_own_command(const query::SessionCommand& command) = 0;
  // CREATE TABLE ... AS EXECUTE.
  virtual StatusOr<std::unique_ptr<Answer>> create_by_execute(const query::SessionCommand& command) = 0;
  virtual StatusOr<std::unique_ptr<Answer>> run_copy_in(const std::string& sql);
  // The settings that the statement reads.
  virtual std::shared_ptr<const query::SettingValues> settings_for(std::string_view sql) = 0;

  // That the block has now.
  size_t savepoint_count() const { return savepoints_.size(); }

  // --- running (block_run.cc) ---
  // Statement and arguments to an answer, whatever the statement is.
  StatusOr<std::unique_ptr<Answer>> run_statement(const SessionStatement& statement, std::span<const Datum> arguments);
  bool is_read_lock(const query::SessionCommand& command) const;
  StatusOr<std::unique_ptr<Answer>> lock_for_reading(const SessionStatement& statement);
  StatusOr<std::unique_ptr<Answer>> run_bounded(const SessionStatement& statement,
                                                const std::function<StatusOr<std::unique_ptr<Answer>>()>& run);
  Status forward(const std::string& text, const SessionStatement& statement, std::span<const Datum> arguments,
                 query::ResultSet* result);
  StatusOr<std::unique_ptr<Answer>> run_for_rows(const SessionStatement& statement, std::span<const Datum> arguments);
  // nullptr: the statement is not about sessions only (query/session_run.h).
  StatusOr<std::unique_ptr<Answer>> run_for_session(const SessionStatement& statement,
                                                    std::span<const Datum> arguments);
  // A statement outside of blocks has failed with 55P03: whether an advisory lock was the reason. The session has the
  // lock then, and the statement runs again.
  StatusOr<bool> wait_for_advisory_lock();
  void release_advisory_locks(size_t kept);
  query::SessionRun::Options session_run(const primary::StatementLimits& limits) const;
  bool may_run_on_worker(const SessionStatement& statement) const;
  StatusOr<std::unique_ptr<Answer>> run_on_worker(const SessionStatement& statement, std::span<const Datum> arguments);
  StatusOr<std::unique_ptr<Answer>> run_transaction(const SessionStatement& statement,
                                                    std::span<const Datum> arguments);
  StatusOr<std::unique_ptr<Answer>> run_by_itself(const SessionStatement& statement, std::span<const Datum> arguments);
  // In the open transaction of the block, which its first statement that writes begins.
  StatusOr<std::unique_ptr<Answer>> run_in_block(const SessionStatement& statement, std::span<const Datum> arguments);
  Status open_block();
  StatusOr<std::unique_ptr<primary::OpenTransaction>> make_block(primary::BlockLevel level);
  // The statement as this session understands it.
  std::string with_path(std::string_view sql) const;
  void note_act(const SessionStatement& statement, const Status& status);
  StatusOr<std::unique_ptr<Answer>> run_counted(std::string_view sql,
                                                const std::function<Status(query::ResultSet*)>& run);
  Status take_changed_settings();
  primary::StatementLimits limits(std::string_view sql);
  // Of the statement that runs; 0 = none.
  int64_t timeout_us() const;
  StatusOr<query::QueryOptions> query_options();
  // Fills in parameters and columns. Ends once the statement is cancelled or its time is over.
  Status describe_parameters_of(std::string_view sql, SessionStatement* statement);
  Status describe_here(std::string_view sql, const std::string& text, SessionStatement* statement);

  // --- blocks in REPEATABLE READ and SERIALIZABLE (block_isolation.cc) ---
  void watch_reads();
  StatusOr<std::unique_ptr<Answer>> watch_answer(std::unique_ptr<Answer> answer, const SessionStatement& statement,
                                                 std::span<const Datum> arguments);
  bool may_read_serially(const SessionStatement& statement) const;
  StatusOr<std::unique_ptr<Answer>> go_on_with_snapshot(const SessionStatement& statement,
                                                        std::span<const Datum> arguments);
  StatusOr<std::unique_ptr<Answer>> query_snapshot(const SessionStatement& statement, std::span<const Datum> arguments);
  Status find_on_snapshot(const std::shared_ptr<primary::SnapshotRead>& read);
  void note_conflict(const Status& status);
  bool may_leave_worker(const SessionStatement& statement) const;
  StatusOr<std::unique_ptr<Answer>> read_in_block(const SessionStatement& statement, std::span<const Datum> arguments);
  StatusOr<primary::ShortRead> run_short(const SessionStatement& statement, std::span<const Datum> arguments,
                                         query::ResultSet* result);
  StatusOr<std::unique_ptr<Answer>> read_serially(const SessionStatement& statement, std::span<const Datum> arguments);

  // --- commands of the session (block_commands.cc) ---
  StatusOr<std::unique_ptr<Answer>> run_session_command(const query::SessionCommand& command);
  StatusOr<std::unique_ptr<Answer>> change_session(const query::SessionCommand& command);
  StatusOr<std::unique_ptr<Answer>> begin_block(const query::SessionCommand& command);
  StatusOr<std::unique_ptr<Answer>> end_block(const query::SessionCommand& command);
  StatusOr<std::unique_ptr<Answer>> close_block(const query::SessionCommand& command);
  // Several statements are one transaction until one of them ends it. writes: one of them will.
  Status begin_implicit_block(bool writes);
  bool is_in_explicit_block() const { return block_ != Block::kNone && !is_implicit_; }
  StatusOr<std::unique_ptr<Answer>> change_savepoint(const query::SessionCommand& command);
  StatusOr<std::unique_ptr<Answer>> show(const query::SessionCommand& command);
  Status check_block(const query::SessionCommand& command) const;
  Status check_drop_database(const query::SessionCommand& command) const;
  static Status read_only_error();
  Status set_modes(const query::SessionCommand& command);
  Status check_mode(std::string_view name, const std::string& value) const;
  void note_query(const query::SessionCommand& command);
  Status set_local(std::string_view name, const std::vector<std::string>& values);
  void end_local_settings();
  void enter_block();
  void leave_block();
  // A statement has failed: so has its block.
  void fail_block();
  // The session waits for its client: what pg_stat_activity shows.
  void show_idle();
  // Takes back what a session leaves: its block, its temporary tables, its advisory locks.
  void leave_session();
  void drop_temporary_tables();
  std::string receipt_text() const;

  NodeParts* const node_;
  const Identity identity_;
  Counter* statements_run_ = nullptr;  // null: they are not counted
  std::string user_;
  std::string database_;              // that the client has asked for; empty: none
  int64_t statement_timeout_us_ = 0;  // of the statement that runs, beside the session's; 0 = none
  std::shared_ptr<const query::SettingValues> given_settings_;  // of the statement that runs
  std::vector<query::ChangedSetting> changed_settings_;         // by it
  std::optional<SessionSettings> settings_;                     // a session that has not begun has none
  Block block_ = Block::kNone;
  int64_t block_time_us_ = 0;  // now() in the block; 0: there is none
  bool is_implicit_ = false;   // the block is of several statements in one message, or before one Sync: ends with them
  bool is_last_ = true;        // of them
  std::map<std::string, std::string> local_settings_;  // by name: what the end of the block brings back
  uint64_t pinned_ = 0;                                // the block's session of query::Queries; 0 = none yet
  std::vector<Savepoint> savepoints_;
  std::unique_ptr<primary::OpenTransaction> open_;  // the block's, once it has written; null: none
  // Of a block that may write and reads on a snapshot: becomes open_ once the block writes, and finds then whether its
  // reads still hold. null: none.
  std::unique_ptr<primary::OpenTransaction> watcher_;
  bool has_only_read_ = true;      // the block
  bool has_queried_ = false;       // the block: its modes stay as they are from then on
  bool may_hold_locks_ = false;    // the block: advisory ones
  bool prefers_snapshot_ = false;  // the last block in SERIALIZABLE has only read and has failed with 40001
  std::unique_ptr<ActivityList::Session> activity_;  // null: it is not shown yet
  std::optional<query::Receipt> receipt_;            // of the last query
  std::atomic<bool> is_running_{false};
  std::atomic<bool> is_cancelled_{false};  // what runs
  std::atomic<bool> is_gone_{false};       // the client

 private:
  absl::Mutex mutex_;
  Answer* answer_ ABSL_GUARDED_BY(mutex_) = nullptr;  // that is being read
};

}  // namespace scyper::server
