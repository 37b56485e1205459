#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "query/exec_context.h"
#include "runtime/tuples.h"

namespace scyper::query {

// What all threads of one query may keep on disk together.
struct SpillLimits {
  std::string directory;    // of temporary files; "" = the system's
  uint64_t disk_bytes_max;  // at once; over it 53200
  uint64_t memory_bytes;    // of tuples that each thread keeps in memory; operators go to disk beyond
  std::atomic<uint64_t> disk_bytes{0};
  std::atomic<uint64_t> written_bytes{0};
};

// The temporary file of one thread of a query: blocks of one size, used again once they are free. The file has no name
// from the start (O_TMPFILE, or unlinked), so nothing is left behind however the process ends.
// Errors: 53100 no space, 58030 any other of the disk, 53200 over the limit; all in the context.
// Threads: one writes; others read() what it has written once it told them. Fork: made in the child that uses it.
class SpillSpace {
 public:
  SpillSpace(SpillLimits* limits, uint32_t threads);
  ~SpillSpace();
  SpillSpace(const SpillSpace&) = delete;
  SpillSpace& operator=(const SpillSpace&) = delete;

  SpillLimits* limits() const { return limits_; }
  uint64_t memory_bytes() const { return memory_bytes_; }
  size_t block_bytes() const { return block_bytes_; }
  // What one store may keep in memory when others have taken all that there is.
  uint64_t store_bytes_min() const { return memory_bytes_ / 16; }

  // Memory of tuples, as far as it was noted: decides when operators go to disk.
  void hold(uint64_t bytes) { held_bytes_ += bytes; }
  uint64_t held_bytes() const { return held_bytes_; }

  // A buffer of a block, behind the header of a chunk of tuples. nullptr: no memory.
  TupleStore::Chunk* take_buffer(ExecContext* c) noexcept;
  void give_buffer(TupleStore::Chunk* buffer) { buffers_.push_back(buffer); }

  int32_t write(ExecContext* c, const char* from, size_t bytes, uint64_t* offset) noexcept;
  int32_t read(ExecContext* c, uint64_t offset, char* to, size_t bytes) const noexcept;
  void free(uint64_t offset) noexcept;

  // Lives as long as the space.
  template <class T>
  T* make() {
    auto owned = std::make_shared<T>();
    objects_.push_back(owned);
    return owned.get();
  }

 private:
  int32_t open(ExecContext* c) noexcept;

  SpillLimits* const limits_;
  const uint64_t memory_bytes_;
  const size_t block_bytes_;
  int file_ = -1;
  uint64_t end_ = 0;
  uint64_t held_bytes_ = 0;
  std::vector<uint64_t> free_blocks_;
  std::vector<TupleStore::Chunk*> buffers_;
  std::vector<std::shared_ptr<void>> objects_;
};

// Tuples of one width on disk, in the order they came.
struct SpillPart {
  struct Block {
    SpillSpace* space;
    uint64_t offset;
    size_t bytes;
  };
  std::vector<Block> blocks;
  TupleStore::Chunk* buffer = nullptr;  // not yet written; its end is where the next tuple goes
  uint64_t bytes = 0;                   // of all tuples

  int32_t append(ExecContext* c, const char* tuple, size_t width) noexcept;
  int32_t flush(ExecContext* c) noexcept;  // before it is read
  void clear(ExecContext* c) noexcept;     // gives the blocks of this thread back
};

// Reads parts one after the other, a block at a time; blocks of the reader's own file are free afterwards.
class SpillReader {
 public:
  void open(std::vector<SpillPart*> parts) { parts_ = std::move(parts), part_ = block_ = 0; }
  // *chunk: the next tuples, which stay until the next call; nullptr at the end.
  int32_t next(ExecContext* c, TupleStore::Chunk** chunk) noexcept;
  bool is_at_end() const { return buffer_ == nullptr && part_ >= parts_.size(); }
  void close(ExecContext* c) noexcept;

 private:
  std::vector<SpillPart*> parts_;
  size_t part_ = 0, block_ = 0;
  TupleStore::Chunk* buffer_ = nullptr;
};

// The error of an interrupt, or 0.
int32_t poll_interrupt(ExecContext* c) noexcept;

}  // namespace scyper::query
