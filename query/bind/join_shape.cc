#include "bind/join_shape.h"

namespace scyper::query {

bool is_open_join(const ast::FromItem& item) {
  return item.kind == ast::FromKind::kJoin && ast::node_as<ast::FromJoin>(item).alias.name.empty();
}

bool needs_tree(const ast::FromItem& item) {
  return is_open_join(item) && needs_tree_inside(ast::node_as<ast::FromJoin>(item));
}

bool needs_tree_inside(const ast::FromJoin& join) {
  if (join.join == ast::JoinKind::kFull || join.join == ast::JoinKind::kRight) return true;
  if (join.join == ast::JoinKind::kLeft && is_open_join(*join.right)) return true;
  return needs_tree(*join.left) || needs_tree(*join.right);
}

}  // namespace scyper::query
