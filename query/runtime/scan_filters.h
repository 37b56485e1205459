#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "runtime/windows.h"
#include "storage/chunk_cursor.h"
#include "storage/frozen_chunk.h"

namespace scyper::query {

// What joins to come leave of a scan's rows, before other columns than their keys are decoded. Where places are exact
// (KeyPlaces), sums of keys are computed modulo 2^32: what a filter lets through too much is found by the join.
// Threads, owner: of the scan.
class ScanFilters : public storage::RowFilter {
 public:
  // What these refer to lives until the next call.
  void reset(std::span<const ChunkFilter> filters, const JoinFilter* const* made, const storage::TableLayout& layout);
  bool is_empty() const { return filters_.empty(); }
  // No row of it passes, by the bounds of its columns alone.
  bool can_skip(const storage::FrozenChunk& chunk) const noexcept;
  std::span<const uint32_t> columns() const override { return columns_; }
  void apply(const char* window, uint32_t begin, uint32_t end, uint64_t* selection) noexcept override;

 private:
  uint64_t hits(const ChunkFilter& filter, const JoinFilter& made, const char* window, uint32_t place) const noexcept;

  std::span<const ChunkFilter> filters_;
  const JoinFilter* const* made_ = nullptr;
  const storage::TableLayout* layout_ = nullptr;
  std::vector<uint32_t> columns_;
};

}  // namespace scyper::query
