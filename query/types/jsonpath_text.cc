#include "types/jsonpath.h"

#include "base/invariant.h"

// PostgreSQL's text of a jsonpath: printJsonPathItem() of jsonpath.c.
namespace scyper::query {

namespace {

int priority(PathOp op) {
  switch (op) {
    case PathOp::kOr:
      return 0;
    case PathOp::kAnd:
      return 1;
    case PathOp::kEqual:
    case PathOp::kNotEqual:
    case PathOp::kLess:
    case PathOp::kGreater:
    case PathOp::kLessOrEqual:
    case PathOp::kGreaterOrEqual:
    case PathOp::kStartsWith:
      return 2;
    case PathOp::kAdd:
    case PathOp::kSubtract:
      return 3;
    case PathOp::kMultiply:
    case PathOp::kDivide:
    case PathOp::kModulo:
      return 4;
    case PathOp::kPlus:
    case PathOp::kMinus:
      return 5;
    default:
      return 6;
  }
}

class Printer {
 public:
  explicit Printer(std::string* out) : out_(out) {}

  // in_path: behind another item.
  void print(const PathItem* item, bool in_path, bool in_parentheses) {
    is_too_deep_ = is_too_deep_ || is_stack_low();
    if (is_too_deep_) return;
    for (; item != nullptr; item = item->next) {
      print_one(*item, in_path, in_parentheses);
      in_path = in_parentheses = true;
    }
  }

  bool is_too_deep() const { return is_too_deep_; }

 private:
  void string(std::string_view text) { json_append(out_, json_string(text)); }
  void operand(const PathItem& of, const PathItem* item) { print(item, false, priority(item->op) <= priority(of.op)); }
  void inside(std::string_view before, const PathItem* item, std::string_view after) {
    out_->append(before);
    print(item, false, false);
    out_->append(after);
  }

  void operators(const PathItem& item, bool in_parentheses) {
    if (in_parentheses) out_->push_back('(');
    const bool is_unary = item.op == PathOp::kPlus || item.op == PathOp::kMinus;
    if (is_unary) out_->append(path_op_name(item.op));
    operand(item, item.left);
    if (item.right != nullptr) {
      out_->append(" ").append(path_op_name(item.op)).append(" ");
      operand(item, item.right);
    }
    if (item.op == PathOp::kLikeRegex) {
      out_->append(" like_regex ");
      string(item.text);
      if (!item.flags.empty()) out_->append(" flag \"").append(item.flags).append("\"");
    }
    if (in_parentheses) out_->push_back(')');
  }

  void levels(const PathItem& item) {
    const auto name = [](uint32_t level) { return level == kLastLevel ? "last" : std::to_string(level); };
    out_->append("**");
    if (item.first == 0 && item.last == kLastLevel) return;
    out_->append("{").append(name(item.first));
    if (item.first != item.last) out_->append(" to ").append(name(item.last));
    out_->append("}");
  }

  void subscripts(const PathItem& item) {
    out_->push_back('[');
    for (const auto& [from, to] : item.subscripts) {
      if (&from != &item.subscripts[0].first) out_->push_back(',');
      print(from, false, false);
      if (to != nullptr) inside(" to ", to, "");
    }
    out_->push_back(']');
  }

  void scalar(const PathItem& item) {
    switch (item.op) {
      case PathOp::kNull:
        out_->append("null");
        return;
      case PathOp::kBoolean:
        out_->append(item.boolean ? "true" : "false");
        return;
      case PathOp::kVariable:
        out_->push_back('$');
        return string(item.text);
      case PathOp::kNumber:
        if (item.next != nullptr) return static_cast<void>(out_->append("(").append(item.text).append(")"));
        out_->append(item.text);
        return;
      case PathOp::kRoot:
        out_->push_back('$');
        return;
      case PathOp::kCurrent:
        out_->push_back('@');
        return;
      case PathOp::kLast:
        out_->append("last");
        return;
      default:
        return string(item.text);
    }
  }

  void print_one(const PathItem& item, bool in_path, bool in_parentheses) {
    if (item.op <= PathOp::kLast) return scalar(item);
    switch (item.op) {
      case PathOp::kKey:
      case PathOp::kAnyKey:
      case PathOp::kAny:
        if (in_path) out_->push_back('.');
        if (item.op == PathOp::kKey) return string(item.text);
        if (item.op == PathOp::kAny) return levels(item);
        out_->push_back('*');
        return;
      case PathOp::kFilter:
        return inside("?(", item.left, ")");
      case PathOp::kNot:
        return inside("!(", item.left, ")");
      case PathOp::kIsUnknown:
        return inside("(", item.left, ") is unknown");
      case PathOp::kExists:
        return inside("exists (", item.left, ")");
      case PathOp::kAnyArray:
        out_->append("[*]");
        return;
      case PathOp::kIndexArray:
        return subscripts(item);
      default:
        break;
    }
    if (item.op < PathOp::kExists) return operators(item, in_parentheses);
    out_->append(".").append(path_op_name(item.op));
    inside("(", item.left, ")");
  }

  std::string* const out_;
  bool is_too_deep_ = false;
};

}  // namespace

const char* path_op_name(PathOp op) {
  static constexpr std::pair<PathOp, const char*> kNames[] = {
      {PathOp::kAnd, "&&"},
      {PathOp::kOr, "||"},
      {PathOp::kEqual, "=="},
      {PathOp::kNotEqual, "!="},
      {PathOp::kLess, "<"},
      {PathOp::kGreater, ">"},
      {PathOp::kLessOrEqual, "<="},
      {PathOp::kGreaterOrEqual, ">="},
      {PathOp::kAdd, "+"},
      {PathOp::kSubtract, "-"},
      {PathOp::kMultiply, "*"},
      {PathOp::kDivide, "/"},
      {PathOp::kModulo, "%"},
      {PathOp::kPlus, "+"},
      {PathOp::kMinus, "-"},
      {PathOp::kStartsWith, "starts with"},
      {PathOp::kLikeRegex, "like_regex"},
      {PathOp::kType, "type"},
      {PathOp::kSize, "size"},
      {PathOp::kAbs, "abs"},
      {PathOp::kFloor, "floor"},
      {PathOp::kCeiling, "ceiling"},
      {PathOp::kDouble, "double"},
      {PathOp::kDatetime, "datetime"},
      {PathOp::kKeyValue, "keyvalue"},
  };
  for (const auto& [known, name] : kNames)
    if (known == op) return name;
  return "?";
}

Status jsonpath_text(const JsonPath& path, std::string* out) {
  *out = path.lax ? "" : "strict ";
  Printer printer(out);
  printer.print(path.root, false, true);
  return printer.is_too_deep() ? sql_error("54001", "stack depth limit exceeded") : absl::OkStatus();
}

}  // namespace scyper::query
