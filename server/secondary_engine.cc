#include "secondary_engine.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "node_parts.h"
#include "primary/description.h"

namespace scyper::server {

SecondaryEngine::SecondaryEngine(std::unique_ptr<secondary::Node> node, primary::EngineOptions options,
                                 std::string primary)
    : node_(std::move(node)), options_(std::move(options)), primary_(std::move(primary)) {
  options_.partitions = node_->partitions();
  options_.workers = 0;
}

Status SecondaryEngine::read_only_error() const {
  redirected_.fetch_add(1, std::memory_order_relaxed);
  return with_hint(sql_error("25006", "cannot execute transactions on a secondary"),
                   "Send them to the primary at " + primary() + ".");
}

StatusOr<std::shared_ptr<const primary::Statement>> SecondaryEngine::prepare(std::string_view) {
  return read_only_error();
}

void SecondaryEngine::submit(std::span<primary::Transaction* const> transactions) {
  for (primary::Transaction* transaction : transactions) {
    transaction->status = read_only_error();
    transaction->result.clear_rows();
    transaction->result.command_tag.clear();
    transaction->done(transaction);
  }
}

Status SecondaryEngine::execute(std::string_view sql, std::span<const Datum> parameters, query::ResultSet* result,
                                const primary::StatementLimits& limits) {
  if (!queries()->is_query(sql)) return read_only_error();
  SCYPER_RETURN_IF_ERROR(node_->readiness());
  query::ResultSet rows;
  query::QueryOptions options;
  if (limits.deadline_ns != 0) options.timeout_us = std::max<int64_t>((limits.deadline_ns - monotonic_ns()) / 1000, 1);
  return queries()->execute(sql, parameters, options, result == nullptr ? &rows : result, nullptr);
}

Status SecondaryEngine::execute_script(std::string_view sql, const std::function<void(const query::ResultSet&)>& each,
                                       const primary::StatementLimits& limits) {
  SCYPER_ASSIGN_OR_RETURN(auto texts, queries()->split(sql));
  for (const std::string& text : texts) {
    if (limits.cancelled != nullptr && limits.cancelled->load(std::memory_order_relaxed)) {
      return sql_error("57014", "canceling statement due to user request");
    }
    query::ResultSet result;
    SCYPER_RETURN_IF_ERROR(execute(text, {}, &result, limits));
    if (each) each(result);
  }
  return Status();
}

Status SecondaryEngine::load(std::string_view, std::span<const Datum>) { return read_only_error(); }

StatusOr<std::vector<query::ResultColumn>> SecondaryEngine::describe(std::string_view table) {
  return primary::describe_columns(*node_->database()->catalog(), table);
}

std::vector<primary::Engine::TableInfo> SecondaryEngine::tables() {
  std::vector<TableInfo> all;
  static_cast<void>(node_->run_at_border([&] { all = primary::describe_tables(*node_->database()->catalog()); }));
  return all;
}

primary::Engine::LogInfo SecondaryEngine::log_info() const {
  const secondary::NodeInfo info = node_->info();
  LogInfo log;
  log.last_lsn = info.applied_lsn;
  log.durable_lsn = info.durable_lsn;
  log.confirmed_lsn = info.commit_lsn;
  log.damaged_archives = info.damaged_archives;
  return log;
}

StatusOr<primary::Engine::ArchiveInfo> SecondaryEngine::write_archive(const std::string& archives,
                                                                      const std::function<void(uint64_t)>&) {
  const auto start = std::chrono::steady_clock::now();
  SCYPER_ASSIGN_OR_RETURN(auto written, node_->write_archive(archives));
  ArchiveInfo info;
  info.lsn = written.first.lsn;
  info.path = written.second;
  info.rows = written.first.rows;
  info.raw_bytes = written.first.raw_bytes;
  info.stored_bytes = written.first.stored_bytes;
  info.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  return info;
}

}  // namespace scyper::server
