#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "base/mutex.h"
#include "storage/row_claims.h"

namespace scyper::primary {

using BlockId = uint64_t;  // 0: none

// Rows and keys that open blocks keep for themselves until they end: what they have changed or locked. The blocks'
// changes are not in the tables between two of their statements (tentative_block.h), so this is all that others can
// see of them.
// The names are spread over sets. Each has a mutex, because rows of shared tables are reserved by the workers of
// several partitions (foreign keys refer to them). Others look at a set only where any() says so.
// Threads: any. A look is exact for whoever owns the partition, or runs alone.
class Reservations {
 public:
  // Once, before all else.
  void begin(uint32_t partitions);

  struct Lock {
    storage::RowLock lock;
    bool changes;
  };
  // A reservation of one block. Its owner keeps them in order.
  struct Held {
    uint32_t set;
    std::string name;
    std::optional<Lock> before;  // the block's lock that this one has made stronger
  };

  bool any() const { return count_.load(std::memory_order_relaxed) != 0; }
  // False: nothing of that table is reserved.
  bool may_hold(TableId table) const { return tables_[slot_of(table.value())].load(kRelaxed) != 0; }
  // Another block that has what the claim excludes; 0: none.
  BlockId find_holder(const storage::RowClaim& claim, BlockId own) const;
  // Another block that has changed the row; 0: none.
  BlockId find_changer(std::string_view name, BlockId own) const;
  // Another block that has anything of the table, or has changed something of it; 0: none. Looks at all names.
  BlockId find_in_table(TableId table, bool is_for_changes, BlockId own) const;
  // Nobody holds it who is excluded. Nothing to do where the block has as strong a lock already.
  void add(const storage::RowClaim& claim, BlockId own, std::vector<Held>* held);
  // Gives back what came behind the first `kept` ones.
  void release(BlockId own, size_t kept, std::vector<Held>* held);

 private:
  // Of names and of tables, by hash: most looks end here, without a mutex.
  static constexpr size_t kNameSlots = 4096, kTableSlots = 256;
  static constexpr std::memory_order kRelaxed = std::memory_order_relaxed;
  static size_t slot_of(uint32_t table) { return table % kTableSlots; }
  void count(std::string_view name, size_t hash, int32_t change);

  using Holders = std::vector<std::pair<BlockId, Lock>>;
  template <class Excludes>
  BlockId find(std::string_view name, BlockId own, const Excludes& excludes) const;
  struct Set {
    mutable Mutex mutex;
    absl::flat_hash_map<std::string, Holders> names ABSL_GUARDED_BY(mutex);
  };
  std::vector<std::unique_ptr<Set>> sets_;  // by hash of the name
  std::atomic<uint64_t> count_{0};          // of all Held
  std::array<std::atomic<uint32_t>, kNameSlots> names_{};
  std::array<std::atomic<uint32_t>, kTableSlots> tables_{};
};

}  // namespace scyper::primary
