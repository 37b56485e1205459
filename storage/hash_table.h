#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "base/check.h"
#include "hash_form.h"
#include "node_pool.h"
#include "storage/index.h"

namespace scyper::storage {

// Extendible hashing over 2 KB buckets of 31 cache lines. The low hash bits choose the directory entry, the high ones
// the home line within the bucket; an entry lies in its home line or, when that is full, in the next line that was not.
// A find reads one directory entry (cached up to some million keys) and 1.1 lines on average. Invariants: (1) the
// entries of a line are dense from slot 0; (2) all lines between an entry's home and its line are full, so a line that
// is not full ends a search; (3) erase moves displaced entries back: no tombstones; (4) bucket b is the target of
// exactly the 2^(global - depth) directory entries that agree in its low `depth` bits; (5) a bucket has an overflow
// bucket only when all its lines are full (more equal hash bits than splitting can separate). Growth: a bucket splits
// at kSplitEntries, about 1 us; the directory doubles by one memcpy, never beyond kDirectoryPerBucket entries per
// bucket. Shrinking: buddies merge when both are nearly empty; the directory keeps its size. Source: Fagin et al.,
// "Extendible Hashing", TODS 1979. We differ: line-wise probing with backward shift within a bucket.
template <typename Form>
class HashTable final : public HashIndex {
  using Line = typename Form::Line;
  using Key = typename Form::Key;
  static constexpr uint32_t kLines = 31;
  static constexpr uint32_t kCapacity = kLines * Line::kSlots;
  static constexpr uint32_t kSplitEntries =
      kCapacity * 85 / 100;  // beyond, finds of absent keys read much more than 1 line
  static constexpr uint32_t kMergeEntries = kCapacity * 40 / 100;  // of both buddies: far from the next split
  static constexpr uint64_t kDirectoryPerBucket = 16;

  struct Bucket {
    uint32_t count;  // entries in this bucket, without its overflow
    uint32_t depth;
    Bucket* overflow;
    char unused[48];
    Line lines[kLines];
  };
  static_assert(sizeof(Line) == 64 && sizeof(Bucket) == 2048);

 public:
  HashTable(Arena* arena, uint32_t key_bytes)
      : HashIndex(Form::kKind, key_bytes), buckets_(arena, sizeof(Bucket)), arena_(arena), form_state_(arena) {}
  ~HashTable() override { free_directory(directory_, directory_size()); }

  // Called once after construction. False when the budget is used up.
  bool start() noexcept {
    if (!buckets_.reserve(2)) return false;
    directory_ = static_cast<Bucket**>(buckets_.take());
    directory_[0] = make_bucket(0);
    return true;
  }

  Key load(const char* bytes, uint32_t size) const noexcept { return Form::load(bytes, size, key_bytes_); }

  Tid find_key(const Key& key) const noexcept {
    const uint64_t hash = Form::hash(key);
    const Bucket* bucket = directory_[hash & mask_];
    uint32_t line = home(hash);
    do {
      for (uint32_t step = 0; step < kLines; ++step) {
        const Tid tid = Form::find(bucket->lines[line], key);
        if (tid != kNoTid) return tid;
        if (!bucket->lines[line].full()) return kNoTid;
        line = line + 1 == kLines ? 0 : line + 1;
      }
      bucket = bucket->overflow;
    } while (bucket != nullptr);
    return kNoTid;
  }

  void prefetch_key(const Key& key) const noexcept {
    const uint64_t hash = Form::hash(key);
    __builtin_prefetch(&directory_[hash & mask_]->lines[home(hash)]);
  }

  IndexResult insert_key(const Key& key, Tid tid) noexcept {
    CHECK(tid <= Form::kMaxTid);
    const uint64_t hash = Form::hash(key);
    if (locate(key, hash).bucket != nullptr) return IndexResult::kDuplicate;
    Bucket* bucket = directory_[hash & mask_];
    while (bucket->count >= kSplitEntries && bucket->overflow == nullptr && may_split(bucket)) {
      if (!split(bucket, hash)) {
        if (bucket->count == kCapacity) return IndexResult::kOutOfMemory;
        break;
      }
      bucket = directory_[hash & mask_];
    }
    typename Form::Entry entry;
    if (!form_state_.make_entry(key, hash, tid, &entry)) return IndexResult::kOutOfMemory;
    if (!place_in_chain(bucket, entry, hash)) {
      form_state_.drop_entry(entry);
      return IndexResult::kOutOfMemory;
    }
    ++size_;
    return IndexResult::kOk;
  }

