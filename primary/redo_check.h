#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <string_view>

#include "base/status.h"
#include "query/database.h"
#include "storage/row_apply.h"

namespace scyper::primary {

// Reads a transaction's row changes as replay will, before its commit is acknowledged: changes that no restart could
// read are an error of that transaction, which leaves nothing, and never a log that cannot be replayed. How a
// statement's changes are laid out is decided when it is compiled. So the first runs of each are read and then some of
// the others; without NDEBUG all are. Threads: one, a worker's.
class RedoCheck {
 public:
  explicit RedoCheck(query::Database* database) : database_(database), reader_(make_reader()) {}

  // partition: the only one of partitioned tables that they may lie in. statement: its number, 0 = check in any case.
  // XX000.
  // between: called before each change.
  Status check(std::string_view changes, uint32_t partition, uint64_t catalog_version, uint64_t statement,
               const std::function<void()>& between) {
    if (version_ != catalog_version || catalog_ == nullptr) [[unlikely]]
      begin_version(catalog_version);
    return is_due(statement) ? check_now(changes, partition, between) : Status();
  }

 private:
  static constexpr uint32_t kFirstRuns = 16, kEvery = 128;  // reading all costs TPC-C some percent
  struct Seen {
    uint64_t statement = 0;
    uint32_t runs = 0;
  };
  bool is_due([[maybe_unused]] uint64_t statement) {
#ifdef NDEBUG
    if (statement == 0) return true;
    Seen& seen = seen_[statement % seen_.size()];
    if (seen.statement != statement) seen = {statement, 0};
    const uint32_t runs = seen.runs++;
    return runs < kFirstRuns || runs % kEvery == 0;
#else
    return true;
#endif
  }
  void begin_version(uint64_t catalog_version);
  Status check_now(std::string_view changes, uint32_t partition, const std::function<void()>& between);
  std::unique_ptr<storage::RowApplier> make_reader();

  query::Database* const database_;
  std::shared_ptr<const query::Catalog> catalog_;
  uint64_t version_ = 0;  // of the catalog that the reader knows
  const std::unique_ptr<storage::RowApplier> reader_;
  std::array<Seen, 256> seen_;  // by statement number modulo size; of this version
};

}  // namespace scyper::primary
