#include "storage/change_log.h"

#include <algorithm>
#include <cstring>
#include <new>
#include <utility>

#include "base/check.h"
#include "definition_entry.h"
#include "row_change_format.h"
#include "storage/memory_reserve.h"
#include "storage/pauses.h"
#include "storage/temporary.h"
#include "tuple_undo.h"

namespace scyper::storage {
namespace {

constexpr size_t kBlockBytes = kArenaGranuleBytes;
constexpr size_t kFirstRedoBytes = kArenaGranuleBytes;

// Added to the capacity of redo that lies with Pauses: all capacities are multiples of a granule.
constexpr size_t kRedoIsAside = 1;

constexpr size_t round_up(size_t value, size_t to) { return (value + to - 1) / to * to; }

void* allocate(Arena* arena, size_t bytes) noexcept {
  const ReserveScope reserve;
  return arena->allocate(bytes);
}

}  // namespace

StatusOr<std::unique_ptr<ChangeLog>> ChangeLog::create(Arena* arena, const Options& options) {
  std::unique_ptr<ChangeLog> log(new ChangeLog(arena, options));
  const bool ready = log->refill_reserve() && log->next_block(sizeof(UndoEntry)) && log->grow_redo(1);
  log->key_scratch_.reset(new (std::nothrow) char[size_t{kMaxIndexesPerTable} * kMaxIndexKeyBytes]);
  if (!ready || log->key_scratch_ == nullptr) return sql_error("53200", "out of memory");
  return log;
}

ChangeLog::~ChangeLog() {
  CHECK(head_.top == nullptr);
  for (Block* block = first_block_; block != nullptr;) {
    Block* next = block->next;
    arena_->free(block, block->bytes);
    block = next;
  }
  if (redo_begin_ != nullptr) arena_->free(redo_begin_, redo_capacity_);
  while (release_reserve()) {
  }
}

// push() goes on in `block` at `cursor`, up to the block's end or the limit. While the reserve is missing there is no
// room at all, so that every push() ends up in next_block().
void ChangeLog::use_block(Block* block, char* cursor) noexcept {
  block_ = block;
  head_.cursor = cursor;
  const auto room = static_cast<size_t>(reinterpret_cast<char*>(block) + block->bytes - cursor);
  head_.block_end =
      cursor + (reserve_held_ < reserve_wanted_ ? 0 : std::min(room, options_.undo_limit_bytes - head_.undo_bytes));
}

bool ChangeLog::next_block(size_t bytes) noexcept {
  if (!refill_reserve()) {
    last_result_ = ChangeResult::kOutOfMemory;
    return false;
  }
  if (head_.undo_bytes + bytes > options_.undo_limit_bytes) {
    last_result_ = ChangeResult::kUndoLimit;
    return false;
  }
  if (block_ != nullptr) use_block(block_, head_.cursor);
  if (static_cast<size_t>(head_.block_end - head_.cursor) >= bytes) return true;  // the reserve was the only reason
  const size_t wanted = round_up(sizeof(Block) + bytes, kBlockBytes);
  Block* next = block_ == nullptr ? first_block_ : block_->next;
  if (next == nullptr || next->bytes < wanted) {
    auto* fresh = static_cast<Block*>(allocate(arena_, wanted));
    if (fresh == nullptr) {
      last_result_ = ChangeResult::kOutOfMemory;
      return false;
    }
    fresh->next = next;
    fresh->bytes = wanted;
    (block_ == nullptr ? first_block_ : block_->next) = fresh;
    block_bytes_ += wanted;
    next = fresh;
  }
  use_block(next, first_byte(next));
  return true;
}

bool ChangeLog::grow_redo(size_t bytes) noexcept {
  const size_t used = redo_bytes();
  if (used + bytes > options_.redo_limit_bytes) {
    last_result_ = ChangeResult::kRedoLimit;
    return false;
  }
  Pauses* const pauses = Pauses::current;
  if (pauses != nullptr && redo_capacity_ == kKeptBytes) {
    if (char* begin = pauses->redo_begin(options_.redo_limit_bytes); begin != nullptr) {
      std::memcpy(begin, redo_begin_, used);
      arena_->free(redo_begin_, redo_capacity_);
      redo_begin_ = begin;
      head_.redo_cursor = begin + used;
      redo_capacity_ = kRedoIsAside;
    }
  }
  if ((redo_capacity_ & kRedoIsAside) != 0) {
    while (redo_capacity_ < used + bytes + kRedoIsAside) {
      if (!pauses->grow_redo(arena_)) {
        last_result_ = ChangeResult::kOutOfMemory;
        return false;
      }
      redo_capacity_ += Pauses::kRedoStepBytes;
    }
    head_.redo_end = redo_begin_ + std::min(redo_capacity_ - kRedoIsAside, options_.redo_limit_bytes);
    return true;
  }
  size_t capacity = std::max(redo_capacity_, kFirstRedoBytes);
  while (capacity < used + bytes) capacity *= 2;
  auto* fresh = static_cast<char*>(allocate(arena_, capacity));
  if (fresh == nullptr) {
    last_result_ = ChangeResult::kOutOfMemory;
    return false;
  }
  if (redo_begin_ != nullptr) {
    std::memcpy(fresh, redo_begin_, used);
    arena_->free(redo_begin_, redo_capacity_);
  }
  redo_begin_ = fresh;
  head_.redo_cursor = fresh + used;
  head_.redo_end = fresh + std::min(capacity, options_.redo_limit_bytes);
  redo_capacity_ = capacity;
  return true;
}

bool ChangeLog::refill_reserve() noexcept {
  while (reserve_held_ < reserve_wanted_) {
    auto* block = static_cast<Block*>(allocate(arena_, options_.reserve_bytes));
    if (block == nullptr) return false;
    *block = {reserve_, options_.reserve_bytes};
    reserve_ = block;
    reserve_held_ += block->bytes;
  }
  return true;
}

bool ChangeLog::grow_reserve() noexcept {
  const size_t before = reserve_wanted_;
  while (erased_keys_ * kReservePerKey > reserve_wanted_ - options_.reserve_bytes / 2) {
    reserve_wanted_ += options_.reserve_bytes;
  }
  if (refill_reserve()) return true;
  reserve_wanted_ = before;
  last_result_ = ChangeResult::kOutOfMemory;
  return false;
}

bool ChangeLog::release_reserve() noexcept {
  if (reserve_ == nullptr) return false;
  Block* block = std::exchange(reserve_, reserve_->next);
  reserve_held_ -= block->bytes;
  arena_->free(block, block->bytes);
  return true;
}

// The payloads of a row lie above its entry. They are freed after the row is restored, because keys are erased by what
// the cells refer to.
void ChangeLog::rollback_to(const Mark& mark) noexcept {
  const ReserveScope reserve;
  Pauses* const pauses = Pauses::current;
  while (head_.top != mark.top) {
    if (pauses != nullptr) pauses->step();
    UndoEntry* row = head_.top;
    if (is_definition(row)) [[unlikely]] {
      definition_of(row)->take_back();
      head_.top = row->previous;
      continue;
    }
    while (row->kind == UndoEntry::Kind::kPayload) row = row->previous;
    if (deferred_ == row) deferred_ = row->deferred;
    undo_row(row, this);
    for (UndoEntry* entry = head_.top; entry != row; entry = entry->previous) free_payload(entry);
    head_.top = row->previous;
  }
  head_.undo_bytes = mark.undo_bytes;
  erased_keys_ = mark.erased_keys;
  locked_rows_ = mark.locked_rows;
  head_.redo_cursor = redo_begin_ + mark.redo_bytes;
  refill_reserve();
  if (mark.block != nullptr) use_block(static_cast<Block*>(mark.block), mark.cursor);
}

void ChangeLog::note_sequence(SequenceId id, const SequenceState& state, bool is_drawn) {
  size_t i = 0;
  while (i < sequences_.size() && sequences_[i].id != id) ++i;
  if (i == sequences_.size()) sequences_.push_back({id, state, false});
  sequences_[i].state = state;
  sequences_[i].is_drawn |= is_drawn;
  if (is_drawn) last_drawn_ = i;
}

const SequenceState* ChangeLog::drawn_from(SequenceId id) const noexcept {
  for (const SequenceNote& note : sequences_)
    if (note.id == id && note.is_drawn) return &note.state;
  return nullptr;
}

const SequenceState* ChangeLog::last_drawn() const noexcept {
  return last_drawn_ < sequences_.size() ? &sequences_[last_drawn_].state : nullptr;
}

bool ChangeLog::log_sequences() noexcept {
  if (!head_.record_redo) return true;
  for (const SequenceNote& note : sequences_) {
    if (note.state.changes == 0 || is_temporary(note.id)) continue;  // 0: forgotten
    char* out = redo_reserve(kSequenceChangeBytesMax);
    if (out == nullptr) return false;
    redo_advance(put_sequence_change(out, note.id, note.state));
  }
  return true;
}

void ChangeLog::rollback_all() noexcept {
  const bool has_committed = head_.top == nullptr;  // in a child whose parent was about to free what it had replaced
  rollback_to(Mark{nullptr, nullptr, nullptr, 0, 0, 0, 0});
  CHECK(deferred_ == nullptr || has_committed);
  while (deferred_ != nullptr) finish_deferred(std::exchange(deferred_, deferred_->deferred));
  reset();
}

// Here and not where a change is made: one place for all that change rows, and what is rolled back marks nothing. The
// marks come before anybody can fork: an archive of a later state has to see them.
void ChangeLog::commit() noexcept {
  Pauses* const pauses = Pauses::current;
  if (pauses != nullptr) {
    pauses->mark_all_changed();
    head_.top = nullptr;
    sequences_.clear();
  }
  for (const UndoEntry* entry = head_.top; entry != nullptr; entry = entry->previous) {
    if (entry->kind != UndoEntry::Kind::kPayload && !is_definition(entry)) mark_changed(entry->partition, entry->tid);
  }
  while (deferred_ != nullptr) {
    if (pauses != nullptr) pauses->step();
    finish_deferred(std::exchange(deferred_, deferred_->deferred));
  }
  reset();
}

void ChangeLog::reset() noexcept {
  sequences_.clear();
  last_drawn_ = SIZE_MAX;
  head_.top = nullptr;
  head_.undo_bytes = 0;
  head_.redo_cursor = redo_begin_;
  if (block_bytes_ > kKeptBytes) {
    size_t kept = 0;
    Block* last = first_block_;
    for (; last->next != nullptr && kept + last->bytes < kKeptBytes; last = last->next) kept += last->bytes;
    for (Block* block = std::exchange(last->next, nullptr); block != nullptr;) {
      Block* next = block->next;
      block_bytes_ -= block->bytes;
      arena_->free(block, block->bytes);
      block = next;
    }
  }
  if ((redo_capacity_ & kRedoIsAside) != 0) {
    redo_begin_ = head_.redo_cursor = head_.redo_end = nullptr;
    redo_capacity_ = 0;
    if (Pauses::current != nullptr) Pauses::current->release_redo(arena_);  // a child has none
  } else if (redo_capacity_ > kKeptBytes) {
    arena_->free(redo_begin_, redo_capacity_);
    redo_begin_ = head_.redo_cursor = head_.redo_end = nullptr;
    redo_capacity_ = 0;
  }
  erased_keys_ = 0;
  reserve_wanted_ = options_.reserve_bytes;
  while (reserve_held_ > reserve_wanted_) release_reserve();
  refill_reserve();
  use_block(first_block_, first_byte(first_block_));
}

void ChangeLog::record_redo(bool record) noexcept {
  CHECK(empty());
  head_.record_redo = record;
}

}  // namespace scyper::storage
