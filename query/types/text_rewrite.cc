#include "types/text_rewrite.h"

#include <algorithm>

namespace scyper::query {

namespace {

// A part of a query; & and | have any number of operands, the right one first.
struct Node {
  QueryItem item;
  std::vector<Node> operands;
  bool is_new = false;  // substituted: not looked into again
};

bool is_leaf(const Node& node) { return node.item.op == QueryOp::kValue; }

Node node_of(const TextQuery& query, size_t i) {
  Node node{query.items[i], {}, false};
  if (is_leaf(node)) return node;
  node.operands.push_back(node_of(query, query.right_of(i)));
  if (node.item.op != QueryOp::kNot) node.operands.push_back(node_of(query, query.left_of(i)));
  return node;
}

template <class Value>
int descending(const Value& a, const Value& b) {
  return a == b ? 0 : a > b ? -1 : 1;
}

int compare(const Node& a, const Node& b) {
  if (is_leaf(a) != is_leaf(b)) return is_leaf(a) ? 1 : -1;
  if (is_leaf(a)) {
    const int order = descending(word_checksum(a.item.word), word_checksum(b.item.word));
    return order != 0 ? order : a.item.word.compare(b.item.word);
  }
  if (const int order = descending(a.item.op, b.item.op); order != 0) return order;
  if (const int order = descending(a.operands.size(), b.operands.size()); order != 0) return order;
  for (size_t i = 0; i < a.operands.size(); ++i)
    if (const int order = compare(a.operands[i], b.operands[i]); order != 0) return order;
  return a.item.op == QueryOp::kPhrase ? descending(a.item.distance, b.item.distance) : 0;
}

bool is_commutative(const Node& node) { return node.item.op == QueryOp::kAnd || node.item.op == QueryOp::kOr; }

void sort_operands(Node* node) {
  for (Node& operand : node->operands) sort_operands(&operand);
  if (!is_commutative(*node)) return;
  std::sort(node->operands.begin(), node->operands.end(),
            [](const Node& a, const Node& b) { return compare(a, b) < 0; });
}

// a & (b & c) as & of three.
void flatten(Node* node) {
  for (Node& operand : node->operands) flatten(&operand);
  if (!is_commutative(*node)) return;
  std::vector<Node> operands;
  for (Node& operand : node->operands) {
    if (operand.item.op == node->item.op)
      operands.insert(operands.end(), std::make_move_iterator(operand.operands.begin()),
                      std::make_move_iterator(operand.operands.end()));
    else
      operands.push_back(std::move(operand));
  }
  node->operands = std::move(operands);
}

void append_node(const Node& node, TextQuery* out);

// As operators of two operands, nested in PostgreSQL's order: the first two are innermost, then come the others from
// the last one on.
void append_operands(const Node& node, TextQuery* out) {
  const size_t count = node.operands.size();
  for (size_t i = 1; i < count; ++i) out->items.push_back(node.item);
  append_node(node.operands[0], out);
  append_node(node.operands[1], out);
  for (size_t i = count; i > 2; --i) append_node(node.operands[i - 1], out);
}

void append_node(const Node& node, TextQuery* out) {
  if (node.operands.size() > 1) return append_operands(node, out);
  out->items.push_back(node.item);
  if (!node.operands.empty()) append_node(node.operands[0], out);
}

class Rewriter {
 public:
  Rewriter(Node target, const Node* substitute) : target_(std::move(target)), substitute_(substitute) {}

  // false: nothing is left of the part.
  bool rewrite(Node* node) const {
    if (!replace(node)) return false;
    if (node->is_new || is_leaf(*node)) return true;
    auto& operands = node->operands;
    const auto gone =
        std::remove_if(operands.begin(), operands.end(), [&](Node& operand) { return !rewrite(&operand); });
    operands.erase(gone, operands.end());
    if (operands.empty()) return false;
    if (operands.size() == 1 && node->item.op != QueryOp::kNot) {
      Node only = std::move(operands[0]);
      *node = std::move(only);
    }
    return true;
  }

 private:
  bool replace(Node* node) const {
    if (node->is_new || is_leaf(*node) != is_leaf(target_)) return true;
    if (!is_leaf(*node) && node->item.op != target_.item.op) return true;
    if (node->operands.size() > target_.operands.size() && is_commutative(*node)) {
      replace_some(node);
      return true;
    }
    if (compare(*node, target_) != 0) return true;
    if (substitute_ == nullptr) return false;
    *node = *substitute_;
    node->is_new = true;
    return true;
  }

  // Where all operands of the target are among those of the node.
  void replace_some(Node* node) const {
    std::vector<Node> others;
    size_t found = 0;
    for (const Node& operand : node->operands) {
      if (found < target_.operands.size() && compare(operand, target_.operands[found]) == 0)
        ++found;
      else
        others.push_back(operand);
    }
    if (found < target_.operands.size()) return;
    if (substitute_ != nullptr) {
      others.push_back(*substitute_);
      others.back().is_new = true;
    }
    node->operands = std::move(others);
    sort_operands(node);
  }

  Node target_;
  const Node* substitute_;
};

Node prepared(const TextQuery& query) {
  Node node = node_of(query, 0);
  flatten(&node);
  sort_operands(&node);
  return node;
}

}  // namespace

Status rewrite_query(const TextQuery& query, const TextQuery& target, const TextQuery& substitute, TextQuery* out) {
  if (query.empty() || target.empty()) return *out = query, absl::OkStatus();
  Node node = prepared(query), replacement;
  if (!substitute.empty()) replacement = node_of(substitute, 0);
  const Rewriter rewriter(prepared(target), substitute.empty() ? nullptr : &replacement);
  out->items.clear();
  if (!rewriter.rewrite(&node)) return absl::OkStatus();
  append_node(node, out);
  return link_items(out);
}

}  // namespace scyper::query
