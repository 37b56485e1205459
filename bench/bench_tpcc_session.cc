// The cost of compiled procedures alone: TPC-C's mix on one thread, without admission, queues and clients.
// --dump writes the canonical outcomes, to be compared with those of bench_tpcc_limit and bench_tpcc_postgres.
#include <CLI/CLI.hpp>
#include <chrono>
#include <cstdio>
#include <fstream>
#include <iostream>
#include <nlohmann/json.hpp>

#include "client/ch/generator.h"
#include "client/ch/mix.h"
#include "client/ch/outcome.h"
#include "client/ch/sql.h"
#include "client/ch/tables.h"
#include "testing/session.h"

namespace scyper {
namespace {

struct Flags {
  int32_t warehouses = 5;
  bool tiny = false;
  uint64_t transactions = 500'000;
  uint64_t warmup = 100'000;
  uint64_t seed = 1;
  uint32_t partitions = 1;
  std::string mode = "better";
  std::string layout = "column";
  std::string dump;
  bool small_pages = false;
};

bool succeed(const Status& status, std::string_view what) {
  if (status.ok()) return true;
  std::cerr << what << ": " << sqlstate_of(status) << " " << std::string(status.message()) << "\n";
  return false;
}

bool load(query::Session* session, const ch::Generator& generator) {
  for (const auto& table : ch::all_tables()) {
    for (int32_t w = 1; w <= (table.warehouse_column < 0 ? 1 : generator.scale().warehouses); w++) {
      ch::RowCursor cursor(generator, table.table, w);
      for (ch::RowBatch batch = cursor.next(); batch.rows > 0; batch = cursor.next())
        if (!succeed(session->database().load(table.name, {batch.values, batch.rows * batch.columns}, nullptr),
                     table.name))
          return false;
    }
  }
  return true;
}

query::DatabaseOptions options_of(const Flags& flags) {
  query::DatabaseOptions options;
  options.partitions = flags.partitions;
  options.memory_bytes = size_t{12} << 30;
  options.layout = flags.layout == "row" ? storage::Layout::kRow : storage::Layout::kColumn;
  if (flags.small_pages) options.page_mode = storage::PageMode::kSmall;
  options.execution = flags.mode == "interpreted" ? query::ExecutionMode::kInterpreted
                      : flags.mode == "quick"     ? query::ExecutionMode::kQuick
                                                  : query::ExecutionMode::kBetter;
  return options;
}

ch::GeneratorOptions generator_options(const Flags& flags) {
  ch::GeneratorOptions options;
  options.scale = flags.tiny ? ch::Scale::tiny(flags.warehouses) : ch::Scale{};
  options.scale.warehouses = flags.warehouses;
  return options;
}

using Programs = std::vector<std::shared_ptr<const query::Program>>;

// first_call_ms: what each took.
bool prepare_all(query::Session* session, Programs* programs, double* first_call_ms) {
  for (int p = 0; p < ch::kProcedureCount; p++) {
    auto procedure = static_cast<ch::Procedure>(p);
    auto start = std::chrono::steady_clock::now();
    std::string sql = "CALL " + std::string(ch::procedure_name(procedure)) + "(";
    for (size_t i = 0; i < ch::parameter_types(procedure).size(); i++)
      sql += (i > 0 ? ", $" : "$") + std::to_string(i + 1);
    auto prepared = session->database().prepare(sql + ")");
    if (!succeed(prepared.status(), sql)) return false;
    auto program = session->database().program_of(**prepared);
    if (!succeed(program.status(), sql) || !succeed(session->database().add_companions(**program), sql)) return false;
    programs->push_back(*program);
    first_call_ms[p] = std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count();
  }
  return true;
}

int run(const Flags& flags) {
  query::Session session(options_of(flags));
  ch::Generator generator(generator_options(flags));
  if (!succeed(session.script(ch::schema_sql({.partition_by = "HASH", .with = ""})), "schema")) return 1;
  if (!load(&session, generator)) return 1;
  if (!succeed(session.script(ch::procedures_sql()), "procedures")) return 1;
  Programs programs;
  double first_call_ms[ch::kProcedureCount] = {};  // compilation and first run of a new procedure
  if (!prepare_all(&session, &programs, first_call_ms)) return 1;
  ch::MixOptions mix;
  mix.seed = flags.seed;
  ch::InputStream stream(generator, mix);
  ch::Call call;
  query::ResultSet result;
  std::ofstream dump(flags.dump);
  uint64_t counts[ch::kProcedureCount] = {};
  uint64_t nanos[ch::kProcedureCount] = {};
  bool has_run[ch::kProcedureCount] = {};
  uint64_t rolled_back = 0;
  uint64_t new_orders = 0;
  uint64_t redo_before = 0;
  auto begin = std::chrono::steady_clock::now();
  uint64_t warmup = flags.dump.empty() ? flags.warmup : 0;
  for (uint64_t i = 0; i < flags.transactions + warmup; i++) {
    if (i == warmup) begin = std::chrono::steady_clock::now(), redo_before = session.redo_bytes();
    stream.next(call);
    size_t p = static_cast<size_t>(call.procedure);
    result.clear();
    session.set_time(ch::kRunTimeFrom + static_cast<int64_t>(i));
    auto t0 = std::chrono::steady_clock::now();
    Status status = session.execute(*programs[p], call.args(), &result);
    auto t1 = std::chrono::steady_clock::now();
    if (!has_run[p]) first_call_ms[p] += std::chrono::duration<double, std::milli>(t1 - t0).count();
    has_run[p] = true;
    if (i >= warmup) {
      counts[p]++;
      nanos[p] += static_cast<uint64_t>((t1 - t0).count());
      rolled_back += status.ok() ? 0 : 1;
      new_orders += p == 0 ? 1 : 0;
    }
    if (!flags.dump.empty()) {
      std::string line;
      if (status.ok())
        ch::append_outcome(line, call.procedure, result.values());
      else
        ch::append_failure(line, call.procedure, sqlstate_of(status));
      dump << line << "\n";
    }
  }
  double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  nlohmann::json out;
  out["tps"] = static_cast<uint64_t>(static_cast<double>(flags.transactions) / seconds);
  out["new_order_tps"] = static_cast<uint64_t>(static_cast<double>(new_orders) / seconds);
  out["rolled_back"] = rolled_back;
  out["redo_bytes_per_tx"] = (session.redo_bytes() - redo_before) / std::max<uint64_t>(1, flags.transactions);
  for (int p = 0; p < ch::kProcedureCount; p++)
    if (counts[p] > 0)
      out["mean_us"][std::string(ch::procedure_name(static_cast<ch::Procedure>(p)))] =
          static_cast<double>(nanos[p]) / 1000.0 / static_cast<double>(counts[p]);
  for (int p = 0; p < ch::kProcedureCount; p++)
    if (has_run[p])
      out["first_call_ms"][std::string(ch::procedure_name(static_cast<ch::Procedure>(p)))] = first_call_ms[p];
  std::cout << out.dump() << std::endl;
  return 0;
}

}  // namespace
}  // namespace scyper

int main(int argc, char** argv) {
  scyper::Flags flags;
  CLI::App app("TPC-C's mix on compiled procedures, one thread, no admission");
  app.add_option("--warehouses", flags.warehouses);
  app.add_flag("--tiny", flags.tiny, "the scaled-down database of the tests");
  app.add_option("--transactions", flags.transactions);
  app.add_option("--warmup", flags.warmup, "transactions before the measured ones");
  app.add_option("--seed", flags.seed);
  app.add_option("--partitions", flags.partitions);
  app.add_option("--mode", flags.mode)->check(CLI::IsMember({"interpreted", "quick", "better"}));
  app.add_option("--layout", flags.layout)->check(CLI::IsMember({"row", "column"}));
  app.add_option("--dump", flags.dump, "file for the canonical outcomes, one a line");
  app.add_flag("--small-pages", flags.small_pages);
  CLI11_PARSE(app, argc, argv);
  return scyper::run(flags);
}
