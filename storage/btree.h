#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

#include "base/check.h"
#include "big_key.h"
#include "node_pool.h"
#include "ordered_cursor.h"
#include "storage/index.h"

namespace scyper::storage {

// A B+-tree of fixed-width keys, compared as big integers.
// Invariants: (1) all leaves are at the same depth; (2) inner key i (i > 0) is <= every key below child i and > every
// key below child i - 1; inner key 0 means nothing; (3) no node but an empty root is empty: erase unlinks and recycles
// nodes at once, and merges a node that is three quarters empty with a neighbour under the same parent when both fit in
// 3/4 of a node; (4) the leaves are linked both ways in key order. Splits: a node into which keys come one behind (or
// before) the other is cut where they come in, so that sequences, also many of them with different prefixes, leave
// nodes full behind them; other nodes are cut in the middle. Memory: an insert that needs several nodes reserves them
// first and changes nothing when it cannot.
template <uint32_t kWords, uint32_t kNodeBytes>
class BTree final : public OrderedIndex {
  using Key = BigKey<kWords>;
  static constexpr uint32_t kHeadBytes = 24;
  static constexpr uint32_t kSlots = (kNodeBytes - kHeadBytes) / (sizeof(Key) + sizeof(uint64_t));
  static constexpr uint32_t kSparse = kSlots / 4;
  static constexpr uint32_t kMerged = kSlots * 3 / 4;
  static constexpr uint32_t kMaxDepth = 24;
  static constexpr uint32_t kRun = 3;  // neighbouring inserts in a row that make a sequence: by chance 1 in 1,000

  struct Node {
    uint16_t count;
    uint16_t level;       // 0 = leaf
    uint16_t last_place;  // where the last insert went
    uint16_t run;         // how many before it were its neighbours
    Node* next;           // leaves only
    Node* prev;
    Key keys[kSlots];
    uint64_t values[kSlots];  // Tid or child

    Node* child(uint32_t place) const { return reinterpret_cast<Node*>(values[place]); }
  };
  static_assert(sizeof(Node) <= kNodeBytes && kSlots >= 8);
  static_assert(sizeof(Key) <= kHeadBytes);  // rank()

  struct Step {
    Node* node;
    uint32_t place;
  };
  struct Path {
    Step steps[kMaxDepth];  // from the root to the leaf
    uint32_t depth = 0;
  };
  // One end of a scan. strict: the key itself is outside.
  struct Bound {
    Key key;
    bool strict;
  };

 public:
  struct Entry {
    Key key;
    Tid tid;
  };

  BTree(Arena* arena, uint32_t key_bytes)
      : OrderedIndex(static_cast<Kind>(kWords - 1), key_bytes), nodes_(arena, kNodeBytes) {
    static_assert(static_cast<int>(Kind::kTriple) == 2);
  }

  // Called once after construction. False when the budget is used up.
  bool start() noexcept {
    root_ = make_node(0);
    return root_ != nullptr;
  }

  Tid find_key(const char* bytes) const noexcept {
    const Key key = Key::load(bytes, key_bytes_);
    const Node* leaf = leaf_of(key);
    const uint32_t place = rank<false>(leaf->keys, leaf->count, key);
    return place < leaf->count && leaf->keys[place] == key ? leaf->values[place] : kNoTid;
  }

  IndexResult insert_key(const char* bytes, Tid tid) noexcept { return insert_key(Key::load(bytes, key_bytes_), tid); }
  IndexResult insert_key(const Key& key, Tid tid) noexcept {
    if (hint_.leaf != nullptr && !(key < hint_.low) && !(hint_.high < key) && hint_.leaf->count < kSlots) {
      const uint32_t place = place_near_last(hint_.leaf, key);
      if (place < hint_.leaf->count && hint_.leaf->keys[place] == key) return IndexResult::kDuplicate;
      put(hint_.leaf, place, key, tid);
      ++size_;
      return IndexResult::kOk;
    }
    Path path;
    descend(key, &path);
    Node* leaf = path.steps[path.depth - 1].node;
    const uint32_t place = rank<false>(leaf->keys, leaf->count, key);
    path.steps[path.depth - 1].place = place;
    if (place < leaf->count && leaf->keys[place] == key) return IndexResult::kDuplicate;
    if (leaf->count < kSlots) {
      put(leaf, place, key, tid);
      set_hint(path);
    } else if (!insert_splitting(path, key, tid)) {
      return IndexResult::kOutOfMemory;
    }
    ++size_;
    return IndexResult::kOk;
  }

