#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <vector>

#include "base/check.h"
#include "limit_store.h"

namespace scyper::bench {

// Row numbers by a full unique key: open addressing, linear probing, at most half full. A slot holds 32 bits of the
// hash and the row number; the row itself has the key. No deletion (none of the hashed tables loses rows).
class HashIndex {
 public:
  static constexpr uint32_t kMissing = ~uint32_t{0};
  static constexpr uint64_t hash(uint64_t key) {
    key *= 0x9e3779b97f4a7c15;
    return key ^ (key >> 32);
  }

  void reserve(size_t keys, bool huge) {
    size_t capacity = 16;
    while (capacity < keys * 2) capacity *= 2;
    slots_.reserve(huge);
    for (size_t i = 0; i < capacity; ++i) slots_[slots_.append()] = {0, kMissing};
    mask_ = capacity - 1;
  }

  void insert(uint64_t key, uint32_t row) {
    const uint64_t h = hash(key);
    uint64_t at = h & mask_;
    while (slots_[static_cast<uint32_t>(at)].row != kMissing) at = (at + 1) & mask_;
    slots_[static_cast<uint32_t>(at)] = {tag(h), row};
  }

  void prefetch(uint64_t h) const { __builtin_prefetch(&slots_[static_cast<uint32_t>(h & mask_)]); }

  // key_of(row) gives the key of a row. kMissing if there is none.
  template <typename KeyOf>
  uint32_t find(uint64_t key, KeyOf key_of) const {
    return find_hashed(key, hash(key), key_of);
  }
  template <typename KeyOf>
  uint32_t find_hashed(uint64_t key, uint64_t h, KeyOf key_of) const {
    for (uint64_t at = h & mask_;; at = (at + 1) & mask_) {
      const Slot slot = slots_[static_cast<uint32_t>(at)];
      if (slot.row == kMissing) return kMissing;
      if (slot.tag == tag(h) && key_of(slot.row) == key) return slot.row;
    }
  }
  // The first row whose tag fits: a guess to prefetch, without touching a row.
  uint32_t guess(uint64_t h) const {
    for (uint64_t at = h & mask_;; at = (at + 1) & mask_) {
      const Slot slot = slots_[static_cast<uint32_t>(at)];
      if (slot.row == kMissing || slot.tag == tag(h)) return slot.row;
    }
  }

 private:
  struct Slot {
    uint32_t tag;
    uint32_t row;
  };
  static constexpr uint32_t tag(uint64_t h) { return static_cast<uint32_t>(h >> 32); }

  Store<Slot> slots_;
  uint64_t mask_ = 0;
};

// A B+-tree of unique keys to row numbers. Emptied nodes are unlinked at once, so that a queue (new_order) does not
// leave dead leaves before its head; nodes that are not empty are never merged. Invariants: (1) no leaf but the root is
// empty; (2) leaves are linked in key order; (3) child i of an inner node has the keys from keys[i - 1] up to but
// without keys[i].
template <typename Key, uint32_t kLeafCapacity, uint32_t kInnerCapacity>
class Tree {
 public:
  struct Leaf {
    uint32_t count;
    Leaf* previous;
    Leaf* next;
    Key keys[kLeafCapacity];
    uint32_t values[kLeafCapacity];
  };

  // A place in the key order; at the end `leaf` is null.
  struct Position {
    Leaf* leaf;
    uint32_t slot;
    bool valid() const { return leaf != nullptr; }
    const Key& key() const { return leaf->keys[slot]; }
    uint32_t value() const { return leaf->values[slot]; }
    void advance() {
      if (++slot == leaf->count) {
        leaf = leaf->next;
        slot = 0;
      }
    }
  };

  void reserve(bool huge) {
    leaves_.reserve(huge);
    inners_.reserve(huge);
    root_ = new_leaf();
    height_ = 0;
  }
  void prefault(size_t keys) { leaves_.prefault(keys * 2 / kLeafCapacity); }

  // The first key at or above `key`.
  Position lower_bound(const Key& key) const {
    Leaf* leaf = descend(key, nullptr);
    const uint32_t slot = rank(leaf->keys, leaf->count, key);
    if (slot < leaf->count) return {leaf, slot};
    return {leaf->next, 0};
  }

