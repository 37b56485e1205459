#include "postgres_tpcc.h"

#include <unistd.h>

#include <optional>
#include <vector>

#include "base/check.h"
#include "client/ch/outcome.h"
#include "client/ch/sql.h"
#include "client/ch/text.h"

namespace scyper::bench {
namespace {

std::string_view parameter_type(const SqlType& type) {
  switch (type.id) {
    case TypeId::kInt4:
      return "integer";
    case TypeId::kArray:
      return "integer[]";
    case TypeId::kNumeric:
      return "numeric";
    default:
      CHECK(type.id == TypeId::kVarchar);
      return "varchar";
  }
}

}  // namespace

StatusOr<std::unique_ptr<PostgresTpcc>> PostgresTpcc::create(const std::string& connection,
                                                             const ch::Generator& generator) {
  static int number = 0;
  SCYPER_ASSIGN_OR_RETURN(auto admin, PostgresSession::open(connection));
  const std::string database = "tpcc_" + std::to_string(getpid()) + "_" + std::to_string(++number);
  SCYPER_RETURN_IF_ERROR(admin->run("CREATE DATABASE " + database));
  std::unique_ptr<PostgresTpcc> tpcc(new PostgresTpcc(std::move(admin), database));
  SCYPER_ASSIGN_OR_RETURN(tpcc->session_, PostgresSession::open(connection + " dbname=" + database));
  SCYPER_RETURN_IF_ERROR(tpcc->load(generator));
  return tpcc;
}

PostgresTpcc::~PostgresTpcc() {
  session_.reset();
  admin_->run("DROP DATABASE " + database_ + " WITH (FORCE)").IgnoreError();
}

Status PostgresTpcc::load(const ch::Generator& generator) {
  // Index scans only: the order of rows without ORDER BY (order_status) is then the order of the index.
  SCYPER_RETURN_IF_ERROR(session_->run("SET enable_seqscan = off; SET enable_bitmapscan = off; SET TimeZone = 'UTC'"));
  SCYPER_RETURN_IF_ERROR(session_->run(std::string(ch::schema_sql())));
  for (const ch::TableInfo& info : ch::all_tables()) {
    const bool shared = info.warehouse_column < 0;
    for (int32_t w = shared ? 0 : 1; w <= (shared ? 0 : generator.scale().warehouses); ++w) {
      SCYPER_RETURN_IF_ERROR(load_table(generator, info, w));
    }
  }
  SCYPER_RETURN_IF_ERROR(session_->run(std::string(ch::procedures_sql())));
  SCYPER_RETURN_IF_ERROR(session_->run("VACUUM ANALYZE"));
  return prepare_calls();
}

Status PostgresTpcc::load_table(const ch::Generator& generator, const ch::TableInfo& table, int32_t warehouse) {
  ch::RowCursor cursor(generator, table.table, warehouse);
  return session_->copy_in("COPY " + std::string(table.name) + " FROM STDIN", [&](std::string& data) {
    const ch::RowBatch batch = cursor.next();
    for (size_t r = 0; r < batch.rows; ++r) ch::append_copy_row(data, batch.row(r), table.columns);
    return batch.rows > 0;
  });
}

Status PostgresTpcc::prepare_calls() {
  for (int p = 0; p < ch::kProcedureCount; ++p) {
    const auto procedure = static_cast<ch::Procedure>(p);
    const std::string name(ch::procedure_name(procedure));
    std::string sql = "CALL " + name + "(";
    int number = 0;
    for (const SqlType& type : ch::parameter_types(procedure)) {
      sql += number > 0 ? ", $" : "$";
      sql += std::to_string(++number) + "::" + std::string(parameter_type(type));
    }
    SCYPER_RETURN_IF_ERROR(session_->prepare(name, sql + ")"));
  }
  return absl::OkStatus();
}

Status PostgresTpcc::send(const ch::Call& call) {
  CHECK(sent_ - received_ < kMaxUnderWay);
  const auto args = call.args();
  std::array<const char*, ch::Call::kMaxArgs> values;
  for (size_t i = 0; i < args.size(); ++i) {
    parameters_[i].clear();
    ch::append_text(parameters_[i], args[i], ch::parameter_types(call.procedure)[i]);
    values[i] = args[i].null ? nullptr : parameters_[i].c_str();
  }
  under_way_[sent_++ % kMaxUnderWay] = call.procedure;
  return session_->send(std::string(ch::procedure_name(call.procedure)), {values.data(), args.size()});
}

Status PostgresTpcc::receive(std::string* line, bool* failed) {
  CHECK(received_ < sent_);
  const ch::Procedure procedure = under_way_[received_++ % kMaxUnderWay];
  const Status status = session_->receive([&](const pg_result& result) {
    if (line == nullptr) return;
    std::vector<std::optional<std::string_view>> texts;
    for (int column = 0; column < row_width(result); ++column) {
      const char* value = row_value(result, column);
      texts.push_back(value == nullptr ? std::nullopt : std::optional<std::string_view>(value));
    }
    ch::append_outcome(*line, procedure, texts);
  });
  *failed = !status.ok();
  if (status.ok()) return status;
  if (absl::IsUnavailable(status)) return status;  // the connection, not the statement
  if (line != nullptr) ch::append_failure(*line, procedure, sqlstate_of(status));
  return absl::OkStatus();
}

StatusOr<std::map<std::string, std::string>> PostgresTpcc::table_digests() {
  std::map<std::string, std::string> result;
  for (const ch::TableInfo& info : ch::all_tables()) {
    ch::TableDigest digest;
    SCYPER_RETURN_IF_ERROR(session_->copy_out("COPY " + std::string(info.name) + " TO STDOUT",
                                              [&](std::string_view line) { digest.add_copy_line(info, line); }));
    result[std::string(info.name)] = digest.text();
  }
  return result;
}

}  // namespace scyper::bench
