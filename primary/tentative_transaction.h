#pragma once

#include <memory>
#include <string>
#include <vector>

#include "primary/blocks.h"
#include "primary/open_transaction.h"
#include "tentative_block.h"

namespace scyper::primary {

class EngineTransaction;
class PartitionEngine;

// An open transaction that stops nobody: its statements are jobs of a tentative block (tentative_block.h). Other
// statements (definitions, COPY, LOCK TABLE, temporary tables, checks at the end of the transaction) make it exclusive
// from there on: an EngineTransaction adopts the block's changes.
class TentativeTransaction final : public OpenTransaction {
 public:
  TentativeTransaction(PartitionEngine* engine, BlockId id, BlockLevel level);
  ~TentativeTransaction() override;

  uint64_t lsn() const override { return lsn_; }
  Status execute(std::string_view sql, std::span<const Datum> parameters, query::ResultSet* result,
                 const StatementLimits& limits) override;
  StatusOr<ShortRead> execute_short(std::string_view sql, std::span<const Datum> parameters, query::ResultSet* result,
                                    const StatementLimits& limits) override;
  void begin_snapshot() override;
  void add_read(std::shared_ptr<const SnapshotRead> read) override { reads_.push_back(std::move(read)); }
  bool give_reads(std::vector<std::shared_ptr<SnapshotRead>>* reads) const override;
  StatusOr<std::unique_ptr<CopyIn>> open_copy(std::string_view sql, const StatementLimits& limits) override;
  Status describe(std::string_view sql, const StatementLimits& limits, std::vector<SqlType>* parameters,
                  std::vector<query::ResultColumn>* columns) override;
  Status set_savepoint() override;
  Status roll_back_to(size_t savepoint) override;
  Status release(size_t savepoint) override;
  Status commit(const StatementLimits& limits) override;
  std::vector<query::OpenCursor> take_cursors() override;

 private:
  Status run_job(const std::shared_ptr<TentativeJob>& job);
  Status become_exclusive(const StatementLimits& limits);
  Status execute_alone(std::string_view sql, std::span<const Datum> parameters, query::ResultSet* result,
                       const StatementLimits& limits, const std::shared_ptr<const Statement>& statement);
  Status wait_for(BlockId holder, const std::shared_ptr<const Statement>& statement, const StatementLimits& limits);
  Status give_way(const std::shared_ptr<const Statement>& statement, const StatementLimits& limits);
  void end();
  bool is_too_long() const;
  Status take_reads();
  StatusOr<std::unique_ptr<BlockStep>> step_of(const SnapshotRead& read) const;
  std::unique_ptr<BlockStep> make_step(const std::shared_ptr<const Statement>& statement,
                                       std::span<const Datum> arguments, const StatementLimits& limits) const;

  PartitionEngine* const engine_;
  const uint64_t lsn_;
  TentativeBlock block_;
  std::shared_ptr<const Statement> last_statement_;  // for what counts the commit
  std::vector<query::OpenCursor> cursors_;
  std::unique_ptr<EngineTransaction> exclusive_;  // from then on
  // Of the snapshot: the versions before it, and what ran on it.
  std::unique_ptr<TableVersions::Image> image_;
  std::vector<std::shared_ptr<const SnapshotRead>> reads_;
  bool has_given_way_ = false;  // to a starved block
  bool is_noted_ = false;       // its session, where others wait for it
  bool has_ended_ = false;
};

}  // namespace scyper::primary