  IndexResult erase_key(const char* bytes, uint32_t size) noexcept {
    const Key key = Form::load(bytes, size, key_bytes_);
    const uint64_t hash = Form::hash(key);
    const Place place = locate(key, hash);
    if (place.bucket == nullptr) return IndexResult::kNotFound;
    form_state_.drop_entry(place.bucket->lines[place.line].get(place.slot));
    remove(place);
    --size_;
    Bucket* bucket = directory_[hash & mask_];
    // Looking at the buddy costs a cache miss: not on every erase.
    if (bucket->count <= kMergeEntries / 2 && bucket->count % 8 == 0) merge(hash);
    return IndexResult::kOk;
  }

  IndexResult replace_key(const char* bytes, uint32_t size, Tid tid) noexcept {
    CHECK(tid <= Form::kMaxTid);
    const Key key = Form::load(bytes, size, key_bytes_);
    const Place place = locate(key, Form::hash(key));
    if (place.bucket == nullptr) return IndexResult::kNotFound;
    Form::set_tid(&place.bucket->lines[place.line], place.slot, tid);
    return IndexResult::kOk;
  }

  size_t memory_bytes() const noexcept override {
    const uint64_t directory_bytes = directory_size() * sizeof(Bucket*);
    return buckets_.bytes() + form_state_.bytes() + (directory_bytes > sizeof(Bucket) ? directory_bytes : 0);
  }
  void check_structure() const override;

 private:
  struct Place {
    Bucket* bucket;
    uint32_t line;
    uint32_t slot;
  };

  uint64_t directory_size() const { return mask_ + 1; }
  static uint32_t home(uint64_t hash) { return static_cast<uint32_t>(((hash >> 32) * kLines) >> 32); }
  static uint32_t following(uint32_t line) { return line + 1 == kLines ? 0 : line + 1; }

  Bucket* make_bucket(uint32_t depth) noexcept {
    Bucket* bucket = static_cast<Bucket*>(buckets_.take());
    if (bucket == nullptr) return nullptr;
    std::memset(static_cast<void*>(bucket), 0, sizeof(Bucket));
    bucket->depth = depth;
    return bucket;
  }

  Place locate(const Key& key, uint64_t hash) const noexcept {
    Bucket* bucket = directory_[hash & mask_];
    uint32_t line = home(hash);
    for (; bucket != nullptr; bucket = bucket->overflow) {
      for (uint32_t step = 0; step < kLines; ++step, line = following(line)) {
        const uint32_t slot = Form::slot_of(bucket->lines[line], key);
        if (slot < Line::kSlots) return {bucket, line, slot};
        if (!bucket->lines[line].full()) return {nullptr, 0, 0};
      }
    }
    return {nullptr, 0, 0};
  }

  static void place(Bucket* bucket, const typename Form::Entry& entry, uint64_t hash) noexcept {
    CHECK(bucket->count < kCapacity);
    uint32_t line = home(hash);
    while (bucket->lines[line].full()) line = following(line);
    bucket->lines[line].append(entry);
    ++bucket->count;
  }

  bool place_in_chain(Bucket* bucket, const typename Form::Entry& entry, uint64_t hash) noexcept {
    while (bucket->count == kCapacity) {
      if (bucket->overflow == nullptr) {
        bucket->overflow = make_bucket(bucket->depth);
        if (bucket->overflow == nullptr) return false;
      }
      bucket = bucket->overflow;
    }
    place(bucket, entry, hash);
    return true;
  }

  // Takes one entry out and closes the hole, first with displaced entries of the following lines, then with the
  // overflow's.
  void remove(Place hole) noexcept {
    Bucket* bucket = hole.bucket;
    uint32_t hole_line = hole.line;
    bool was_full = bucket->lines[hole_line].full();
    bucket->lines[hole_line].remove(hole.slot);
    // Ends: every move brings an entry nearer to its home.
    for (uint32_t line = following(hole_line); was_full && line != hole_line; line = following(line)) {
      const bool line_full = bucket->lines[line].full();
      if (move_back(bucket, line, hole_line)) hole_line = line;
      was_full = line_full;
    }
    --bucket->count;
    if (bucket->overflow != nullptr) refill(bucket);
  }

  // Moves an entry of `line` that would rather be at or before `to` into `to`.
  static bool move_back(Bucket* bucket, uint32_t line, uint32_t to) noexcept {
    const uint32_t distance = line >= to ? line - to : line + kLines - to;
    Line& from = bucket->lines[line];
    for (uint32_t slot = 0; slot < from.count(); ++slot) {
      const auto entry = from.get(slot);
      const uint32_t wish = home(Form::hash_of(entry));
      const uint32_t displaced = line >= wish ? line - wish : line + kLines - wish;
      if (displaced < distance) continue;
      bucket->lines[to].append(entry);
      from.remove(slot);
      return true;
    }
    return false;
  }

  void refill(Bucket* bucket) noexcept {
    Bucket* overflow = bucket->overflow;
    uint32_t line = 0;
    while (overflow->lines[line].count() == 0) ++line;
    const auto entry = overflow->lines[line].get(0);
    place(bucket, entry, Form::hash_of(entry));
    remove({overflow, line, 0});
    if (overflow->count == 0) {
      bucket->overflow = overflow->overflow;
      buckets_.give(overflow);
    }
  }

