#include "radix_node.h"

#include <cstring>

#include "base/check.h"

namespace scyper::storage {
namespace {

// Node4 and Node16 alike: sorted bytes and their children.
struct SortedPart {
  uint8_t* keys;
  RadixRef* children;
};
SortedPart sorted_part(const RadixNode* node) {
  auto* mutable_node = const_cast<RadixNode*>(node);
  if (node->type == RadixNode::Type::k4) {
    auto* small = static_cast<RadixNode4*>(mutable_node);
    return {small->keys, small->children};
  }
  auto* larger = static_cast<RadixNode16*>(mutable_node);
  return {larger->keys, larger->children};
}

// A byte's child in a Node48 or Node256.
RadixRef direct_child(const RadixNode* node, int byte) {
  if (node->type == RadixNode::Type::k256) return static_cast<const RadixNode256*>(node)->children[byte];
  const auto* middle = static_cast<const RadixNode48*>(node);
  return middle->places[byte] == 0 ? RadixRef() : middle->children[middle->places[byte] - 1];
}

}  // namespace

RadixRef* find_child(RadixNode* node, uint8_t byte) {
  switch (node->type) {
    case RadixNode::Type::k4: {
      auto* small = static_cast<RadixNode4*>(node);
      for (uint32_t i = 0; i < small->count; ++i) {
        if (small->keys[i] == byte) return &small->children[i];
      }
      return nullptr;
    }
    case RadixNode::Type::k16: {
      auto* larger = static_cast<RadixNode16*>(node);
      uint32_t equal = 0;  // all 16 without a branch
      for (uint32_t i = 0; i < 16; ++i) equal |= static_cast<uint32_t>(larger->keys[i] == byte) << i;
      equal &= (1u << larger->count) - 1;
      return equal == 0 ? nullptr : &larger->children[__builtin_ctz(equal)];
    }
    case RadixNode::Type::k48: {
      auto* middle = static_cast<RadixNode48*>(node);
      return middle->places[byte] == 0 ? nullptr : &middle->children[middle->places[byte] - 1];
    }
    default: {
      RadixRef* child = &static_cast<RadixNode256*>(node)->children[byte];
      return child->empty() ? nullptr : child;
    }
  }
}

RadixRef child_from(const RadixNode* node, int from, uint8_t* byte) {
  if (node->type <= RadixNode::Type::k16) {
    const SortedPart part = sorted_part(node);
    for (uint32_t i = 0; i < node->count; ++i) {
      if (part.keys[i] < from) continue;
      *byte = part.keys[i];
      return part.children[i];
    }
    return RadixRef();
  }
  for (int i = from; i < 256; ++i) {
    const RadixRef child = direct_child(node, i);
    if (child.empty()) continue;
    *byte = static_cast<uint8_t>(i);
    return child;
  }
  return RadixRef();
}

RadixRef child_down_from(const RadixNode* node, int from, uint8_t* byte) {
  if (node->type <= RadixNode::Type::k16) {
    const SortedPart part = sorted_part(node);
    for (uint32_t i = node->count; i-- > 0;) {
      if (part.keys[i] > from) continue;
      *byte = part.keys[i];
      return part.children[i];
    }
    return RadixRef();
  }
  for (int i = from; i >= 0; --i) {
    const RadixRef child = direct_child(node, i);
    if (child.empty()) continue;
    *byte = static_cast<uint8_t>(i);
    return child;
  }
  return RadixRef();
}

void add_child(RadixNode* node, uint8_t byte, RadixRef child) {
  CHECK(node->count < radix_capacity(node->type));
  if (node->type == RadixNode::Type::k256) {
    static_cast<RadixNode256*>(node)->children[byte] = child;
  } else if (node->type == RadixNode::Type::k48) {
    auto* middle = static_cast<RadixNode48*>(node);
    uint32_t place = node->count;
    if (!middle->children[place].empty()) {  // removals leave holes
      for (place = 0; !middle->children[place].empty();) ++place;
    }
    middle->children[place] = child;
    middle->places[byte] = static_cast<uint8_t>(place + 1);
  } else {
    const SortedPart part = sorted_part(node);
    uint32_t place = node->count;
    for (; place > 0 && part.keys[place - 1] > byte; --place) {
      part.keys[place] = part.keys[place - 1];
      part.children[place] = part.children[place - 1];
    }
    part.keys[place] = byte;
    part.children[place] = child;
  }
  ++node->count;
}

void remove_child(RadixNode* node, uint8_t byte) {
  if (node->type == RadixNode::Type::k256) {
    static_cast<RadixNode256*>(node)->children[byte] = RadixRef();
  } else if (node->type == RadixNode::Type::k48) {
    auto* middle = static_cast<RadixNode48*>(node);
    middle->children[middle->places[byte] - 1] = RadixRef();
    middle->places[byte] = 0;
  } else {
    const SortedPart part = sorted_part(node);
    uint32_t place = 0;
    while (part.keys[place] != byte) ++place;
    for (; place + 1 < node->count; ++place) {
      part.keys[place] = part.keys[place + 1];
      part.children[place] = part.children[place + 1];
    }
  }
  --node->count;
}

RadixNode* make_node(PiecePool* pool, RadixNode::Type type) {
  void* memory = pool->take(radix_bytes(type));
  if (memory == nullptr) return nullptr;
  std::memset(memory, 0, radix_bytes(type));
  auto* node = static_cast<RadixNode*>(memory);
  node->type = type;
  return node;
}

RadixNode* copy_node(PiecePool* pool, const RadixNode* node, RadixNode::Type type) {
  RadixNode* copy = make_node(pool, type);
  if (copy == nullptr) return nullptr;
  copy->prefix_size = node->prefix_size;
  std::memcpy(copy->prefix, node->prefix, sizeof(node->prefix));
  uint8_t byte = 0;
  for (RadixRef child = child_from(node, 0, &byte); !child.empty(); child = child_from(node, byte + 1, &byte)) {
    add_child(copy, byte, child);
  }
  return copy;
}

}  // namespace scyper::storage