  Key load(const char* bytes) const noexcept { return Key::load(bytes, key_bytes_); }
  // In key order: one descent for all that go to one leaf. Unless kOk, those before have been inserted.
  IndexResult insert_sorted(std::span<const Entry> entries) noexcept {
    for (size_t i = 0; i < entries.size();) {
      Path path;
      descend(entries[i].key, &path);
      set_hint(path);
      i += fill_leaf(entries.subspan(i));
      if (i == entries.size()) break;
      const IndexResult result = insert_key(entries[i].key, entries[i].tid);  // of another leaf, or one that is full
      if (result != IndexResult::kOk) return result;
      ++i;
    }
    return IndexResult::kOk;
  }

  IndexResult erase_key(const char* bytes) noexcept {
    const Key key = Key::load(bytes, key_bytes_);
    Path path;
    descend(key, &path);
    Node* leaf = path.steps[path.depth - 1].node;
    const uint32_t place = rank<false>(leaf->keys, leaf->count, key);
    if (place == leaf->count || !(leaf->keys[place] == key)) return IndexResult::kNotFound;
    take_out(leaf, place);
    if (leaf->count <= kSparse) shrink(path);
    --size_;
    return IndexResult::kOk;
  }

  // Neighbours that are replaced one behind the other need one descent.
  IndexResult replace_key(const char* bytes, Tid tid) noexcept {
    const Key key = Key::load(bytes, key_bytes_);
    if (hint_.leaf == nullptr || key < hint_.low || hint_.high < key) {
      Path path;
      descend(key, &path);
      set_hint(path);
    }
    Node* leaf = hint_.leaf;
    uint32_t place = hint_.replaced + 1;
    if (place >= leaf->count || !(leaf->keys[place] == key)) place = rank<false>(leaf->keys, leaf->count, key);
    if (place == leaf->count || !(leaf->keys[place] == key)) return IndexResult::kNotFound;
    leaf->values[place] = tid;
    hint_.replaced = place;
    return IndexResult::kOk;
  }

  void seek_bounds(OrderedCursor* cursor, const char* lo, uint32_t lo_size, const char* hi, uint32_t hi_size,
                   bool backward, uint32_t exclusive) const noexcept {
    auto* position = TreePosition::of(cursor);
    const Bound low = low_bound(lo, lo_size, (exclusive & 1) != 0);
    const Bound high = high_bound(hi, hi_size, (exclusive & 2) != 0);
    if (backward) {
      const Node* leaf = leaf_of(high.key);
      position->step = -1;
      store_stop(position, low);
      enter_backward(position, leaf, count_up_to(leaf, high));
    } else {
      const Node* leaf = leaf_of(low.key);
      position->step = 1;
      store_stop(position, high);
      enter_forward(position, leaf, count_below(leaf, low));
    }
  }

  // The next leaf's part of the scan; kNoTid when there is none.
  Tid next_leaf(OrderedCursor* cursor) const noexcept {
    auto* position = TreePosition::of(cursor);
    const Node* leaf = static_cast<const Node*>(position->more);
    if (leaf == nullptr) return kNoTid;
    if (position->step > 0) {
      enter_forward(position, leaf, 0);
    } else {
      enter_backward(position, leaf, leaf->count);
    }
    if (position->at == position->end) return kNoTid;
    const Tid tid = *position->at;
    position->at += position->step;
    return tid;
  }

  size_t memory_bytes() const noexcept override { return nodes_.bytes(); }
  void check_structure() const override;
  uint64_t nodes_in_use() const { return nodes_.in_use(); }

