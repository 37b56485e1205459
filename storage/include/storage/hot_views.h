#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "storage/chunk_cursor.h"
#include "storage/frozen_slot.h"
#include "storage/schema.h"

// Relevance of frozen chunks (docs/tiering.md).
// Source: Meyer et al., ADMS 2015, 4.1: hot data views, tiering columns, tiering run, tiering check. We differ: what is
// relevant moves to hot chunks, so that no bit per tuple is kept, but one per chunk.
namespace scyper::storage {

// Of a frozen chunk's tuples, one in so many may move away so that the chunk matters no more.
constexpr uint32_t kFewRelevant = 8;

// Tuples that matter to their users. Immutable once others see it.
struct HotView {
  std::string name;
  std::vector<uint32_t> columns;            // that matter of them, ascending
  std::vector<ColumnCondition> conditions;  // as ChunkScan::conditions; not empty
  std::deque<std::string> texts;            // that the conditions point to

  HotView() = default;
  HotView(HotView&&) = default;
  HotView& operator=(HotView&&) = default;
  HotView(const HotView&) = delete;
  HotView& operator=(const HotView&) = delete;
};

// Those of a table, as one immutable version. Owners: FrozenStore, slots.
struct HotViews {
  static constexpr size_t kMax = 64;
  std::vector<std::shared_ptr<const HotView>> views;  // one that is in several versions is the same view
  std::string made_of;  // definitions of those that were made by hand, for who asks whether they are the same
};

// Adds a condition with the texts that it points to.
void add_condition(const TableSchema& schema, const ColumnCondition& condition, HotView* view);

// Whether all rows for which `given` holds are rows for which `wanted` holds, by the bounds alone; both as
// ChunkScan::conditions. False: not, or it cannot tell. Neither fails nor allocates; threads: any.
bool implies(const TableSchema& schema, std::span<const ColumnCondition> given,
             std::span<const ColumnCondition> wanted) noexcept;

// The tiering check of one chunk that is frozen: a view that `given` implies and of which it holds no tuple; null: it
// has to be read. Threads: as readers of the partition. Fork: the child may call it.
const HotView* find_pruning_view(const FrozenSlot& slot, const TableSchema& schema,
                                 std::span<const ColumnCondition> given) noexcept;

// Whether a view that may hold tuples of the frozen chunk has the column; false: it was not asked, too.
bool is_relevant(const FrozenSlot& slot, uint32_t column) noexcept;

// Of a frozen chunk.
struct Relevance {
  uint64_t views = 0;       // a bit per view that may hold one of its tuples when `tuples` have gone
  ChunkSelection tuples{};  // that are to go
  uint32_t count = 0;       // of these
};
// Of the chunk that is open, whose slot it is: its tuples of views, in their order, as long as there are no more than
// `most`. What the slot promises of a view is not looked for again. Nothing: it cannot be read (vectors->status()).
std::optional<Relevance> find_relevant(VectorReader* vectors, const FrozenSlot& slot, const HotViews& views,
                                       uint32_t most);

}  // namespace scyper::storage
