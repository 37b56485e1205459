#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <unordered_map>
#include <vector>

#include "query/catalog.h"
#include "query/database.h"
#include "storage/key.h"
#include "storage/row_claims.h"

namespace scyper::primary {

// The rows that inserted and updated rows refer to by foreign keys: who refers to a row claims it, so that nobody
// deletes it meanwhile (PostgreSQL's FOR KEY SHARE).
// Threads: one.
class ReferencedRows {
 public:
  // The database's catalog of that version from now on.
  void use(const query::Database& database, uint64_t version);
  // Which tables' rows are to be visited; null: all.
  using Wanted = std::function<bool(TableId)>;
  static constexpr uint32_t kAnyPartition = ~uint32_t{0};
  // As storage::visit_claims(): of the changes in the log that are newer than `before`. partition: the only one of
  // partitioned tables that may be read now.
  StatusOr<bool> visit(const storage::ChangeLog& log, const storage::UndoEntry* before, uint32_t partition,
                       const Wanted& wanted, const storage::ClaimVisitor& visit);

 private:
  struct Reference {
    std::shared_ptr<storage::Table> table;  // that is referred to
    uint32_t index = 0;                     // its unique one
    storage::KeyFormat format;              // of it
    std::vector<uint32_t> columns;          // that refer, in the index's order
    // Position of the column that decides the partition; none: it may be any.
    std::optional<size_t> partition_column;
  };
  const std::vector<Reference>& references_of(const storage::TableSchema& schema);
  StatusOr<bool> visit_row(const storage::WrittenRow& row, const Reference& reference, uint32_t partition,
                           const storage::ClaimVisitor& visit) const;

  std::shared_ptr<const query::Catalog> catalog_;
  uint64_t version_ = 0;                                             // its
  std::unordered_map<uint32_t, std::vector<Reference>> references_;  // by table
};

}  // namespace scyper::primary
