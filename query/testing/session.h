#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "query/database.h"
#include "query/deferred_checks.h"
#include "query/exec_context.h"
#include "query/settings.h"
#include "runtime/windows.h"

namespace scyper::storage {
class Compactor;
}

namespace scyper::query {

struct SpillLimits;

// A database of one thread, for tests: every statement runs alone, at once, as its own transaction.
class Session {
 public:
  // tiers: all data of frozen rows goes to files that are read through a tiny cache (docs/tiering.md), where the system
  // has io_uring; so does SCYPER_TEST_TIERING.
  explicit Session(DatabaseOptions options, size_t scratch_bytes = size_t{256} << 20, bool tiers = false);
  ~Session();

  Status run(std::string_view sql, ResultSet* result = nullptr, std::span<const Datum> parameters = {});
  // For many runs of the same code; nullptr when there is none.
  std::shared_ptr<const Program> program(std::string_view sql);
  // A program of database().program_of(), with its companions there: the path that benchmarks measure.
  Status execute(const Program& program, std::span<const Datum> arguments, ResultSet* result);
  // The same with literals as parameters where query/normalise.h allows it, and whether it did.
  Status run_normalised(std::string_view sql, ResultSet* result, bool* is_normalised);
  // COPY ... FROM STDIN: the text comes in pieces of `piece_bytes`.
  Status copy_from(std::string_view sql, std::string_view text, ResultSet* result, size_t piece_bytes = 64);
  // All statements of a text.
  Status script(std::string_view sql);
  // Rows as text: columns separated by '|', rows by '\n', NULL as "NULL"; or "ERROR sqlstate: message".
  std::string text(std::string_view sql);
  // The same of one run of a program().
  std::string text(const Program& program);
  Database& database() { return *database_; }
  // After so many statements all rows are frozen, now and then they stay cold (docs/compaction.md); 0:
  // never. Wants DatabaseOptions::frozen_bytes. SCYPER_TEST_FREEZING does both.
  void set_freezing(uint64_t statements);
  void set_cooling();                 // besides: rows cool first, for some time
  uint64_t frozen_chunks() const;     // so far
  uint64_t relocated_tuples() const;  // that were read in cooling chunks
  WindowCounts window_counts() const { return query::window_counts(*context_); }  // so far
  void set_time(int64_t microseconds) { context_->transaction_time_us = microseconds; }
  void set_threads(uint32_t threads) { threads_ = threads; }  // of one query
  // Queries go to disk when a thread holds that many bytes of tuples; 0 = whenever an operator could. The database
  // wants spill_from_bytes = 1 for operators of any size to have code for it.
  void set_spill(size_t memory_bytes, uint64_t disk_bytes_max = uint64_t{1} << 40, std::string directory = "");
  uint32_t swaps() const { return context_->swaps; }  // of the last statement: how often it went on in better code
  uint64_t spilled_bytes() const { return spilled_bytes_; }    // written by all queries
  uint64_t chunks_skipped() const { return chunks_skipped_; }  // by scans, of those that are hot
  // How often a statement asks whether it is to end.
  uint64_t count_polls(std::string_view sql);
  void interrupt(Interrupt why) { context_->interrupt.store(static_cast<uint32_t>(why)); }
  uint64_t redo_bytes() const { return redo_bytes_; }
  const std::vector<std::string>& notices() const { return notices_; }

 private:
  StatusOr<bool> run_setting(std::string_view sql, ResultSet* result);

  void note_search_path();
  std::string with_marks(std::string_view sql) const;
  std::vector<std::string> path() const;

  SettingValues settings_;
  StatementSettings statement_settings_;
  std::vector<std::string> search_path_;
  std::string zone_;  // empty: UTC
  SessionRoles roles_;
  static std::string text_of(const Status& status, const ResultSet& result);
  Status execute_once(const Program& program, std::span<const Datum> arguments, ResultSet* result);

  struct RemoveDirectory {
    void operator()(std::string* path) const;
  };
  void set_tiering(DatabaseOptions* options);

  std::unique_ptr<std::string, RemoveDirectory> tier_directory_;
  std::unique_ptr<Database> database_;
  std::unique_ptr<storage::ChangeLog> log_;
  std::unique_ptr<ScratchArena> scratch_;
  std::unique_ptr<ExecContext> context_;
  DeferredChecks deferred_;
  std::vector<std::string> notices_;
  std::unique_ptr<SpillLimits> spill_;
  uint64_t spilled_bytes_ = 0;
  uint64_t chunks_skipped_ = 0;
  uint64_t redo_bytes_ = 0;
  uint32_t threads_ = 1;
  bool swaps_ = false;  // SCYPER_TEST_SWAPPING: statements go on in better code while they run
  uint64_t statements_ = 0;
  void freeze();
  uint64_t freezes_after_ = 0, freezing_ = 0;
  std::unique_ptr<storage::Compactor> compactor_, cooler_;
};

}  // namespace scyper::query
