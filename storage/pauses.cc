#include "storage/pauses.h"

#include <sys/mman.h>

#include <algorithm>

#include "base/check.h"
#include "definition_entry.h"
#include "storage/memory_reserve.h"

namespace scyper::storage {

namespace {
constexpr size_t kAheadBytes = 2 * kHugePageBytes;  // some times what a step takes
constexpr size_t kRoomShare = 8;                    // of the budget
}  // namespace

Pauses::~Pauses() {
  CHECK(redo_budget_.empty());
  current = nullptr;
  if (redo_ != nullptr) ::munmap(redo_, redo_reserved_);
}

char* Pauses::redo_begin(size_t bytes_max) noexcept {
  if (redo_ != nullptr) return redo_;
  redo_reserved_ = (bytes_max + kRedoStepBytes - 1) / kRedoStepBytes * kRedoStepBytes;
  void* begin =
      ::mmap(nullptr, redo_reserved_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (begin == MAP_FAILED) return nullptr;
  ::madvise(begin, redo_reserved_, MADV_HUGEPAGE);
  ::madvise(begin, redo_reserved_, MADV_DONTFORK);  // a child reads no redo
  return redo_ = static_cast<char*>(begin);
}

bool Pauses::grow_redo(Arena* arena) noexcept {
  const ReserveScope reserve;
  void* block = arena->allocate(kRedoStepBytes);
  if (block == nullptr) return false;
  redo_budget_.push_back(block);
  return true;
}

// What fails here fails when the memory is used.
void Pauses::touch_ahead(Arena* arena) noexcept {
  const size_t used = redo_budget_.size() * kRedoStepBytes;
  if (redo_ != nullptr && used > 0 && redo_touched_ <= used && used + kRedoStepBytes <= redo_reserved_) {
    ::madvise(redo_ + used, kRedoStepBytes, MADV_POPULATE_WRITE);
    redo_touched_ = used + kRedoStepBytes;
  }
  const size_t room = arena->budget_bytes() - std::min(arena->budget_bytes(), arena->used_bytes());
  if (room < arena->budget_bytes() / kRoomShare) return;  // it is for those who need it
  void* block = arena->allocate(kAheadBytes);
  if (block == nullptr) return;
  for (size_t at = 0; at < kAheadBytes; at += kHugePageBytes) {
    ::madvise(static_cast<char*>(block) + at, kHugePageBytes, MADV_POPULATE_WRITE);
  }
  arena->free(block, kAheadBytes);
}

void Pauses::release_redo(Arena* arena) noexcept {
  redo_touched_ = 0;
  for (size_t at = 0; !redo_budget_.empty(); at += kRedoStepBytes) {
    ::madvise(redo_ + at, kRedoStepBytes, MADV_DONTNEED);
    arena->free(redo_budget_.back(), kRedoStepBytes);
    redo_budget_.pop_back();
    pause();
  }
}

void Pauses::give_back(void* memory, size_t bytes) noexcept {
  if (current == nullptr) return;
  constexpr uintptr_t kPageBytes = 4096;
  const auto begin = reinterpret_cast<uintptr_t>(memory);
  const uintptr_t end = (begin + bytes) / kPageBytes * kPageBytes;
  for (uintptr_t at = (begin + kPageBytes - 1) / kPageBytes * kPageBytes; at < end; at += kHugePageBytes) {
    ::madvise(reinterpret_cast<void*>(at), std::min<uintptr_t>(kHugePageBytes, end - at), MADV_DONTNEED);
    current->pause();
  }
}

void Pauses::note(TablePartition* partition, Tid tid) {
  if (last_ == changed_.size() || changed_[last_].partition != partition) {
    const auto found =
        std::find_if(changed_.begin(), changed_.end(), [&](const auto& each) { return each.partition == partition; });
    last_ = static_cast<size_t>(found - changed_.begin());
    if (found == changed_.end()) changed_.push_back({partition, {}});
  }
  std::vector<bool>& chunks = changed_[last_].chunks;
  const uint64_t chunk = tid >> kChunkShift;
  if (chunk >= chunks.size()) chunks.resize(std::max<uint64_t>(chunk + 1, partition->chunk_count));
  chunks[chunk] = true;
}

void Pauses::prepare_commit(const ChangeLog& log) {
  CHECK(changed_.empty());
  for (const UndoEntry* entry = log.top(); entry != nullptr; entry = entry->previous) {
    step();
    if (entry->kind == UndoEntry::Kind::kPayload || is_definition(entry)) continue;
    note(entry->partition, entry->tid);
    if (entry->kind == UndoEntry::Kind::kRelocate) note(entry->partition, entry->from);
  }
  is_prepared_ = true;
}

void Pauses::mark_all_changed() noexcept {
  CHECK(is_prepared_);
  for (const ChangedChunks& changed : changed_) {
    for (uint64_t chunk = 0; chunk < changed.chunks.size(); ++chunk) {
      if (changed.chunks[chunk]) mark_changed(changed.partition, chunk << kChunkShift);
    }
  }
  changed_.clear();
  last_ = 0;
  is_prepared_ = false;
}

}  // namespace scyper::storage
