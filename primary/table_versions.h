#pragma once

#include <array>
#include <atomic>
#include <cstdint>

#include "storage/row_claims.h"
#include "storage/table.h"

namespace scyper::primary {

// Counts the commits that have changed each partition of each table, while blocks are open that ask for it. A block
// asks which tables others have changed since it read them.
// Each partition of a table has a slot. Two of them may share a slot: then a block runs a statement again in vain.
// A commit calls note() before it draws its LSN: whoever sees the LSN sees the counts. While blocks read on snapshots,
// it calls note() once more behind that. So an image counts a commit in full only if its LSN was drawn before the
// image. Threads: any.
class TableVersions {
 public:
  static constexpr size_t kSlots = 4096;
  using Slot = uint16_t;
  using Image = std::array<uint64_t, kSlots>;
  static constexpr Slot kAll = 0;  // counts what may have changed any table

  // Commits that end behind watch() are counted until unwatch().
  void watch() { watchers_.fetch_add(1); }
  void unwatch() { watchers_.fetch_sub(1); }
  bool is_watched() const { return watchers_.load(std::memory_order_relaxed) != 0; }
  // Before image(), which is of use until release_image().
  void hold_image() { images_.fetch_add(1); }
  void release_image() { images_.fetch_sub(1); }
  bool has_images() const { return images_.load() != 0; }

  static Slot slot_of(const storage::TablePartition* partition) {
    constexpr uint64_t kGolden = 0x9e3779b97f4a7c15;  // Fibonacci hashing
    const uint64_t hash = reinterpret_cast<uintptr_t>(partition) * kGolden >> 32;
    return static_cast<Slot>(1 + hash % (kSlots - 1));
  }
  uint64_t at(Slot slot) const { return counts_[slot].load(); }
  void note_all() { counts_[kAll].fetch_add(1); }
  // What the log has changed.
  void note(const storage::ChangeLog& log) {
    for (const storage::UndoEntry* entry = log.top(); entry != nullptr; entry = entry->previous) {
      if (entry->kind == storage::UndoEntry::Kind::kDefinition) note_all();
    }
    storage::visit_changed_partitions(log, nullptr, [this](const storage::TablePartition* partition) {
      counts_[slot_of(partition)].fetch_add(1);
      return true;
    });
  }
  Image image() const {
    Image image;
    for (size_t slot = 0; slot < kSlots; ++slot) image[slot] = counts_[slot].load();
    return image;
  }

 private:
  std::atomic<uint32_t> watchers_{0};
  std::atomic<uint32_t> images_{0};
  alignas(64) std::array<std::atomic<uint64_t>, kSlots> counts_{};  // apart from what each commit reads
};

}  // namespace scyper::primary
