#pragma once

#include <cstdint>
#include <memory>

#include "storage/arena.h"
#include "storage/schema.h"

namespace scyper::storage {

// Keys are normalised byte strings: memcmp order = SQL order (storage/key.h encodes them). A unique index maps key ->
// Tid. A non-unique one appends the Tid (8 bytes, big endian) to the key itself, done by the caller. In an index of
// variable keys no key may be the beginning of another (key.h's encoding ends every value, so they are not). Threads:
// one writer (the partition's worker) or any number of readers, never both; no latches. Fork: the child may read
// (nothing in a lookup or scan writes).
// Generated code calls find, insert, erase, prefetch, seek and next: not virtual, noexcept.

enum class IndexResult : uint8_t { kOk, kDuplicate, kNotFound, kOutOfMemory };

// Keys longer than this are refused by key.h (54000) before they reach an index; the appended Tid comes on top.
constexpr uint32_t kMaxKeyBytes = 2000;
constexpr uint32_t kMaxIndexKeyBytes = kMaxKeyBytes + 8;

// A hash index keeps 16-byte keys with 40-bit Tids, so that three entries fill one cache line: 10^12 tuples per
// partition.
constexpr uint64_t kMaxHashedTid = (uint64_t{1} << 40) - 2;

// Point access by the whole key. Grows without pauses: buckets split one at a time (extendible hashing), never all at
// once. Fixed-width keys up to 16 bytes lie in the slot (8- and 16-byte forms); longer or variable ones are stored
// apart and checked after their 64-bit hash.
class HashIndex {
 public:
  enum class Kind : uint8_t { kWord, kPair, kApart };  // where the key lies; for the implementation
  // key_bytes: width of every key, 0 = variable. nullptr when the arena's budget is used up.
  static std::unique_ptr<HashIndex> create(Arena* arena, uint32_t key_bytes);
  virtual ~HashIndex() = default;
  Tid find(const char* key, uint32_t size) const noexcept;  // kNoTid when absent
  IndexResult insert(const char* key, uint32_t size, Tid tid) noexcept;
  IndexResult erase(const char* key, uint32_t size) noexcept;
  // The key leads to another tuple from now on. Needs no memory.
  IndexResult replace(const char* key, uint32_t size, Tid tid) noexcept;
  // Fetches the line that find() will read first. Worth it some 100 ns ahead, for keys that are known together.
  void prefetch(const char* key, uint32_t size) const noexcept;
  // The same for fixed keys of at most kMaxWordKeyBytes that the caller has in registers: their bytes as two
  // little-endian words, zeros behind the key's end.
  static constexpr uint32_t kMaxWordKeyBytes = 16;
  Tid find_words(uint64_t first, uint64_t second) const noexcept;
  IndexResult insert_words(uint64_t first, uint64_t second, Tid tid) noexcept;
  void prefetch_words(uint64_t first, uint64_t second) const noexcept;
  uint64_t size() const noexcept { return size_; }

  virtual size_t memory_bytes() const noexcept = 0;
  virtual void check_structure() const = 0;  // for tests: CHECKs every invariant, visits everything

 protected:
  HashIndex(Kind kind, uint32_t key_bytes) : kind_(kind), key_bytes_(key_bytes) {}

  const Kind kind_;
  const uint32_t key_bytes_;
  uint64_t size_ = 0;
};

// A position in an ordered index. Lives in the caller's memory (generated code keeps it in its frame), at one place
// from seek() on: it may point into itself. Valid until the index changes.
struct alignas(16) OrderedCursor {
  uint64_t words[24];
};

// Point and range access in key order. Nodes that become empty are unlinked and recycled.
class OrderedIndex {
 public:
  enum class Kind : uint8_t { kWord, kPair, kTriple, kRadix };  // for the implementation
  // key_bytes: width of every key, 0 = variable. nullptr when the arena's budget is used up.
  static std::unique_ptr<OrderedIndex> create(Arena* arena, uint32_t key_bytes);
  virtual ~OrderedIndex() = default;
  Tid find(const char* key, uint32_t size) const noexcept;
  IndexResult insert(const char* key, uint32_t size, Tid tid) noexcept;
  // The same as HashIndex::insert_words.
  IndexResult insert_words(uint64_t first, uint64_t second, Tid tid) noexcept;
  // Many at a time, which is faster, of an index of keys of one width: `keys` has theirs one behind the other, in any
  // order. Unless kOk, some of them are there.
  IndexResult insert_all(const char* keys, const Tid* tids, uint32_t count);
  IndexResult erase(const char* key, uint32_t size) noexcept;
  // The same as HashIndex::replace; cursors stay valid.
  IndexResult replace(const char* key, uint32_t size, Tid tid) noexcept;
  // Positions on the first entry (forward) or last entry (backward) within [lo, hi]: entries whose key is >= lo (as
  // bytes) and whose key's first hi_size bytes are <= hi. So a prefix scan passes the prefix as both lo and hi; sizes 0
  // = open end. exclusive: bit 0 = leave out keys that start with lo, bit 1 = leave out keys that start with hi.
  void seek(OrderedCursor* cursor, const char* lo, uint32_t lo_size, const char* hi, uint32_t hi_size, bool backward,
            uint32_t exclusive = 0) const noexcept;
  Tid next(OrderedCursor* cursor) const noexcept;  // kNoTid at the end
  uint64_t size() const noexcept { return size_; }

  virtual size_t memory_bytes() const noexcept = 0;
  virtual void check_structure() const = 0;  // for tests: CHECKs every invariant, visits everything

 protected:
  OrderedIndex(Kind kind, uint32_t key_bytes) : kind_(kind), key_bytes_(key_bytes) {}

  const Kind kind_;
  const uint32_t key_bytes_;
  uint64_t size_ = 0;
};

}  // namespace scyper::storage
