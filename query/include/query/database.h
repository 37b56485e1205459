#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "query/advisory_locks.h"
#include "query/catalog.h"
#include "query/copy.h"
#include "query/program.h"
#include "storage/arena.h"
#include "storage/frozen_memory.h"
#include "storage/tier_options.h"

namespace scyper::storage {
class FrozenTier;
}

namespace scyper::query {

enum class ExecutionMode : uint8_t {
  kAdaptive,     // interpreter first, quick native code after some runs, better code in the background
  kInterpreted,  // interpreter only
  kQuick,        // native, quick tier
  kBetter,       // native, better tier, compiled before the first run
  // For tests: a program's n-th run goes on in the better tier at its n-th swap point, from the quick one or from the
  // interpreter.
  kSwapping,
  kSwappingInterpreted,
};

struct DatabaseOptions {
  uint32_t partitions = 1;
  size_t memory_bytes = size_t{4} << 30;
  storage::PageMode page_mode = storage::PageMode::kTransparentHuge;
  uint64_t copy_ahead_rate = uint64_t{8} << 30;  // bytes per second; storage::Arena::copy_ahead()
  storage::Layout layout = storage::Layout::kColumn;
  size_t frozen_bytes = 0;          // at most, of frozen chunks (docs/compaction.md); 0 = no chunk is ever frozen
  storage::FrozenTierOptions tier;  // of frozen chunks
  ExecutionMode execution = ExecutionMode::kAdaptive;
  // Tuples that an operator of a query is estimated to keep from which it gets code to go to disk: a share of the
  // memory of queries that may spill, as estimates err.
  size_t spill_from_bytes = size_t{32} << 20;
  // Rows from which a table that ALTER TABLE makes of another one has its chunks; smaller ones get the better layout.
  uint64_t shared_rows_min = 10'000;
  double shared_from_ns = 2e6;          // estimated work from which several threads may run one query
  std::string foreign_files_directory;  // as of queries: how large the files are
  double filter_from_ns = 1e6;  // estimated saving from which a join's table filters a scan; below 0: wherever it can
};

// One parsed statement. Its program belongs to a catalog version and is made anew when that has passed.
// Threads: any.
class Prepared {
 public:
  enum class Kind : uint8_t {
    kProgram,     // runs in a transaction
    kDefinition,  // changes the catalog: runs alone, through Database::define()
    kRows,        // has its answer already (EXPLAIN, SHOW)
    kNothing,     // accepted without effect (SET)
  };
  virtual ~Prepared() = default;
  virtual Kind kind() const = 0;
  virtual std::string_view text() const = 0;
  // kProgram: of the program that was current when it was prepared.
  virtual const std::vector<SqlType>& parameter_types() const = 0;
  virtual const std::vector<ResultColumn>& columns() const = 0;
};

// Ends a statement that runs alone. Threads: any.
class AloneInterruption {
 public:
  void raise(Interrupt why);
  // The statement's own, around its run.
  void begin(ExecContext* context);
  void end();

 private:
  std::mutex mutex_;
  ExecContext* context_ = nullptr;
};

// One run of a definition.
struct DefinitionRun {
  int64_t time_us = 0;                        // now(), as ExecContext::transaction_time_us
  bool wants_rows = false;                    // rows that the definition makes are to be in `log`
  size_t row_bytes_max = size_t{512} << 20;   // of them, as one record of the log; more are an error (53400)
  AloneInterruption* interruption = nullptr;  // of copy()
  std::string log;  // out: the definition's text; of CREATE TABLE AS with its rows (docs/redo_format.md)
};

// Tables, catalog and compiler of one node, without threads: who runs what when is decided above.
// Threads: prepare(), program_of() and catalog() any; define(), load(), copy() and add_companions() run alone.
class Database {
 public:
  static StatusOr<std::unique_ptr<Database>> create(const DatabaseOptions& options);
  virtual ~Database() = default;

