#pragma once

#include <array>
#include <map>
#include <memory>
#include <string>

#include "base/status.h"
#include "client/ch/generator.h"
#include "client/ch/mix.h"
#include "postgres_session.h"

namespace scyper::bench {

// The benchmark's tables and procedures in a PostgreSQL database of its own, which is dropped with this object.
class PostgresTpcc {
 public:
  // Creates the database, loads it from the generator by COPY, creates the procedures, analyses.
  static StatusOr<std::unique_ptr<PostgresTpcc>> create(const std::string& connection, const ch::Generator& generator);
  ~PostgresTpcc();

  PostgresSession& session() { return *session_; }

  // A call sent, and the answer to the oldest one that has none yet: its canonical line goes to `line` if not null.
  Status send(const ch::Call& call);
  // failed: the call was rolled back with a SQLSTATE (its line says which).
  Status receive(std::string* line, bool* failed);

  // Canonical digest per table name.
  StatusOr<std::map<std::string, std::string>> table_digests();

 private:
  PostgresTpcc(std::unique_ptr<PostgresSession> admin, std::string database)
      : admin_(std::move(admin)), database_(std::move(database)) {}
  Status load(const ch::Generator& generator);
  Status load_table(const ch::Generator& generator, const ch::TableInfo& table, int32_t warehouse);
  Status prepare_calls();

  static constexpr size_t kMaxUnderWay = 1024;

  const std::unique_ptr<PostgresSession> admin_;
  const std::string database_;
  std::unique_ptr<PostgresSession> session_;
  std::array<ch::Procedure, kMaxUnderWay> under_way_{};  // a ring: which procedures the next answers belong to
  uint64_t sent_ = 0;
  uint64_t received_ = 0;
  std::array<std::string, ch::Call::kMaxArgs> parameters_;
};

}  // namespace scyper::bench