 private:
  // The leaf of the last insert or replacement and the keys that belong to it (both ends included): the lines of an
  // order come one behind the other and need one descent. Forgotten when nodes change places.
  struct Hint {
    Node* leaf = nullptr;
    Key low;
    Key high;
    uint32_t replaced = 0;  // place of the last replacement, if there was one
  };

  void set_hint(const Path& path) noexcept {
    hint_ = {path.steps[path.depth - 1].node, Key::filled(0), Key::filled(0xff)};
    bool low_known = false;
    bool high_known = false;
    for (uint32_t i = path.depth - 1; i-- > 0 && !(low_known && high_known);) {
      const auto [node, place] = path.steps[i];
      if (!low_known && place > 0) {
        hint_.low = node->keys[place];
        low_known = true;
      }
      if (!high_known && place + 1 < node->count) {
        hint_.high = node->keys[place + 1].predecessor();
        high_known = true;
      }
    }
  }

  // How many of the sorted keys are < key, or (kUpper) <= key. The same steps whatever the keys and their number: a
  // branch on a comparison would be a coin toss. Once one key is left, the steps read what lies before it (the head at
  // worst), in vain.
  template <bool kUpper>
  [[gnu::always_inline]] static inline uint32_t rank(const Key* keys, uint32_t count, const Key key) {
    const Key* base = keys;
    uint32_t left = count;
#ifdef __clang__  // gcc takes the annotation off when it unrolls first, and warns
#pragma GCC unroll 8
#endif
    for (uint32_t step = 0; step < std::bit_width(kSlots - 1); ++step) {
      const uint32_t half = left / 2;
      const bool before =
          kUpper ? !(key < base[static_cast<int32_t>(half) - 1]) : base[static_cast<int32_t>(half) - 1] < key;
      base += before ? half : 0;
      left -= half;
    }
    const bool before = (left == 1) & (kUpper ? !(key < *base) : *base < key);
    return static_cast<uint32_t>(base - keys) + before;
  }

  // How many of the entries, the first of which belongs to the hint's leaf, could be put there before one was another
  // leaf's or there already, or the leaf was full.
  size_t fill_leaf(std::span<const Entry> entries) noexcept {
    Node* leaf = hint_.leaf;
    uint32_t place = rank<false>(leaf->keys, leaf->count, entries[0].key);
    size_t done = 0;
    for (; done < entries.size() && leaf->count < kSlots; ++done, ++place) {
      const Key& key = entries[done].key;
      if (hint_.high < key) break;
      while (place < leaf->count && leaf->keys[place] < key) ++place;
      if (place < leaf->count && leaf->keys[place] == key) break;
      if (done > 0 && entries[done - 1].key == key) break;
      put(leaf, place, key, entries[done].tid);
    }
    size_ += done;
    return done;
  }

  // The rank, tried first behind the last insert: lines come in order.
  static uint32_t place_near_last(const Node* leaf, const Key& key) {
    const uint32_t guess = leaf->last_place + 1u;
    if (guess <= leaf->count && leaf->keys[guess - 1] < key && (guess == leaf->count || key < leaf->keys[guess]))
      return guess;
    return rank<false>(leaf->keys, leaf->count, key);
  }

  static uint32_t child_place(const Node* node, const Key& key) {
    return rank<true>(node->keys + 1, node->count - 1u, key);
  }

  // All lines of the keys at once: a search would ask for them one after the other.
  static void prefetch_keys(const Node* node) {
    constexpr uint32_t kBytes = kHeadBytes + kSlots * sizeof(Key);
    for (uint32_t i = 0; i < kBytes; i += 64) __builtin_prefetch(reinterpret_cast<const char*>(node) + i);
  }

  const Node* leaf_of(const Key& key) const {
    const Node* node = root_;
    while (node->level > 0) {
      node = node->child(child_place(node, key));
      prefetch_keys(node);
    }
    return node;
  }

