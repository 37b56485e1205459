#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "primary/engine.h"
#include "secondary/node.h"

namespace scyper::server {

// What the endpoints need of a secondary: queries run, transactions are refused with the primary's address.
// Threads: any.
class SecondaryEngine final : public primary::Engine {
 public:
  // options: what the node was configured with; partitions become the primary's.
  SecondaryEngine(std::unique_ptr<secondary::Node> node, primary::EngineOptions options, std::string primary);

  secondary::Node& node() { return *node_; }
  std::string primary() const {
    std::lock_guard<std::mutex> lock(mutex_);
    return primary_;
  }
  // Another node leads from now on.
  void set_primary(const std::string& primary) {
    node_->redirect(primary);
    std::lock_guard<std::mutex> lock(mutex_);
    primary_ = primary;
  }

  StatusOr<std::shared_ptr<const primary::Statement>> prepare(std::string_view sql) override;
  void submit(std::span<primary::Transaction* const> transactions) override;
  Status execute(std::string_view sql, std::span<const Datum> parameters, query::ResultSet* result,
                 const primary::StatementLimits& limits = {}) override;
  Status execute_script(std::string_view sql, const std::function<void(const query::ResultSet&)>& each,
                        const primary::StatementLimits& limits = {}) override;
  StatusOr<ArchiveInfo> write_archive(const std::string& archives, const std::function<void(uint64_t)>&) override;
  void stop_archives() override { node_->stop_archives(); }
  StatusOr<primary::Forked> fork(primary::ForkRequest request) override { return node_->fork(std::move(request)); }
  query::Queries* queries() override { return node_->queries(); }
  Status load(std::string_view table, std::span<const Datum> values) override;
  StatusOr<std::unique_ptr<primary::OpenTransaction>> begin() override { return read_only_error(); }
  StatusOr<std::unique_ptr<primary::CopyIn>> open_copy(std::string_view) override { return read_only_error(); }
  StatusOr<std::vector<query::ResultColumn>> describe(std::string_view table) override;
  std::vector<TableInfo> tables() override;
  std::vector<RoutineInfo> routines() override { return {}; }
  std::shared_ptr<const query::Catalog> catalog() const override { return node_->database()->catalog(); }
  LogInfo log_info() const override;
  const primary::EngineCounters& counters() const override { return counters_; }
  const primary::EngineOptions& options() const override { return options_; }
  size_t memory_used_bytes() const override { return node_->database()->arena()->used_bytes(); }
  uint64_t pages_copied_ahead() const override { return node_->database()->arena()->pages_copied_ahead(); }
  const replay::Compaction* compaction() const override { return node_->compaction(); }
  uint64_t queue_depth() const override { return 0; }
  // How often somebody was told to go to the primary.
  uint64_t redirected() const { return redirected_.load(std::memory_order_relaxed); }

 private:
  Status read_only_error() const;

  const std::unique_ptr<secondary::Node> node_;
  primary::EngineOptions options_;
  mutable std::mutex mutex_;
  std::string primary_;
  primary::EngineCounters counters_;
  mutable std::atomic<uint64_t> redirected_{0};
};

}  // namespace scyper::server
