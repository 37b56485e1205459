#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "placement.h"
#include "primary/engine.h"
#include "primary/rows_digest.h"
#include "query/drawn_values.h"
#include "query/result.h"
#include "query/settings.h"
#include "referenced_rows.h"
#include "storage/change_log.h"
#include "storage/logged_apply.h"
#include "table_versions.h"

namespace scyper::primary {

// A statement of a block that has run, or a savepoint command between two of them.
struct BlockStep {
  enum class Kind : uint8_t { kStatement, kSavepoint, kRollBack, kRelease };
  Kind kind = Kind::kStatement;
  size_t savepoint = 0;  // its number; not of kStatement

  // --- kStatement: what it needs to run again ---
  std::shared_ptr<const Statement> statement;
  query::ResultSet arguments;  // their values
  std::shared_ptr<const query::SettingValues> settings;
  query::DrawnValues drawn;

  // --- what it gave ---
  RowsDigest rows;
  std::optional<uint64_t> affected_rows;  // none: not known
  std::string failure;                    // SQLSTATE; empty: none
  size_t redo_end = 0;                    // of the block's redo behind it

  // --- what it has read ---
  Placement place;
  std::vector<TableVersions::Slot> slots;
  uint64_t versions = 0;    // sum over the slots: it grows with each change
  bool is_dynamic = false;  // it may have read other tables
  bool is_unsure = false;   // it has read an older state than the versions tell of
  bool is_part = false;     // the client has not taken all rows, so that it cannot be said whether they are the same

  // ROLLBACK TO has taken its changes back. Its client has seen its result.
  bool is_undone = false;

  // Notes the tables that the program may read. `only` is the one partition of partitioned tables, or
  // ReferencedRows::kAnyPartition.
  void note_tables(const query::Program& program, uint32_t only);

  size_t bytes() const { return sizeof(*this) + arguments.bytes() + drawn.bytes(); }
};

// What a block in REPEATABLE READ or SERIALIZABLE has done so far, so that its statements can run again: each has to
// give the same result. Then the block is as if all of it had happened now. Threads: as TentativeBlock.
struct BlockHistory {
  std::vector<std::unique_ptr<BlockStep>> steps;
  std::vector<size_t> savepoints;  // steps of those that are there
  Placement reads;                 // of all steps together
  size_t bytes = 0;

  // Up to here nothing that the steps have read has changed.
  uint64_t lsn = 0;
  uint64_t catalog_version = 0;
  uint64_t changes_of_all = 0;  // TableVersions::kAll
  bool is_checked = false;      // the three are known

  bool needs_all_partitions = false;  // out: a step that has to run again has read another partition

  void add(std::unique_ptr<BlockStep> step);
  void set_savepoint();
  void roll_back_to(size_t savepoint);
  void release(size_t savepoint);
};

// The placement of work that has to fit both.
Placement together(const Placement& a, const Placement& b);

// Whether two runs of a statement have changed the same. The rows of tables without primary key have other hidden ids
// in each run.
class RowIds {
 public:
  explicit RowIds(const query::Catalog* catalog) : catalog_(catalog) {}
  // Both are the same changes, of two runs: learns the ids of the rows that they insert.
  Status learn(std::string_view before, std::string_view now);
  StatusOr<bool> is_same(std::string_view before, std::string_view now) const;

 private:
  using Ids = std::map<storage::RowIdentity, uint64_t>;
  StatusOr<bool> compare(std::string_view before, std::string_view now, Ids* ids) const;

  const query::Catalog* const catalog_;
  Ids now_;  // by the id before
};

}  // namespace scyper::primary
