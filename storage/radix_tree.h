#pragma once

#include <cstdint>

#include "radix_node.h"
#include "storage/index.h"

namespace scyper::storage {

// An adaptive radix tree for keys that vary in length or are longer than 24 bytes: its height does not grow with the
// number of entries, long common beginnings (the leading columns of a partition's keys) cost one comparison, and
// entries never move. A B+-tree of variable keys would scan faster but needs slotted pages, truncated separators and
// splits by size; these keys are looked up and scanned over a few entries (customers by name), not read in bulk.
// Invariants: (1) no key is the beginning of another; (2) leaves are linked in key order; (3) inner nodes have at least
// two children and the smallest type that their last shrink or growth allowed. Source: Leis et al., ICDE 2013. We
// differ: leaves hold the whole key and are linked.
class RadixTree final : public OrderedIndex {
 public:
  RadixTree(Arena* arena, uint32_t key_bytes) : OrderedIndex(Kind::kRadix, key_bytes), pieces_(arena) {}

  Tid find_key(const char* key, uint32_t size) const noexcept;
  IndexResult insert_key(const char* key, uint32_t size, Tid tid) noexcept;
  IndexResult erase_key(const char* key, uint32_t size) noexcept;
  IndexResult replace_key(const char* key, uint32_t size, Tid tid) noexcept;
  void seek_bounds(OrderedCursor* cursor, const char* lo, uint32_t lo_size, const char* hi, uint32_t hi_size,
                   bool backward, uint32_t exclusive) const noexcept;
  Tid next_leaf(OrderedCursor* cursor) const noexcept;

  size_t memory_bytes() const noexcept override { return pieces_.bytes(); }
  void check_structure() const override;
  uint64_t pieces_in_use() const { return pieces_.in_use(); }

 private:
  RadixLeaf* find_leaf(const char* key, uint32_t size) const noexcept;  // nullptr: absent
  RadixLeaf* make_leaf(const char* key, uint32_t size, Tid tid) noexcept;
  void drop_leaf(RadixLeaf* leaf) noexcept;
  void drop_node(RadixNode* node) noexcept { pieces_.give(node, radix_bytes(node->type)); }
  bool branch_at_leaf(RadixRef* place, uint32_t depth, RadixLeaf* leaf) noexcept;
  bool branch_in_prefix(RadixRef* place, uint32_t depth, uint32_t shared, RadixLeaf* leaf) noexcept;
  bool add_leaf(RadixRef* place, uint8_t byte, RadixLeaf* leaf) noexcept;
  void shrink(RadixRef* place) noexcept;
  void absorb_only_child(RadixRef* place) noexcept;
  uint32_t gather(const RadixLeaf* from, bool backward, const RadixLeaf* stop, const RadixLeaf** out,
                  uint32_t limit) const noexcept;
  const RadixLeaf* first_from(const char* bound, uint32_t size, bool after_prefix) const noexcept;
  void check_node(RadixRef ref, uint32_t depth, const RadixLeaf** last, uint64_t* leaves, uint64_t* nodes) const;

  RadixRef root_;
  PiecePool pieces_;
};

}  // namespace scyper::storage
