#pragma once

#include <gtest/gtest.h>

#include <initializer_list>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "base/simulated_disk.h"
#include "partition_engine.h"
#include "primary/open_transaction.h"

namespace scyper::primary {

// Statements of tests, on an engine that a fixture opens. Threads: run() and number() any.
class EngineStatements {
 protected:
  void start(const EngineOptions& options) {
    engine_.reset();
    auto engine = PartitionEngine::create(options);
    ASSERT_TRUE(engine.ok()) << engine.status();
    engine_ = *std::move(engine);
  }

  // The command tag, or the SQLSTATE.
  std::string run(std::string_view sql, const StatementLimits& limits = {}) {
    query::ResultSet result;
    const Status status = engine_->execute(sql, {}, &result, limits);
    return status.ok() ? result.command_tag : std::string(sqlstate_of(status));
  }
  void all(std::initializer_list<const char*> statements) {
    for (const char* sql : statements) {
      const Status status = engine_->execute(sql, {}, nullptr);
      ASSERT_TRUE(status.ok()) << sql << ": " << status;
    }
  }
  // The only value; -1: there is none.
  int64_t number(std::string_view sql) {
    query::ResultSet result;
    return number_of(sql, engine_->execute(sql, {}, &result), result);
  }

  // An open transaction, with statements as above.
  struct Block {
    std::unique_ptr<OpenTransaction> transaction;
    const query::SettingValues* settings = nullptr;
    std::string run(std::string_view sql) {
      query::ResultSet result;
      StatementLimits limits;
      limits.settings = settings;
      const Status status = transaction->execute(sql, {}, &result, limits);
      return status.ok() ? result.command_tag : std::string(sqlstate_of(status));
    }
    int64_t number(std::string_view sql) {
      query::ResultSet result;
      return number_of(sql, transaction->execute(sql, {}, &result, {}), result);
    }
    std::string commit() {
      const Status status = transaction->commit();
      transaction.reset();
      return std::string(sqlstate_of(status));
    }
  };

  SimulatedDisk disk_;  // outlives the engine
  std::unique_ptr<PartitionEngine> engine_;

 private:
  static int64_t number_of(std::string_view sql, const Status& status, const query::ResultSet& result) {
    EXPECT_TRUE(status.ok()) << sql << ": " << status;
    return status.ok() && result.row_count() == 1 ? result.value(0, 0).lo : -1;
  }
};

}  // namespace scyper::primary
