#include <algorithm>
#include <vector>

#include "btree.h"
#include "radix_tree.h"
#include "storage/index.h"

namespace scyper::storage {
namespace {
using WordTree = BTree<1, 1024>;
using PairTree = BTree<2, 1024>;
using TripleTree = BTree<3, 1024>;

template <typename Tree>
std::unique_ptr<OrderedIndex> make_tree(Arena* arena, uint32_t key_bytes) {
  auto tree = std::make_unique<Tree>(arena, key_bytes);
  if (!tree->start()) return nullptr;
  return tree;
}

template <typename Tree>
IndexResult insert_into(Tree* tree, const char* keys, uint32_t key_bytes, const Tid* tids, uint32_t count) {
  using Entry = typename Tree::Entry;
  const auto is_before = [](const Entry& a, const Entry& b) { return a.key < b.key; };
  std::vector<Entry> entries(count);
  bool is_sorted = true;
  for (uint32_t i = 0; i < count; ++i) {
    entries[i] = {tree->load(keys + uint64_t{i} * key_bytes), tids[i]};
    is_sorted = is_sorted && (i == 0 || is_before(entries[i - 1], entries[i]));
  }
  if (!is_sorted) std::sort(entries.begin(), entries.end(), is_before);
  return tree->insert_sorted(entries);
}
}  // namespace

std::unique_ptr<OrderedIndex> OrderedIndex::create(Arena* arena, uint32_t key_bytes) {
  CHECK(key_bytes <= kMaxIndexKeyBytes);
  if (key_bytes == 0 || key_bytes > 24) return std::make_unique<RadixTree>(arena, key_bytes);
  if (key_bytes > 16) return make_tree<TripleTree>(arena, key_bytes);
  if (key_bytes > 8) return make_tree<PairTree>(arena, key_bytes);
  return make_tree<WordTree>(arena, key_bytes);
}

Tid OrderedIndex::find(const char* key, uint32_t size) const noexcept {
  DCHECK(key_bytes_ == 0 || size == key_bytes_);
  if (kind_ == Kind::kWord) return static_cast<const WordTree*>(this)->find_key(key);
  if (kind_ == Kind::kPair) return static_cast<const PairTree*>(this)->find_key(key);
  if (kind_ == Kind::kTriple) return static_cast<const TripleTree*>(this)->find_key(key);
  return static_cast<const RadixTree*>(this)->find_key(key, size);
}

IndexResult OrderedIndex::insert(const char* key, uint32_t size, Tid tid) noexcept {
  CHECK(key_bytes_ == 0 || size == key_bytes_);
  if (kind_ == Kind::kWord) return static_cast<WordTree*>(this)->insert_key(key, tid);
  if (kind_ == Kind::kPair) return static_cast<PairTree*>(this)->insert_key(key, tid);
  if (kind_ == Kind::kTriple) return static_cast<TripleTree*>(this)->insert_key(key, tid);
  return static_cast<RadixTree*>(this)->insert_key(key, size, tid);
}

IndexResult OrderedIndex::insert_words(uint64_t first, uint64_t second, Tid tid) noexcept {
  if (kind_ == Kind::kWord) return static_cast<WordTree*>(this)->insert_key({{__builtin_bswap64(first)}}, tid);
  CHECK(kind_ == Kind::kPair);
  return static_cast<PairTree*>(this)->insert_key({{__builtin_bswap64(first), __builtin_bswap64(second)}}, tid);
}

IndexResult OrderedIndex::insert_all(const char* keys, const Tid* tids, uint32_t count) {
  CHECK(key_bytes_ > 0);
  if (kind_ == Kind::kWord) return insert_into(static_cast<WordTree*>(this), keys, key_bytes_, tids, count);
  if (kind_ == Kind::kPair) return insert_into(static_cast<PairTree*>(this), keys, key_bytes_, tids, count);
  if (kind_ == Kind::kTriple) return insert_into(static_cast<TripleTree*>(this), keys, key_bytes_, tids, count);
  IndexResult result = IndexResult::kOk;
  for (uint32_t i = 0; i < count && result == IndexResult::kOk; ++i) {
    result = static_cast<RadixTree*>(this)->insert_key(keys + uint64_t{i} * key_bytes_, key_bytes_, tids[i]);
  }
  return result;
}

IndexResult OrderedIndex::erase(const char* key, uint32_t size) noexcept {
  DCHECK(key_bytes_ == 0 || size == key_bytes_);
  if (kind_ == Kind::kWord) return static_cast<WordTree*>(this)->erase_key(key);
  if (kind_ == Kind::kPair) return static_cast<PairTree*>(this)->erase_key(key);
  if (kind_ == Kind::kTriple) return static_cast<TripleTree*>(this)->erase_key(key);
  return static_cast<RadixTree*>(this)->erase_key(key, size);
}

IndexResult OrderedIndex::replace(const char* key, uint32_t size, Tid tid) noexcept {
  DCHECK(key_bytes_ == 0 || size == key_bytes_);
  if (kind_ == Kind::kWord) return static_cast<WordTree*>(this)->replace_key(key, tid);
  if (kind_ == Kind::kPair) return static_cast<PairTree*>(this)->replace_key(key, tid);
  if (kind_ == Kind::kTriple) return static_cast<TripleTree*>(this)->replace_key(key, tid);
  return static_cast<RadixTree*>(this)->replace_key(key, size, tid);
}

void OrderedIndex::seek(OrderedCursor* cursor, const char* lo, uint32_t lo_size, const char* hi, uint32_t hi_size,
                        bool backward, uint32_t exclusive) const noexcept {
  if (kind_ == Kind::kWord) {
    static_cast<const WordTree*>(this)->seek_bounds(cursor, lo, lo_size, hi, hi_size, backward, exclusive);
  } else if (kind_ == Kind::kPair) {
    static_cast<const PairTree*>(this)->seek_bounds(cursor, lo, lo_size, hi, hi_size, backward, exclusive);
  } else if (kind_ == Kind::kTriple) {
    static_cast<const TripleTree*>(this)->seek_bounds(cursor, lo, lo_size, hi, hi_size, backward, exclusive);
  } else {
    static_cast<const RadixTree*>(this)->seek_bounds(cursor, lo, lo_size, hi, hi_size, backward, exclusive);
  }
}

Tid OrderedIndex::next(OrderedCursor* cursor) const noexcept {
  auto* position = TreePosition::of(cursor);
  if (position->at != position->end) {
    const Tid tid = *position->at;
    position->at += position->step;
    return tid;
  }
  if (kind_ == Kind::kWord) return static_cast<const WordTree*>(this)->next_leaf(cursor);
  if (kind_ == Kind::kPair) return static_cast<const PairTree*>(this)->next_leaf(cursor);
  if (kind_ == Kind::kTriple) return static_cast<const TripleTree*>(this)->next_leaf(cursor);
  return static_cast<const RadixTree*>(this)->next_leaf(cursor);
}

}  // namespace scyper::storage
