#include "radix_tree.h"

#include <algorithm>
#include <cstring>

#include "base/check.h"
#include "ordered_cursor.h"

namespace scyper::storage {
namespace {

RadixLeaf* min_leaf(RadixRef ref) {
  uint8_t byte;
  while (!ref.is_leaf()) ref = child_from(ref.node(), 0, &byte);
  return ref.leaf();
}
RadixLeaf* max_leaf(RadixRef ref) {
  uint8_t byte;
  while (!ref.is_leaf()) ref = child_down_from(ref.node(), 255, &byte);
  return ref.leaf();
}

uint32_t common_bytes(const char* a, const char* b, uint32_t size) {
  uint32_t i = 0;
  while (i < size && a[i] == b[i]) ++i;
  return i;
}

// All bytes that the keys below a node share from `depth` on.
const char* whole_prefix(const RadixNode* node, uint32_t depth) {
  if (node->prefix_size <= RadixNode::kStoredPrefix) return reinterpret_cast<const char*>(node->prefix);
  return min_leaf(RadixRef(node))->key + depth;
}

void set_prefix(RadixNode* node, const char* bytes, uint32_t size) {
  node->prefix_size = size;
  std::memmove(node->prefix, bytes, node->stored_prefix());
}

void link_before(RadixLeaf* leaf, RadixLeaf* next) {
  leaf->next = next;
  leaf->prev = next->prev;
  if (leaf->prev != nullptr) leaf->prev->next = leaf;
  next->prev = leaf;
}
void link_behind(RadixLeaf* leaf, RadixLeaf* prev) {
  leaf->prev = prev;
  leaf->next = prev->next;
  if (leaf->next != nullptr) leaf->next->prev = leaf;
  prev->next = leaf;
}

bool equal(const RadixLeaf* leaf, const char* key, uint32_t size) {
  return leaf->size == size && std::memcmp(leaf->key, key, size) == 0;
}

}  // namespace

RadixLeaf* RadixTree::make_leaf(const char* key, uint32_t size, Tid tid) noexcept {
  CHECK(size > 0 && size <= kMaxIndexKeyBytes);
  auto* leaf = static_cast<RadixLeaf*>(pieces_.take(RadixLeaf::kHeadBytes + size));
  if (leaf == nullptr) return nullptr;
  leaf->tid = tid;
  leaf->next = leaf->prev = nullptr;
  leaf->size = size;
  std::memcpy(leaf->key, key, size);
  return leaf;
}

void RadixTree::drop_leaf(RadixLeaf* leaf) noexcept { pieces_.give(leaf, RadixLeaf::kHeadBytes + leaf->size); }

RadixLeaf* RadixTree::find_leaf(const char* key, uint32_t size) const noexcept {
  RadixRef ref = root_;
  uint32_t depth = 0;
  while (!ref.empty() && !ref.is_leaf()) {
    RadixNode* node = ref.node();
    if (depth + node->prefix_size >= size) return nullptr;
    if (std::memcmp(node->prefix, key + depth, node->stored_prefix()) != 0) return nullptr;
    depth += node->prefix_size;
    const RadixRef* child = find_child(node, static_cast<uint8_t>(key[depth]));
    if (child == nullptr) return nullptr;
    ref = *child;
    ++depth;
  }
  return !ref.empty() && equal(ref.leaf(), key, size) ? ref.leaf() : nullptr;
}

Tid RadixTree::find_key(const char* key, uint32_t size) const noexcept {
  const RadixLeaf* leaf = find_leaf(key, size);
  return leaf == nullptr ? kNoTid : leaf->tid;
}

IndexResult RadixTree::replace_key(const char* key, uint32_t size, Tid tid) noexcept {
  RadixLeaf* leaf = find_leaf(key, size);
  if (leaf == nullptr) return IndexResult::kNotFound;
  leaf->tid = tid;
  return IndexResult::kOk;
}

IndexResult RadixTree::insert_key(const char* key, uint32_t size, Tid tid) noexcept {
  RadixRef* place = &root_;
  uint32_t depth = 0;
  bool done = false;
  RadixLeaf* leaf = nullptr;
  while (!place->empty() && !place->is_leaf()) {
    RadixNode* node = place->node();
    const uint32_t comparable = std::min(node->prefix_size, size - depth);
    const uint32_t shared = common_bytes(whole_prefix(node, depth), key + depth, comparable);
    CHECK(depth + shared < size);  // else this key is the beginning of others
    if (shared < node->prefix_size) {
      leaf = make_leaf(key, size, tid);
      done = leaf != nullptr && branch_in_prefix(place, depth, shared, leaf);
      break;
    }
    depth += node->prefix_size;
    RadixRef* child = find_child(node, static_cast<uint8_t>(key[depth]));
    if (child == nullptr) {
      leaf = make_leaf(key, size, tid);
      done = leaf != nullptr && add_leaf(place, static_cast<uint8_t>(key[depth]), leaf);
      break;
    }
    place = child;
    ++depth;
  }
  if (place->empty()) {
    leaf = make_leaf(key, size, tid);
    done = leaf != nullptr;
    if (done) *place = RadixRef(leaf);
  } else if (place->is_leaf()) {
    if (equal(place->leaf(), key, size)) return IndexResult::kDuplicate;
    leaf = make_leaf(key, size, tid);
    done = leaf != nullptr && branch_at_leaf(place, depth, leaf);
  }
  if (!done) {
    if (leaf != nullptr) drop_leaf(leaf);
    return IndexResult::kOutOfMemory;
  }
  ++size_;
  return IndexResult::kOk;
}

// Two leaves where one was: a node with what both keys share from `depth` on.
bool RadixTree::branch_at_leaf(RadixRef* place, uint32_t depth, RadixLeaf* leaf) noexcept {
  RadixLeaf* old = place->leaf();
  const uint32_t limit = std::min(old->size, leaf->size);
  const uint32_t shared = common_bytes(old->key + depth, leaf->key + depth, limit - depth);
  const uint32_t at = depth + shared;
  CHECK(at < limit);  // else one key is the beginning of the other
  RadixNode* node = make_node(&pieces_, RadixNode::Type::k4);
  if (node == nullptr) return false;
  set_prefix(node, leaf->key + depth, shared);
  add_child(node, old->byte(at), RadixRef(old));
  add_child(node, leaf->byte(at), RadixRef(leaf));
  if (leaf->byte(at) < old->byte(at)) {
    link_before(leaf, old);
  } else {
    link_behind(leaf, old);
  }
  *place = RadixRef(node);
  return true;
}

// The key leaves the node's prefix after `shared` bytes: a node above it, with the old node and the leaf as children.
bool RadixTree::branch_in_prefix(RadixRef* place, uint32_t depth, uint32_t shared, RadixLeaf* leaf) noexcept {
  RadixNode* old = place->node();
  RadixNode* node = make_node(&pieces_, RadixNode::Type::k4);
  if (node == nullptr) return false;
  const char* prefix = whole_prefix(old, depth);
  const auto old_byte = static_cast<uint8_t>(prefix[shared]);
  const uint8_t new_byte = leaf->byte(depth + shared);
  set_prefix(node, prefix, shared);
  set_prefix(old, prefix + shared + 1, old->prefix_size - shared - 1);
  add_child(node, old_byte, RadixRef(old));
  add_child(node, new_byte, RadixRef(leaf));
  if (new_byte < old_byte) {
    link_before(leaf, min_leaf(RadixRef(old)));
  } else {
    link_behind(leaf, max_leaf(RadixRef(old)));
  }
  *place = RadixRef(node);
  return true;
}

bool RadixTree::add_leaf(RadixRef* place, uint8_t byte, RadixLeaf* leaf) noexcept {
  RadixNode* node = place->node();
  if (node->count == radix_capacity(node->type)) {
    RadixNode* larger = copy_node(&pieces_, node, static_cast<RadixNode::Type>(static_cast<int>(node->type) + 1));
    if (larger == nullptr) return false;
    drop_node(node);
    node = larger;
    *place = RadixRef(node);
  }
  uint8_t neighbour;
  const RadixRef above = child_from(node, byte + 1, &neighbour);
  if (!above.empty()) {
    link_before(leaf, min_leaf(above));
  } else {
    link_behind(leaf, max_leaf(child_down_from(node, byte - 1, &neighbour)));
  }
  add_child(node, byte, RadixRef(leaf));
  return true;
}

IndexResult RadixTree::erase_key(const char* key, uint32_t size) noexcept {
  RadixRef* place = &root_;
  RadixRef* parent = nullptr;
  uint32_t depth = 0;
  while (!place->empty() && !place->is_leaf()) {
    RadixNode* node = place->node();
    if (depth + node->prefix_size >= size) return IndexResult::kNotFound;
    depth += node->prefix_size;
    parent = place;
    place = find_child(node, static_cast<uint8_t>(key[depth]));
    if (place == nullptr) return IndexResult::kNotFound;
    ++depth;
  }
  if (place->empty() || !equal(place->leaf(), key, size)) return IndexResult::kNotFound;
  RadixLeaf* leaf = place->leaf();
  if (leaf->prev != nullptr) leaf->prev->next = leaf->next;
  if (leaf->next != nullptr) leaf->next->prev = leaf->prev;
  if (parent == nullptr) {
    root_ = RadixRef();
  } else {
    remove_child(parent->node(), leaf->byte(depth - 1));
    shrink(parent);
  }
  drop_leaf(leaf);
  --size_;
  return IndexResult::kOk;
}

// Without memory for the smaller node the larger one stays.
void RadixTree::shrink(RadixRef* place) noexcept {
  RadixNode* node = place->node();
  if (node->count == 1) return absorb_only_child(place);
  // well below the smaller capacity, so that a node at the border does not change back and forth
  constexpr uint32_t kShrinkAt[] = {0, 3, 12, 37};
  if (node->count > kShrinkAt[static_cast<int>(node->type)]) return;
  RadixNode* smaller = copy_node(&pieces_, node, static_cast<RadixNode::Type>(static_cast<int>(node->type) - 1));
  if (smaller == nullptr) return;
  drop_node(node);
  *place = RadixRef(smaller);
}

// A node with one child gives way to it; an inner child takes over the prefix.
void RadixTree::absorb_only_child(RadixRef* place) noexcept {
  RadixNode* node = place->node();
  uint8_t byte;
  const RadixRef child = child_from(node, 0, &byte);
  if (!child.is_leaf()) {
    RadixNode* below = child.node();
    uint8_t joined[2 * RadixNode::kStoredPrefix + 1];
    uint32_t size = node->stored_prefix();
    std::memcpy(joined, node->prefix, size);
    joined[size++] = byte;  // where the node's prefix was not stored whole, this lies beyond what is kept
    std::memcpy(joined + size, below->prefix, below->stored_prefix());
    below->prefix_size += node->prefix_size + 1;
    std::memcpy(below->prefix, joined, below->stored_prefix());
  }
  drop_node(node);
  *place = child;
}

// The first leaf whose key is >= bound, or (after_prefix) whose key's first `size` bytes are > bound.
const RadixLeaf* RadixTree::first_from(const char* bound, uint32_t size, bool after_prefix) const noexcept {
  if (root_.empty()) return nullptr;
  RadixRef ref = root_;
  uint32_t depth = 0;
  while (!ref.is_leaf()) {
    RadixNode* node = ref.node();
    const uint32_t comparable = std::min(node->prefix_size, size - depth);
    const char* prefix = whole_prefix(node, depth);
    const uint32_t shared = common_bytes(prefix, bound + depth, comparable);
    if (depth + shared == size) return after_prefix ? max_leaf(ref)->next : min_leaf(ref);  // all below start with it
    if (shared < node->prefix_size) {
      const bool above = static_cast<uint8_t>(prefix[shared]) > static_cast<uint8_t>(bound[depth + shared]);
      return above ? min_leaf(ref) : max_leaf(ref)->next;
    }
    depth += node->prefix_size;
    const auto byte = static_cast<uint8_t>(bound[depth]);
    const RadixRef* child = find_child(node, byte);
    if (child == nullptr) {
      uint8_t neighbour;
      const RadixRef above = child_from(node, byte + 1, &neighbour);
      return above.empty() ? max_leaf(ref)->next : min_leaf(above);
    }
    ref = *child;
    ++depth;
  }
  const RadixLeaf* leaf = ref.leaf();
  const uint32_t comparable = std::min(leaf->size, size);
  const int order = std::memcmp(leaf->key, bound, comparable);
  bool inside = order > 0;
  if (order == 0) inside = !after_prefix && leaf->size >= size;
  return inside ? leaf : leaf->next;
}

void RadixTree::seek_bounds(OrderedCursor* cursor, const char* lo, uint32_t lo_size, const char* hi, uint32_t hi_size,
                            bool backward, uint32_t exclusive) const noexcept {
  auto* position = RadixPosition::of(cursor);
  const RadixLeaf* first = nullptr;
  const RadixLeaf* behind = nullptr;  // the first one after the range
  if (!root_.empty()) {
    first = lo_size == 0 ? min_leaf(root_) : first_from(lo, lo_size, (exclusive & 1) != 0);
    if (hi_size > 0 && first != nullptr) behind = first_from(hi, hi_size, (exclusive & 2) == 0);
  }
  if (first != nullptr && behind != nullptr) {
    const int order = std::memcmp(first->key, behind->key, std::min(first->size, behind->size));
    if (order >= 0) first = nullptr;  // equal only when the same: the range is empty
  }
  position->at = position->end = nullptr;  // next() goes straight to next_leaf()
  position->step = 1;
  position->backward = backward;
  position->given = 0;
  position->more = first;
  position->stop = behind;
  if (first != nullptr && backward) {
    position->more = behind != nullptr ? behind->prev : max_leaf(root_);
    position->stop = first->prev;
  }
}

// The leaves that follow `from` in scan order, up to `limit` and before `stop`, from the inner nodes alone. May find
// fewer in very deep trees; the links always lead on.
uint32_t RadixTree::gather(const RadixLeaf* from, bool backward, const RadixLeaf* stop, const RadixLeaf** out,
                           uint32_t limit) const noexcept {
  struct Level {
    const RadixNode* node;
    int byte;
  };
  constexpr uint32_t kLevels = 32;
  Level path[kLevels];  // the lowest levels above `from`
  uint32_t levels = 0;
  uint32_t depth = 0;
  for (RadixRef ref = root_; !ref.is_leaf(); ++depth) {
    RadixNode* node = ref.node();
    depth += node->prefix_size;
    if (levels == kLevels) std::memmove(path, path + 1, --levels * sizeof(Level));
    path[levels++] = {node, from->byte(depth)};
    ref = *find_child(node, from->byte(depth));
  }
  uint32_t count = 0;
  while (count < limit && levels > 0) {
    Level* level = &path[levels - 1];
    uint8_t byte;
    const RadixRef child = backward ? child_down_from(level->node, level->byte - 1, &byte)
                                    : child_from(level->node, level->byte + 1, &byte);
    if (child.empty()) {
      --levels;
      continue;
    }
    level->byte = byte;
    if (child.is_leaf()) {
      if (child.leaf() == stop) break;
      __builtin_prefetch(child.leaf());
      out[count++] = child.leaf();
    } else {
      if (levels == kLevels) break;
      path[levels++] = {child.node(), backward ? 256 : -1};
    }
  }
  return count;
}

Tid RadixTree::next_leaf(OrderedCursor* cursor) const noexcept {
  constexpr uint32_t kSingly = 2;  // most scans end here, and gathering costs a descent
  auto* position = RadixPosition::of(cursor);
  const RadixLeaf* leaf = position->more;
  if (leaf == nullptr) return kNoTid;
  const bool backward = position->backward != 0;
  const RadixLeaf* last = leaf;
  if (position->given++ >= kSingly) {
    const RadixLeaf* leaves[RadixPosition::kAhead];
    const uint32_t count = gather(leaf, backward, position->stop, leaves, RadixPosition::kAhead);
    for (uint32_t i = 0; i < count; ++i) position->tids[i] = leaves[i]->tid;
    position->at = position->tids;
    position->end = position->tids + count;
    if (count > 0) last = leaves[count - 1];
  }
  position->more = backward ? last->prev : last->next;
  if (position->more == position->stop) position->more = nullptr;
  return leaf->tid;
}

void RadixTree::check_node(RadixRef ref, uint32_t depth, const RadixLeaf** last, uint64_t* leaves,
                           uint64_t* nodes) const {
  if (ref.is_leaf()) {
    const RadixLeaf* leaf = ref.leaf();
    CHECK(leaf->prev == *last && (*last == nullptr || (*last)->next == leaf));
    if (*last != nullptr) CHECK(std::memcmp((*last)->key, leaf->key, std::min((*last)->size, leaf->size)) < 0);
    *last = leaf;
    ++*leaves;
    return;
  }
  const RadixNode* node = ref.node();
  ++*nodes;
  const RadixLeaf* sample = max_leaf(ref);
  CHECK(sample->size > depth + node->prefix_size);
  CHECK(std::memcmp(sample->key, min_leaf(ref)->key, depth + node->prefix_size) == 0);
  CHECK(std::memcmp(sample->key + depth, node->prefix, node->stored_prefix()) == 0);
  uint32_t count = 0;
  uint8_t byte = 0;
  for (RadixRef child = child_from(node, 0, &byte); !child.empty(); child = child_from(node, byte + 1, &byte)) {
    CHECK(min_leaf(child)->byte(depth + node->prefix_size) == byte);
    check_node(child, depth + node->prefix_size + 1, last, leaves, nodes);
    ++count;
  }
  CHECK(count == node->count && count >= 2 && count <= radix_capacity(node->type));
}

void RadixTree::check_structure() const {
  const RadixLeaf* last = nullptr;
  uint64_t leaves = 0;
  uint64_t nodes = 0;
  if (!root_.empty()) check_node(root_, 0, &last, &leaves, &nodes);
  CHECK(last == nullptr || last->next == nullptr);
  CHECK(leaves == size_ && leaves + nodes == pieces_.in_use());
}

}  // namespace scyper::storage