  void descend(const Key& key, Path* path) const {
    Node* node = root_;
    while (node->level > 0) {
      const uint32_t place = child_place(node, key);
      CHECK(path->depth + 1 < kMaxDepth);
      path->steps[path->depth++] = {node, place};
      node = node->child(place);
      prefetch_keys(node);
    }
    path->steps[path->depth++] = {node, 0};
  }

  Node* make_node(uint16_t level) noexcept {
    auto* node = static_cast<Node*>(nodes_.take());
    if (node == nullptr) return nullptr;
    node->count = node->last_place = node->run = 0;
    node->level = level;
    node->next = node->prev = nullptr;
    return node;
  }

  static void note_place(Node* node, uint32_t place) {
    const uint32_t distance = place - node->last_place;  // 1 ascending, 0 descending
    node->run = distance <= 1 ? static_cast<uint16_t>(std::min(node->run + 1u, 1000u)) : uint16_t{0};
    node->last_place = static_cast<uint16_t>(place);
  }

  static void put(Node* node, uint32_t place, const Key& key, uint64_t value) {
    if (const uint32_t behind = node->count - place; behind > 0) {
      std::memmove(node->keys + place + 1, node->keys + place, behind * sizeof(Key));
      std::memmove(node->values + place + 1, node->values + place, behind * sizeof(uint64_t));
    }
    node->keys[place] = key;
    node->values[place] = value;
    ++node->count;
    note_place(node, place);
  }

  static void take_out(Node* node, uint32_t place) {
    const uint32_t behind = node->count - place - 1;
    std::memmove(node->keys + place, node->keys + place + 1, behind * sizeof(Key));
    std::memmove(node->values + place, node->values + place + 1, behind * sizeof(uint64_t));
    --node->count;
    if (node->last_place >= place && node->last_place > 0) --node->last_place;
  }

  bool insert_splitting(const Path& path, const Key& key, Tid tid) noexcept {
    uint32_t full = 0;
    while (full < path.depth && path.steps[path.depth - 1 - full].node->count == kSlots) ++full;
    if (!nodes_.reserve(full + (full == path.depth))) return false;
    hint_.leaf = nullptr;
    Key new_key = key;
    uint64_t new_value = tid;
    for (uint32_t i = path.depth; i-- > 0;) {
      Node* node = path.steps[i].node;
      const uint32_t place =
          path.steps[i].place + (node->level > 0);  // a new child comes behind the one that was split
      if (node->count < kSlots) {
        put(node, place, new_key, new_value);
        return true;
      }
      Node* right = split(node, place, new_key, new_value, &new_key);
      new_value = reinterpret_cast<uint64_t>(right);
    }
    Node* root = make_node(static_cast<uint16_t>(root_->level + 1));
    root->values[0] = reinterpret_cast<uint64_t>(root_);
    root->keys[0] = Key::filled(0);
    root->keys[1] = new_key;
    root->values[1] = new_value;
    root->count = 2;
    root->last_place = 1;
    root_ = root;
    return true;
  }

  // Cuts a full node in two and puts the entry in; returns the right part. *bound: from here on keys belong to it.
  Node* split(Node* node, uint32_t place, const Key& key, uint64_t value, Key* bound) noexcept {
    const uint32_t distance = place - node->last_place;
    const bool sequence = node->run >= kRun && distance <= 1;
    const bool at_end = place == kSlots && node->level == 0 && node->next == nullptr;
    const bool falling = sequence && distance == 0 && node->level == 0 && place > 0;
    const uint32_t cut = sequence || at_end ? place : kSlots / 2;
    Node* right = make_node(node->level);
    CHECK(right != nullptr);  // reserved
    right->count = static_cast<uint16_t>(kSlots - cut);
    node->count = static_cast<uint16_t>(cut);
    std::memcpy(right->keys, node->keys + cut, right->count * sizeof(Key));
    std::memcpy(right->values, node->values + cut, right->count * sizeof(uint64_t));
    if (node->level == 0) link_behind(node, right);
    if (place > cut || place == kSlots || falling) {
      right->last_place = static_cast<uint16_t>(place - cut);
      right->run = node->run;
      node->run = 0;
      put(right, place - cut, key, value);
    } else {
      put(node, place, key, value);
    }
    *bound = falling ? node->keys[node->count - 1].successor() : right->keys[0];  // the falling keys to come go right
    return right;
  }

