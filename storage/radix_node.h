#pragma once

#include <cstddef>
#include <cstdint>

#include "node_pool.h"
#include "storage/schema.h"

// The nodes of the adaptive radix tree. Source: Leis, Kemper, Neumann, "The Adaptive Radix Tree", ICDE 2013, section
// III.
namespace scyper::storage {

// One entry. The leaves are linked in key order, so that scans need neither a stack nor the inner nodes.
struct RadixLeaf {
  Tid tid;
  RadixLeaf* next;
  RadixLeaf* prev;
  uint32_t size;
  char key[4];  // `size` bytes in truth

  static constexpr uint32_t kHeadBytes = 28;
  uint8_t byte(uint32_t i) const { return static_cast<uint8_t>(key[i]); }
};

struct RadixNode;

// A child: a node, a leaf (lowest bit set), or nothing.
class RadixRef {
 public:
  RadixRef() = default;
  explicit RadixRef(const RadixLeaf* leaf) : bits_(reinterpret_cast<uint64_t>(leaf) | 1) {}
  explicit RadixRef(const RadixNode* node) : bits_(reinterpret_cast<uint64_t>(node)) {}
  bool empty() const { return bits_ == 0; }
  bool is_leaf() const { return (bits_ & 1) != 0; }
  RadixLeaf* leaf() const { return reinterpret_cast<RadixLeaf*>(bits_ - 1); }
  RadixNode* node() const { return reinterpret_cast<RadixNode*>(bits_); }

 private:
  uint64_t bits_ = 0;
};

// An inner node: the bytes that all keys below share (path compression), then one child per value of the next byte.
// Only the first kStoredPrefix shared bytes are stored; the others are read from any leaf below, or, in lookups,
// skipped and checked at the leaf. Invariant: at least two children.
struct RadixNode {
  enum class Type : uint8_t { k4, k16, k48, k256 };
  static constexpr uint32_t kStoredPrefix = 16;

  Type type;
  uint8_t unused;
  uint16_t count;
  uint32_t prefix_size;
  uint8_t prefix[kStoredPrefix];

  uint32_t stored_prefix() const { return prefix_size < kStoredPrefix ? prefix_size : kStoredPrefix; }
};

struct RadixNode4 : RadixNode {
  uint8_t keys[8];  // sorted; 4 used
  RadixRef children[4];
};
struct RadixNode16 : RadixNode {
  uint8_t keys[16];  // sorted
  RadixRef children[16];
};
struct RadixNode48 : RadixNode {
  uint8_t places[256];  // place + 1 of a byte's child, 0 = none
  RadixRef children[48];
};
struct RadixNode256 : RadixNode {
  RadixRef children[256];
};
static_assert(sizeof(RadixNode4) == 64 && sizeof(RadixNode256) <= PiecePool::kMaxPieceBytes);

constexpr uint32_t radix_capacity(RadixNode::Type type) {
  constexpr uint32_t kCapacities[] = {4, 16, 48, 256};
  return kCapacities[static_cast<int>(type)];
}
constexpr uint32_t radix_bytes(RadixNode::Type type) {
  constexpr uint32_t kBytes[] = {sizeof(RadixNode4), sizeof(RadixNode16), sizeof(RadixNode48), sizeof(RadixNode256)};
  return kBytes[static_cast<int>(type)];
}

// The place of the byte's child, or nullptr.
RadixRef* find_child(RadixNode* node, uint8_t byte);
// The first child whose byte is >= from (0 to 256) / the last whose byte is <= from (-1 to 255); *byte says which.
RadixRef child_from(const RadixNode* node, int from, uint8_t* byte);
RadixRef child_down_from(const RadixNode* node, int from, uint8_t* byte);
// The byte has no child yet and the node has room.
void add_child(RadixNode* node, uint8_t byte, RadixRef child);
void remove_child(RadixNode* node, uint8_t byte);
// An empty node; nullptr when the budget is used up.
RadixNode* make_node(PiecePool* pool, RadixNode::Type type);
// A node of another type with the same prefix and children; nullptr when the budget is used up.
RadixNode* copy_node(PiecePool* pool, const RadixNode* node, RadixNode::Type type);

}  // namespace scyper::storage
