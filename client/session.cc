#include "session.h"

#include <utility>

namespace scyper::client {

namespace {

class RemoteSession final : public Session {
 public:
  RemoteSession(std::unique_ptr<Client> client, std::string target)
      : client_(std::move(client)), target_(std::move(target)) {}

  Status execute(std::string_view sql, const ResultHandler& each) override { return client_->execute(sql, each); }
  StatusOr<Description> describe() override { return client_->describe(); }
  StatusOr<NodeStatus> status() override { return client_->status(); }
  StatusOr<Loader> open_load(const std::string& table) override {
    SCYPER_ASSIGN_OR_RETURN(std::shared_ptr<Loading> loading, client_->open_load(table));
    return Loader([loading](std::span<const Datum> values) { return loading->load(values); });
  }
  std::string name() const override { return target_; }

 private:
  std::unique_ptr<Client> client_;
  std::string target_;
};

class LocalSession final : public Session {
 public:
  explicit LocalSession(primary::Engine* engine) : engine_(engine) {}

  Status execute(std::string_view sql, const ResultHandler& each) override {
    return engine_->execute_script(sql, each);
  }

  StatusOr<Description> describe() override {
    Description out;
    for (auto& t : engine_->tables()) {
      out.tables.push_back({t.name, t.partitioning, t.layout, t.rows, t.bytes, t.columns, t.indexes});
    }
    for (auto& r : engine_->routines()) out.routines.push_back({r.signature, r.kind, r.classification});
    return out;
  }

  StatusOr<NodeStatus> status() override {
    const primary::EngineCounters& counters = engine_->counters();
    NodeStatus out;
    out.role = "ephemeral";
    out.partitions = engine_->options().partitions;
    out.workers = engine_->options().workers;
    out.memory_used_bytes = engine_->memory_used_bytes();
    out.memory_budget_bytes = engine_->options().memory_bytes;
    out.queue_depth = engine_->queue_depth();
    out.committed = counters.committed;
    out.rolled_back = counters.rolled_back;
    out.crossing = counters.crossing;
    out.misclassified = counters.misclassified;
    out.refused = counters.refused;
    out.redo_bytes = counters.redo_bytes;
    out.statements_compiled = counters.statements_compiled;
    return out;
  }

  StatusOr<Loader> open_load(const std::string& table) override {
    SCYPER_RETURN_IF_ERROR(engine_->describe(table).status());
    return Loader([engine = engine_, table](std::span<const Datum> values) { return engine->load(table, values); });
  }
  std::string name() const override { return "in this process"; }

 private:
  primary::Engine* const engine_;
};

}  // namespace

std::unique_ptr<Session> remote_session(std::unique_ptr<Client> client, std::string target) {
  return std::make_unique<RemoteSession>(std::move(client), std::move(target));
}
std::unique_ptr<Session> local_session(primary::Engine* engine) { return std::make_unique<LocalSession>(engine); }

StatusOr<std::vector<query::ResultColumn>> columns_of_table(Session* session, const std::string& table) {
  SCYPER_ASSIGN_OR_RETURN(Description description, session->describe());
  for (TableDescription& candidate : description.tables) {
    if (candidate.name == table) return std::move(candidate.columns);
  }
  return sql_error("42P01", "relation \"" + table + "\" does not exist");
}

}  // namespace scyper::client