  // The last key below `key`; invalid if there is none.
  Position last_below(const Key& key) const {
    Leaf* leaf = descend(key, nullptr);
    const uint32_t slot = rank(leaf->keys, leaf->count, key);
    if (slot > 0) return {leaf, slot - 1};
    return leaf->previous == nullptr ? Position{nullptr, 0} : Position{leaf->previous, leaf->previous->count - 1};
  }

  void insert(const Key& key, uint32_t value) {
    Path path;
    Leaf* leaf = descend(key, &path);
    if (leaf->count == kLeafCapacity) leaf = split(leaf, key, path);
    const uint32_t slot = rank(leaf->keys, leaf->count, key);
    open_gap(leaf, slot, 1);
    ++leaf->count;
    leaf->keys[slot] = key;
    leaf->values[slot] = value;
  }

  // Inserts the keys first, first + 1, ... with the values value, value + 1, ...; no key of the tree lies between them.
  void insert_run(Key first, uint32_t value, uint32_t count) {
    Path path;
    Leaf* leaf = descend(first, &path);
    const Key* fence = upper_fence(path);  // may lie within the run: separators outlive their keys
    if (leaf->count + count > kLeafCapacity || (fence != nullptr && *fence < first + count)) {
      for (uint32_t i = 0; i < count; ++i) insert(first + i, value + i);
      return;
    }
    const uint32_t slot = rank(leaf->keys, leaf->count, first);
    open_gap(leaf, slot, count);
    for (uint32_t i = 0; i < count; ++i) {
      leaf->keys[slot + i] = first + i;
      leaf->values[slot + i] = value + i;
    }
    leaf->count += count;
  }

  // False if the key is not there.
  bool erase(const Key& key) {
    Path path;
    Leaf* leaf = descend(key, &path);
    const uint32_t slot = rank(leaf->keys, leaf->count, key);
    if (slot == leaf->count || leaf->keys[slot] != key) return false;
    --leaf->count;
    std::memmove(&leaf->keys[slot], &leaf->keys[slot + 1], (leaf->count - slot) * sizeof(Key));
    std::memmove(&leaf->values[slot], &leaf->values[slot + 1], (leaf->count - slot) * sizeof(uint32_t));
    if (leaf->count == 0 && height_ > 0) unlink(leaf, path);
    return true;
  }

 private:
  struct Inner {
    uint32_t count;  // of keys; children: one more
    Key keys[kInnerCapacity];
    void* children[kInnerCapacity + 1];
  };
  static constexpr int kMaxHeight = 12;
  struct Path {
    Inner* nodes[kMaxHeight];
    uint32_t slots[kMaxHeight];
  };

  // How many keys are below `key`.
  static uint32_t rank(const Key* keys, uint32_t count, const Key& key) {
    const Key* base = keys;
    while (count > 1) {
      const uint32_t half = count / 2;
      base = base[half - 1] < key ? base + half : base;
      count -= half;
    }
    return static_cast<uint32_t>(base - keys) + (count == 1 && *base < key);
  }
  // How many keys are at or below `key`: the child that holds it.
  static uint32_t child_of(const Inner* inner, const Key& key) {
    const uint32_t below = rank(inner->keys, inner->count, key);
    return below + (below < inner->count && !(key < inner->keys[below]));
  }

  Leaf* descend(const Key& key, Path* path) const {
    void* node = root_;
    for (int level = 0; level < height_; ++level) {
      Inner* inner = static_cast<Inner*>(node);
      const uint32_t slot = child_of(inner, key);
      if (path != nullptr) {
        path->nodes[level] = inner;
        path->slots[level] = slot;
      }
      node = inner->children[slot];
    }
    return static_cast<Leaf*>(node);
  }

  // The first key that belongs to a leaf further right, null for the last leaf.
  const Key* upper_fence(const Path& path) const {
    for (int level = height_ - 1; level >= 0; --level) {
      const Inner* inner = path.nodes[level];
      if (path.slots[level] < inner->count) return &inner->keys[path.slots[level]];
    }
    return nullptr;
  }

  static void open_gap(Leaf* leaf, uint32_t slot, uint32_t count) {
    std::memmove(&leaf->keys[slot + count], &leaf->keys[slot], (leaf->count - slot) * sizeof(Key));
    std::memmove(&leaf->values[slot + count], &leaf->values[slot], (leaf->count - slot) * sizeof(uint32_t));
  }

