#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <string_view>
#include <utility>

#include "primary/copy_in.h"
#include "query/copy.h"

namespace scyper::primary {

// The memory of all COPYs whose text is coming, and what has become of the others. Threads: any.
struct CopyMemory {
  size_t bytes_max = 0;
  std::atomic<size_t> bytes{0};
  std::atomic<uint64_t> open{0}, done{0}, failed{0}, rows{0};
};

// CopyIn of a PartitionEngine, or of a transaction that is open there.
class EngineCopy final : public CopyIn {
 public:
  // What puts the rows into their table when all have come.
  using Filler = std::function<Status(query::CopyRows*, const StatementLimits&, query::ResultSet*)>;

  EngineCopy(Filler fill, CopyMemory* memory, std::unique_ptr<query::CopyRows> rows)
      : fill_(std::move(fill)), memory_(memory), rows_(std::move(rows)) {
    memory_->open.fetch_add(1, std::memory_order_relaxed);
  }
  ~EngineCopy() override {
    memory_->bytes.fetch_sub(counted_bytes_, std::memory_order_relaxed);
    memory_->open.fetch_sub(1, std::memory_order_relaxed);
    if (!is_done_) memory_->failed.fetch_add(1, std::memory_order_relaxed);
  }

  size_t column_count() const override { return rows_->target().columns.size(); }
  bool is_binary() const override { return rows_->target().format.is_binary; }
  Status add(std::string_view text) override;
  Status finish(const StatementLimits& limits, query::ResultSet* result) override;
  Status at_line(Status status) const override { return rows_->at_line(std::move(status)); }

 private:
  Status count_memory();

  const Filler fill_;
  CopyMemory* const memory_;
  const std::unique_ptr<query::CopyRows> rows_;
  size_t counted_bytes_ = 0;
  bool is_done_ = false;
};

}  // namespace scyper::primary