  bool may_split(const Bucket* bucket) const {
    const uint64_t entries = uint64_t{1} << (bucket->depth + 1);
    return entries <= directory_size() || directory_size() < kDirectoryPerBucket * bucket_count_;
  }

  bool split(Bucket* bucket, uint64_t hash) noexcept {
    if (uint64_t{1} << bucket->depth == directory_size() && !double_directory()) return false;
    Bucket* sibling = make_bucket(bucket->depth + 1);
    if (sibling == nullptr) return false;
    const Bucket old = *bucket;
    const uint64_t bit = uint64_t{1} << bucket->depth;
    std::memset(static_cast<void*>(bucket), 0, sizeof(Bucket));
    bucket->depth = old.depth + 1;
    for (const Line& line : old.lines) {
      for (uint32_t slot = 0; slot < line.count(); ++slot) {
        const auto entry = line.get(slot);
        const uint64_t entry_hash = Form::hash_of(entry);
        place(entry_hash & bit ? sibling : bucket, entry, entry_hash);
      }
    }
    for (uint64_t i = (hash & (bit - 1)) | bit; i < directory_size(); i += bit * 2) directory_[i] = sibling;
    ++bucket_count_;
    return true;
  }

  void merge(uint64_t hash) noexcept {
    Bucket* bucket = directory_[hash & mask_];
    if (bucket->depth == 0 || bucket->overflow != nullptr) return;
    const uint64_t bit = uint64_t{1} << (bucket->depth - 1);
    Bucket* buddy = directory_[(hash & (bit * 2 - 1)) ^ bit];
    if (buddy->depth != bucket->depth || buddy->overflow != nullptr) return;
    if (bucket->count + buddy->count > kMergeEntries) return;
    for (const Line& line : buddy->lines) {
      for (uint32_t slot = 0; slot < line.count(); ++slot) {
        const auto entry = line.get(slot);
        place(bucket, entry, Form::hash_of(entry));
      }
    }
    --bucket->depth;
    for (uint64_t i = hash & (bit - 1); i < directory_size(); i += bit) directory_[i] = bucket;
    buckets_.give(buddy);
    --bucket_count_;
  }

  bool double_directory() noexcept {
    const uint64_t size = directory_size();
    if (size * 2 * sizeof(Bucket*) > sizeof(Bucket)) {
      auto** doubled = static_cast<Bucket**>(arena_->allocate(size * 2 * sizeof(Bucket*)));
      if (doubled == nullptr) return false;
      std::memcpy(doubled, directory_, size * sizeof(Bucket*));
      free_directory(directory_, size);
      directory_ = doubled;
    }
    std::memcpy(directory_ + size, directory_, size * sizeof(Bucket*));
    mask_ = mask_ * 2 + 1;
    return true;
  }

  // A directory lies in a bucket's place while it fits there.
  void free_directory(Bucket** directory, uint64_t size) noexcept {
    if (directory == nullptr) return;
    if (size * sizeof(Bucket*) > sizeof(Bucket)) {
      arena_->free(directory, size * sizeof(Bucket*));
    } else {
      buckets_.give(directory);
    }
  }

  Bucket** directory_ = nullptr;
  uint64_t mask_ = 0;
  uint64_t bucket_count_ = 1;  // without overflow buckets
  NodePool buckets_;
  Arena* const arena_;
  Form form_state_;
};

template <typename Form>
void HashTable<Form>::check_structure() const {
  uint64_t entries = 0;
  uint64_t buckets = 0;
  for (uint64_t i = 0; i < directory_size(); ++i) {
    const Bucket* first = directory_[i];
    const uint64_t low = i & ((uint64_t{1} << first->depth) - 1);
    CHECK(uint64_t{1} << first->depth <= directory_size());
    CHECK(directory_[low] == first);
    if (low != i) continue;
    ++buckets;
    for (const Bucket* bucket = first; bucket != nullptr; bucket = bucket->overflow) {
      uint32_t count = 0;
      for (uint32_t line = 0; line < kLines; ++line) {
        for (uint32_t slot = 0; slot < bucket->lines[line].count(); ++slot, ++count) {
          const uint64_t hash = Form::hash_of(bucket->lines[line].get(slot));
          CHECK((hash & ((uint64_t{1} << first->depth) - 1)) == low);
          for (uint32_t at = home(hash); at != line; at = following(at)) CHECK(bucket->lines[at].full());
        }
      }
      CHECK(count == bucket->count && (bucket == first || count > 0));
      CHECK(bucket->overflow == nullptr || count == kCapacity);
      entries += count;
    }
  }
  CHECK(entries == size_ && buckets == bucket_count_);
}

}  // namespace scyper::storage
