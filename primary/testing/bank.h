#pragma once

#include <functional>
#include <initializer_list>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "partition_engine.h"

namespace scyper::primary {

// The node under test: accounts of branches (partitioned by branch), shared rates, and procedures of every class.
class Bank {
 public:
  static constexpr int kBranches = 16;
  static constexpr int kAccounts = 32;  // per branch, 1000 each

  // SCYPER_TEST_COMPACTION: everything is frozen so often, in microseconds; with SCYPER_TEST_TIERING, as tiered().
  static EngineOptions small_options();
  explicit Bank(EngineOptions options = small_options());

  PartitionEngine& engine() { return *engine_; }
  void stop() { engine_.reset(); }

  // A branch of another partition than `branch`, or of the same.
  int32_t branch_elsewhere(int32_t branch) const;
  int32_t branch_beside(int32_t branch) const;
  uint32_t partition_of(int32_t branch) const;

  std::shared_ptr<const Statement> prepare(std::string_view sql);
  Status run(std::string_view sql, std::initializer_list<int64_t> arguments = {});
  // The only value of the only row.
  int64_t value_of(std::string_view sql);
  std::string tag_of(std::string_view sql);
  // Of all tables, taken while nothing runs.
  storage::Digest digest();
  void check_tables();

 private:
  EngineOptions options_;
  std::unique_ptr<PartitionEngine> engine_;
};

// Visits each table while no transaction and no compaction runs.
void for_each_table(PartitionEngine* engine,
                    const std::function<void(const std::string& name, const storage::Table& table)>& visit);

// A transaction with integer arguments that one thread waits for.
struct Call : Transaction {
  Call(std::shared_ptr<const Statement> called, std::initializer_list<int64_t> values);
  void start(Engine* engine);
  void wait() { completion->wait(); }
  std::unique_ptr<Completion> completion = std::make_unique<Completion>();
};

}  // namespace scyper::primary