  static void link_behind(Node* node, Node* right) {
    right->prev = node;
    right->next = node->next;
    if (right->next != nullptr) right->next->prev = right;
    node->next = right;
  }

  // Repairs the path upwards after its leaf became sparse or empty.
  void shrink(const Path& path) noexcept {
    hint_.leaf = nullptr;
    for (uint32_t i = path.depth - 1; i > 0; --i) {
      Node* node = path.steps[i].node;
      if (node->count > kSparse) break;
      Node* parent = path.steps[i - 1].node;
      const uint32_t place = path.steps[i - 1].place;
      if (node->count == 0) {
        drop(node);
        take_out(parent, place);
      } else if (place + 1 < parent->count && fits(node, parent->child(place + 1))) {
        merge(node, parent, place + 1);
      } else if (place > 0 && fits(parent->child(place - 1), node)) {
        merge(parent->child(place - 1), parent, place);
      } else {
        break;
      }
    }
    while (root_->level > 0 && root_->count == 1) {
      Node* old = root_;
      root_ = old->child(0);
      nodes_.give(old);
    }
  }

  static bool fits(const Node* left, const Node* right) { return left->count + right->count <= kMerged; }

  void drop(Node* node) noexcept {
    if (node->level == 0) {
      if (node->prev != nullptr) node->prev->next = node->next;
      if (node->next != nullptr) node->next->prev = node->prev;
    }
    nodes_.give(node);
  }

  // Moves the child at `place` of the parent behind the entries of `left`, its left neighbour.
  void merge(Node* left, Node* parent, uint32_t place) noexcept {
    Node* right = parent->child(place);
    if (right->level > 0) right->keys[0] = parent->keys[place];
    std::memcpy(left->keys + left->count, right->keys, right->count * sizeof(Key));
    std::memcpy(left->values + left->count, right->values, right->count * sizeof(uint64_t));
    left->count = static_cast<uint16_t>(left->count + right->count);
    left->run = 0;
    drop(right);
    take_out(parent, place);
  }

  Bound low_bound(const char* lo, uint32_t size, bool exclusive) const {
    if (size == 0) return {Key::filled(0), false};
    if (size > key_bytes_) return {Key::load_prefix(lo, key_bytes_, 0), true};  // a key is before what continues it
    return {Key::load_prefix(lo, size, exclusive ? 0xff : 0), exclusive};
  }
  Bound high_bound(const char* hi, uint32_t size, bool exclusive) const {
    if (size == 0) return {Key::filled(0xff), false};
    if (size > key_bytes_) return {Key::load_prefix(hi, key_bytes_, 0), false};
    return {Key::load_prefix(hi, size, exclusive ? 0 : 0xff), exclusive};
  }

  // Entries of the leaf that lie before a scan's low end, and up to its high end.
  static uint32_t count_below(const Node* leaf, const Bound& low) {
    return low.strict ? rank<true>(leaf->keys, leaf->count, low.key) : rank<false>(leaf->keys, leaf->count, low.key);
  }
  static uint32_t count_up_to(const Node* leaf, const Bound& high) {
    return high.strict ? rank<false>(leaf->keys, leaf->count, high.key) : rank<true>(leaf->keys, leaf->count, high.key);
  }

  static void store_stop(TreePosition* position, const Bound& stop) {
    static_assert(sizeof(Key) <= sizeof(position->stop));
    std::memcpy(position->stop, &stop.key, sizeof(Key));
    position->stop_strict = stop.strict;
  }
  static Bound stop_of(const TreePosition* position) {
    Bound stop;
    std::memcpy(&stop.key, position->stop, sizeof(Key));
    stop.strict = position->stop_strict != 0;
    return stop;
  }

