#pragma once

#include <cstdint>
#include <memory>
#include <string_view>

#include "base/status.h"
#include "query/database.h"
#include "storage/row_apply.h"

namespace scyper::primary {

// Reads a transaction's row changes as replay will, before its commit is acknowledged: changes that no restart could
// read are an error of that transaction, which leaves nothing, and never a log that cannot be replayed. Costs a walk
// over the bytes. Threads: one, a worker's.
class RedoCheck {
 public:
  explicit RedoCheck(query::Database* database) : database_(database), reader_(make_reader()) {}

  // partition: the only one of partitioned tables that they may lie in. XX000.
  Status check(std::string_view changes, uint32_t partition, uint64_t catalog_version);

 private:
  std::unique_ptr<storage::RowApplier> make_reader();

  query::Database* const database_;
  std::shared_ptr<const query::Catalog> catalog_;
  uint64_t version_ = 0;  // of the catalog that the reader knows
  const std::unique_ptr<storage::RowApplier> reader_;
};

}  // namespace scyper::primary