  virtual const DatabaseOptions& options() const = 0;
  virtual storage::Arena* arena() = 0;
  virtual storage::FrozenMemory* frozen_memory() = 0;  // null: no chunk is ever frozen
  virtual storage::FrozenTier* tier() = 0;             // null: frozen chunks stay in memory
  virtual std::shared_ptr<const Catalog> catalog() const = 0;

  // The statements of a text, cut at semicolons. 42601 with position.
  virtual StatusOr<std::vector<std::string>> split(std::string_view sql) = 0;
  virtual StatusOr<std::shared_ptr<const Prepared>> prepare(std::string_view sql) = 0;
  // Whether the text is one statement that asks for rows (SELECT, WITH, VALUES, EXPLAIN, SHOW): parsed only.
  virtual bool is_query(std::string_view sql) = 0;
  // Whether a query may be short enough for a worker, as far as its text tells: parsed only. Its program's Footprint
  // (is_long, writes) decides.
  virtual bool may_be_short(std::string_view sql) = 0;
  // The same for a catalog that may have been replaced since: for queries on a snapshot.
  virtual StatusOr<std::shared_ptr<const Prepared>> prepare_for(std::string_view sql,
                                                                std::shared_ptr<const Catalog> catalog) = 0;
  // The program that prepare_for() made.
  virtual std::shared_ptr<const Program> first_program_of(const Prepared& prepared) const = 0;
  // Native code for a program that will run long (adaptive mode), and better code from the background.
  virtual Status make_native(const Program& program) = 0;
  virtual void request_better(const Program& program) = 0;
  // The program for the current catalog; compiled when the one at hand is older.
  virtual StatusOr<std::shared_ptr<const Program>> program_of(const Prepared& prepared) = 0;
  // Indexes that the program looks up by whole keys and that have no hash companion yet.
  virtual bool wants_companions(const Program& program) const = 0;
  virtual Status add_companions(const Program& program) = 0;
  // kDefinition, kRows and kNothing. run: null, or when it runs and what the log is to say.
  virtual Status define(const Prepared& prepared, ResultSet* result, DefinitionRun* run = nullptr) = 0;
  // Those of a session that has ended (query/search_path.h). Runs alone.
  virtual Status drop_temporary_tables(const std::string& session_schema) = 0;
  virtual AdvisoryLocks* advisory_locks() = 0;
  // The session has ended, or begins anew: its advisory locks, and what it has drawn from sequences. Any thread.
  virtual void leave_session(const std::string& session_schema) = 0;
  virtual bool has_temporary_tables(std::string_view session_schema) const = 0;
  // What DefinitionRun::log says; `rows` are the changes that follow the definition, for who replays them.
  static std::string_view definition_of_log(std::string_view log, std::string_view* rows);

  // Rows of one table, row after row, columns in table order. All or nothing. redo: null, or gets the row changes
  // (docs/redo_format.md).
  virtual Status load(std::string_view table, std::span<const Datum> values, std::string* redo) = 0;

  // COPY ... FROM STDIN: takes its text. Threads: any.
  StatusOr<std::unique_ptr<CopyRows>> open_copy(std::string_view sql) { return open_copy_for(sql, catalog()); }
  virtual StatusOr<std::unique_ptr<CopyRows>> open_copy_for(std::string_view sql,
                                                            std::shared_ptr<const Catalog> catalog) = 0;
  // Its rows into the table, all or none, as INSERT does: rules, triggers, defaults. run->log: the row changes. 40001
  // when the table was changed after open_copy().
  virtual Status copy(CopyRows* rows, ResultSet* result, DefinitionRun* run) = 0;

  // Runs `work` while no compiled code is linked or freed: a fork.
  virtual void while_no_code_is_linked(const std::function<void()>& work) = 0;
  // Samples all tables for the optimiser. Runs alone.
  virtual void refresh_statistics() = 0;

  // From an archive; there must be no definitions yet. An empty one: forgets them again.
  virtual void restore(std::shared_ptr<const Catalog> catalog) = 0;

  virtual uint64_t programs_compiled() const = 0;
  virtual size_t code_bytes() const = 0;  // native code that exists now
};

}  // namespace scyper::query
