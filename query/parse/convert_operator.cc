#include "parse/converter.h"

namespace scyper::query {

namespace {

// The arguments of a call that the grammar made itself: pg_catalog.name(args). nullptr = another node.
const List* system_call_args(const Node* node, std::string_view name) {
  if (node == nullptr || nodeTag(node) != T_FuncCall) return nullptr;
  const ast::Name called = name_of(to<FuncCall>(node).funcname);
  if (called.size() != 2 || called[0] != "pg_catalog" || called[1] != name) return nullptr;
  return to<FuncCall>(node).args;
}

}  // namespace

void Converter::operator_name(const List* name, std::string& op, std::string& op_schema) {
  const ast::Name parts = name_of(name);
  if (parts.empty()) return;
  op = parts.back();
  if (parts.size() >= 2) op_schema = parts[parts.size() - 2];
}

ast::ExprPtr Converter::plain_operation(const A_Expr& node) {
  if (node.lexpr == nullptr) {
    auto out = std::make_unique<ast::UnaryOp>();
    operator_name(node.name, out->op, out->op_schema);
    out->arg = expr(node.rexpr);
    return out;
  }
  auto out = std::make_unique<ast::BinaryOp>();
  operator_name(node.name, out->op, out->op_schema);
  out->left = expr(node.lexpr);
  out->right = expr(node.rexpr);
  return out;
}

// x LIKE p is ~~ and NOT LIKE is !~~; ESCAPE and SIMILAR TO wrap the pattern in a call.
ast::ExprPtr Converter::like(const A_Expr& node, ast::LikeKind kind) {
  auto out = std::make_unique<ast::Like>();
  out->like = kind;
  out->arg = expr(node.lexpr);
  std::string op;
  std::string op_schema;
  operator_name(node.name, op, op_schema);
  out->negated = op.starts_with('!');
  const std::string_view wrapper = kind == ast::LikeKind::kSimilar ? "similar_to_escape" : "like_escape";
  const List* wrapped = system_call_args(node.rexpr, wrapper);
  if (length_of(wrapped) >= 1) {
    out->pattern = expr(node_at(wrapped, 0));
    if (length_of(wrapped) >= 2) out->escape = expr(node_at(wrapped, 1));
  } else {
    out->pattern = expr(node.rexpr);
  }
  return out;
}

ast::ExprPtr Converter::between(const A_Expr& node) {
  auto out = std::make_unique<ast::Between>();
  const auto* bounds = reinterpret_cast<const List*>(node.rexpr);
  out->arg = expr(node.lexpr);
  out->low = expr(node_at(bounds, 0));
  out->high = expr(node_at(bounds, 1));
  out->symmetric = node.kind == AEXPR_BETWEEN_SYM || node.kind == AEXPR_NOT_BETWEEN_SYM;
  out->negated = node.kind == AEXPR_NOT_BETWEEN || node.kind == AEXPR_NOT_BETWEEN_SYM;
  return out;
}

ast::ExprPtr Converter::operation(const A_Expr& node) {
  ast::ExprPtr out;
  switch (node.kind) {
    case AEXPR_OP:
      out = plain_operation(node);
      break;
    case AEXPR_OP_ANY:
    case AEXPR_OP_ALL: {
      auto quantified = std::make_unique<ast::QuantifiedArray>();
      operator_name(node.name, quantified->op, quantified->op_schema);
      quantified->all = node.kind == AEXPR_OP_ALL;
      quantified->left = expr(node.lexpr);
      quantified->array = expr(node.rexpr);
      out = std::move(quantified);
      break;
    }
    case AEXPR_DISTINCT:
    case AEXPR_NOT_DISTINCT: {
      auto distinct = std::make_unique<ast::IsDistinct>();
      distinct->left = expr(node.lexpr);
      distinct->right = expr(node.rexpr);
      distinct->negated = node.kind == AEXPR_NOT_DISTINCT;
      out = std::move(distinct);
      break;
    }
    case AEXPR_NULLIF: {
      auto null_if = std::make_unique<ast::NullIf>();
      null_if->left = expr(node.lexpr);
      null_if->right = expr(node.rexpr);
      out = std::move(null_if);
      break;
    }
    case AEXPR_IN: {
      auto in = std::make_unique<ast::InList>();
      std::string op;
      std::string op_schema;
      operator_name(node.name, op, op_schema);
      in->negated = op == "<>";
      in->arg = expr(node.lexpr);
      in->list = exprs(reinterpret_cast<const List*>(node.rexpr));
      out = std::move(in);
      break;
    }
    case AEXPR_LIKE:
      out = like(node, ast::LikeKind::kLike);
      break;
    case AEXPR_ILIKE:
      out = like(node, ast::LikeKind::kILike);
      break;
    case AEXPR_SIMILAR:
      out = like(node, ast::LikeKind::kSimilar);
      break;
    case AEXPR_BETWEEN:
    case AEXPR_NOT_BETWEEN:
    case AEXPR_BETWEEN_SYM:
    case AEXPR_NOT_BETWEEN_SYM:
      out = between(node);
      break;
  }
  if (out == nullptr) {
    refuse("this kind of operator", node.location);
    return nullptr;
  }
  out->location = at(node.location);
  return out;
}

ast::ExprPtr Converter::sub_link(const SubLink& node) {
  ast::ExprPtr out;
  ast::SelectPtr subquery = select(node.subselect);
  switch (node.subLinkType) {
    case EXISTS_SUBLINK: {
      auto exists = std::make_unique<ast::Exists>();
      exists->subquery = std::move(subquery);
      out = std::move(exists);
      break;
    }
    case EXPR_SUBLINK: {
      auto scalar = std::make_unique<ast::ScalarSubquery>();
      scalar->subquery = std::move(subquery);
      out = std::move(scalar);
      break;
    }
    case ARRAY_SUBLINK: {
      auto array = std::make_unique<ast::ArraySubquery>();
      array->subquery = std::move(subquery);
      out = std::move(array);
      break;
    }
    case ANY_SUBLINK:
    case ALL_SUBLINK: {
      if (node.operName == nullptr) {
        auto in = std::make_unique<ast::InSubquery>();
        in->arg = expr(node.testexpr);
        in->subquery = std::move(subquery);
        out = std::move(in);
        break;
      }
      auto quantified = std::make_unique<ast::QuantifiedSubquery>();
      operator_name(node.operName, quantified->op, quantified->op_schema);
      quantified->all = node.subLinkType == ALL_SUBLINK;
      quantified->left = expr(node.testexpr);
      quantified->subquery = std::move(subquery);
      out = std::move(quantified);
      break;
    }
    default:
      refuse("this kind of subquery", node.location);
      return nullptr;
  }
  out->location = at(node.location);
  return out;
}

}  // namespace scyper::query
