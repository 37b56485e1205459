#include "runtime/windows.h"

#include <vector>

#include "query/exec_context.h"
#include "query/program.h"
#include "runtime/memory.h"
#include "runtime/runtime.h"
#include "storage/change_log.h"
#include "storage/frozen_slot.h"

namespace scyper::query {

using storage::TablePartition;
using storage::Tid;

// The windows of one thread: routines that a program calls have others than itself. Owner: ExecContext.
class ChunkWindows {
 public:
  // nullptr: no address space.
  char* get(uint32_t depth, uint32_t number, size_t chunk_bytes) noexcept;

 private:
  std::vector<std::vector<storage::ChunkWindow>> windows_;  // by depth of calls, by number in the program
};

char* ChunkWindows::get(uint32_t depth, uint32_t number, size_t chunk_bytes) noexcept {
  if (windows_.size() <= depth) windows_.resize(depth + 1);
  std::vector<storage::ChunkWindow>& own = windows_[depth];
  if (own.size() <= number) own.resize(number + 1);
  return own[number].get(chunk_bytes);
}

namespace {

char* window_of(ExecContext* c, const TablePartition* partition, const ChunkOpening& opening) noexcept {
  if (c->windows == nullptr) c->windows = std::make_shared<ChunkWindows>();
  return c->windows->get(c->depth, opening.window, partition->table->layout().chunk_bytes);
}

// Where the tuple is that was at `tid` when the running transaction found it: it may have moved it since.
Tid present_tid(const ExecContext* c, const TablePartition* partition, Tid tid) noexcept {
  if (storage::is_live(partition, tid) || c->log == nullptr) return tid;
  for (const storage::UndoEntry* entry = c->log->top(); entry != nullptr; entry = entry->previous)
    if (entry->kind == storage::UndoEntry::Kind::kRelocate && entry->partition == partition && entry->from == tid)
      return entry->tid;
  return tid;
}

extern "C" {

int32_t rt_open_tuple(ExecContext* c, TablePartition* partition, int64_t tid, int64_t number) noexcept {
  const ChunkOpening& opening = c->program->opening(number);
  char* window = window_of(c, partition, opening);
  if (window == nullptr) return fail_memory(c);
  const Tid present = present_tid(c, partition, static_cast<Tid>(tid));
  const storage::TuplePlace place = storage::open_tuple(partition, present, opening.columns, window, opening.place);
  c->value[0] = reinterpret_cast<int64_t>(place.chunk);
  c->value[1] = place.offset;
  c->value[2] = static_cast<int64_t>(present);
  return 0;
}

int32_t rt_open_chunk(ExecContext* c, TablePartition* partition, int64_t first, int64_t number) noexcept {
  const ChunkOpening& opening = c->program->opening(number);
  char* window = window_of(c, partition, opening);
  if (window == nullptr) return fail_memory(c);
  const storage::ChunkScan scan{opening.columns, {}};
  const uint64_t chunk = static_cast<Tid>(first) >> storage::kChunkShift;
  c->value[0] = reinterpret_cast<int64_t>(storage::open_chunk(partition, chunk, scan, window));
  return 0;
}

int32_t rt_make_hot(ExecContext* c, TablePartition* partition, int64_t tid) noexcept {
  const Tid present = present_tid(c, partition, static_cast<Tid>(tid));
  c->value[0] = -1;
  if (!storage::is_live(partition, present)) return 0;
  const Tid hot = storage::make_hot(partition, present, c->log);
  if (hot == storage::kNoTid) return fail_change(c, c->log->last_result());
  c->value[0] = static_cast<int64_t>(hot);
  return 0;
}

int32_t rt_delete_anywhere(ExecContext* c, TablePartition* partition, int64_t tid) noexcept {
  return fail_change(c, storage::delete_tuple(partition, present_tid(c, partition, static_cast<Tid>(tid)), c->log));
}

}  // extern "C"

}  // namespace

#define SCYPER_DEFINE_RUNTIME(name, result, words, pure) \
  const ir::External k_##name{#name, reinterpret_cast<void*>(&name), ir::Type::result, words, pure};
SCYPER_WINDOW_FUNCTIONS(SCYPER_DEFINE_RUNTIME)
#undef SCYPER_DEFINE_RUNTIME

}  // namespace scyper::query