  // The part of the leaf from `place` on that lies in the range; goes on to the next leaf when that part is empty.
  static void enter_forward(TreePosition* position, const Node* leaf, uint32_t place) {
    while (place == leaf->count && leaf->next != nullptr) {
      leaf = leaf->next;
      place = 0;
    }
    const Bound high = stop_of(position);
    uint32_t end = leaf->count;
    position->more = leaf->next;
    if (end > 0 && (high.strict ? !(leaf->keys[end - 1] < high.key) : high.key < leaf->keys[end - 1])) {
      end = std::max(place, count_up_to(leaf, high));
      position->more = nullptr;
    }
    position->at = leaf->values + place;
    position->end = leaf->values + end;
    if (position->more != nullptr) prefetch_scan(static_cast<const Node*>(position->more));
  }

  // The part of the leaf below `place`, from the top down.
  static void enter_backward(TreePosition* position, const Node* leaf, uint32_t place) {
    while (place == 0 && leaf->prev != nullptr) {
      leaf = leaf->prev;
      place = leaf->count;
    }
    const Bound low = stop_of(position);
    uint32_t begin = 0;
    position->more = leaf->prev;
    if (leaf->count > 0 && (low.strict ? !(low.key < leaf->keys[0]) : leaf->keys[0] < low.key)) {
      begin = std::min(place, count_below(leaf, low));
      position->more = nullptr;
    }
    position->at = leaf->values + place - 1;
    position->end = leaf->values + begin - 1;
    if (position->more != nullptr) prefetch_scan(static_cast<const Node*>(position->more));
  }

  // What a scan reads first: the head, the last key, the values.
  static void prefetch_scan(const Node* node) {
    __builtin_prefetch(node);
    __builtin_prefetch(&node->keys[kSlots - 1]);
    for (uint32_t i = 8; i < kSlots; i += 8) __builtin_prefetch(&node->values[i]);
  }

  void check_node(const Node* node, const Key* low, const Key* high, const Node** last_leaf, uint64_t* entries,
                  uint64_t* nodes) const;

  Node* root_ = nullptr;
  Hint hint_;  // written by inserts and replacements only
  NodePool nodes_;
};

template <uint32_t kWords, uint32_t kNodeBytes>
void BTree<kWords, kNodeBytes>::check_node(const Node* node, const Key* low, const Key* high, const Node** last_leaf,
                                           uint64_t* entries, uint64_t* nodes) const {
  ++*nodes;
  CHECK(node->count <= kSlots && (node->count > 0 || node == root_));
  const uint32_t first = node->level > 0 ? 1 : 0;
  for (uint32_t i = first; i < node->count; ++i) {
    CHECK(i == first || node->keys[i - 1] < node->keys[i]);
    CHECK(low == nullptr || !(node->keys[i] < *low));
    CHECK(high == nullptr || node->keys[i] < *high);
  }
  if (node->level == 0) {
    CHECK(node->prev == *last_leaf);
    CHECK(*last_leaf == nullptr || (*last_leaf)->next == node);
    *last_leaf = node;
    *entries += node->count;
    return;
  }
  CHECK(node != root_ || node->count > 1);
  for (uint32_t i = 0; i < node->count; ++i) {
    CHECK(node->child(i)->level + 1 == node->level);
    check_node(node->child(i), i == 0 ? low : &node->keys[i], i + 1 < node->count ? &node->keys[i + 1] : high,
               last_leaf, entries, nodes);
  }
}

template <uint32_t kWords, uint32_t kNodeBytes>
void BTree<kWords, kNodeBytes>::check_structure() const {
  const Node* last_leaf = nullptr;
  uint64_t entries = 0;
  uint64_t nodes = 0;
  check_node(root_, nullptr, nullptr, &last_leaf, &entries, &nodes);
  CHECK(last_leaf->next == nullptr && entries == size_ && nodes == nodes_.in_use());
}

}  // namespace scyper::storage