  // Cuts a full leaf: in the middle, or at its end when the key goes there (ascending inserts leave full leaves).
  // Returns the half that takes the key.
  Leaf* split(Leaf* leaf, const Key& key, Path& path) {
    const bool ascending = leaf->keys[kLeafCapacity - 1] < key;
    const uint32_t keep = ascending ? kLeafCapacity : kLeafCapacity / 2;
    Leaf* right = new_leaf();
    right->count = kLeafCapacity - keep;
    std::memcpy(right->keys, &leaf->keys[keep], right->count * sizeof(Key));
    std::memcpy(right->values, &leaf->values[keep], right->count * sizeof(uint32_t));
    leaf->count = keep;
    right->previous = leaf;
    right->next = leaf->next;
    if (right->next != nullptr) right->next->previous = right;
    leaf->next = right;
    const Key separator = ascending ? key : right->keys[0];
    add_child(path, height_ - 1, separator, right);
    return key < separator ? leaf : right;
  }

  void add_child(Path& path, int level, Key separator, void* child) {
    if (level < 0) {
      CHECK(height_ < kMaxHeight);
      Inner* root = new_inner();
      root->count = 1;
      root->keys[0] = separator;
      root->children[0] = root_;
      root->children[1] = child;
      root_ = root;
      ++height_;
      return;
    }
    Inner* inner = path.nodes[level];
    const uint32_t slot = path.slots[level];
    if (inner->count < kInnerCapacity) return put_child(inner, slot, separator, child);
    const uint32_t keep = kInnerCapacity / 2;
    Inner* right = new_inner();
    const Key middle = inner->keys[keep];
    right->count = kInnerCapacity - keep - 1;
    std::memcpy(right->keys, &inner->keys[keep + 1], right->count * sizeof(Key));
    std::memcpy(right->children, &inner->children[keep + 1], (right->count + 1) * sizeof(void*));
    inner->count = keep;
    if (slot <= keep) {
      put_child(inner, slot, separator, child);
    } else {
      put_child(right, slot - keep - 1, separator, child);
    }
    add_child(path, level - 1, middle, right);
  }

  static void put_child(Inner* inner, uint32_t slot, const Key& separator, void* child) {
    std::memmove(&inner->keys[slot + 1], &inner->keys[slot], (inner->count - slot) * sizeof(Key));
    std::memmove(&inner->children[slot + 2], &inner->children[slot + 1], (inner->count - slot) * sizeof(void*));
    inner->keys[slot] = separator;
    inner->children[slot + 1] = child;
    ++inner->count;
  }

  void unlink(Leaf* leaf, Path& path) {
    if (leaf->previous != nullptr) leaf->previous->next = leaf->next;
    if (leaf->next != nullptr) leaf->next->previous = leaf->previous;
    free_leaves_.push_back(leaf);
    for (int level = height_ - 1; level >= 0; --level) {
      Inner* inner = path.nodes[level];
      const uint32_t slot = path.slots[level];
      if (inner->count > 0) {
        const uint32_t key = slot > 0 ? slot - 1 : 0;
        std::memmove(&inner->keys[key], &inner->keys[key + 1], (inner->count - key - 1) * sizeof(Key));
        std::memmove(&inner->children[slot], &inner->children[slot + 1], (inner->count - slot) * sizeof(void*));
        --inner->count;
        return;
      }
      free_inners_.push_back(inner);  // its only child is gone: it goes too
    }
    root_ = new_leaf();
    height_ = 0;
  }

  Leaf* new_leaf() {
    Leaf* leaf;
    if (free_leaves_.empty()) {
      leaf = &leaves_[leaves_.append()];
    } else {
      leaf = free_leaves_.back();
      free_leaves_.pop_back();
    }
    leaf->count = 0;
    leaf->previous = leaf->next = nullptr;
    return leaf;
  }
  Inner* new_inner() {
    if (free_inners_.empty()) return &inners_[inners_.append()];
    Inner* inner = free_inners_.back();
    free_inners_.pop_back();
    return inner;
  }

  Store<Leaf> leaves_;
  Store<Inner> inners_;
  std::vector<Leaf*> free_leaves_;
  std::vector<Inner*> free_inners_;
  void* root_ = nullptr;
  int height_ = 0;
};

}  // namespace scyper::bench
