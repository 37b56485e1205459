#include <cstring>
#include <string_view>

#include "base/check.h"
#include "codegen/generator.h"

// Texts without calls of general functions: comparisons with constants, patterns of LIKE that are a start, an end or a
// part, beginnings of texts.
namespace scyper::query {

using ir::Op;
using ir::Type;

namespace {
constexpr size_t kInlineBytesMax = 24;  // of a constant that is compared word by word

const BoundExpr& without_text_casts(const BoundExpr& expr) {
  const BoundExpr* e = &expr;
  while (e->kind == BoundKind::kCast && is_string(e->type.id) && e->type.length < 0 && e->type.id != TypeId::kChar)
    e = e->args[0].get();
  return *e;
}

// A constant text that is no char(n), whose padding would not count.
bool is_text_constant(const BoundExpr& expr) {
  const BoundExpr& e = without_text_casts(expr);
  return e.kind == BoundKind::kConst && !e.value.null && e.type.id != TypeId::kChar &&
         (is_string(e.type.id) || e.type.id == TypeId::kUnknown);
}

// LIKE without '_' and escapes: the literal parts around its '%'.
struct Pattern {
  std::vector<std::string> parts;
  bool open_start = false, open_end = false;
};
std::optional<Pattern> split_pattern(std::string_view text) {
  Pattern pattern;
  pattern.open_start = !text.empty() && text.front() == '%';
  pattern.open_end = !text.empty() && text.back() == '%';
  std::string part;
  for (char c : text) {
    if (c == '_' || c == '\\') return std::nullopt;
    if (c != '%') {
      part += c;
    } else if (!part.empty()) {
      pattern.parts.push_back(part);
      part.clear();
    }
  }
  if (!part.empty()) pattern.parts.push_back(part);
  return pattern;
}
}  // namespace

// Jumps to `differs` unless the bytes at `at` + offset are these; goes on in the current block else.
void Generator::gen_bytes_equal(Reg at, int64_t offset, std::string_view bytes, Block differs) {
  auto test = [&](Type type, size_t i) {
    int64_t word = 0;
    std::memcpy(&word, bytes.data() + i, type == Type::kI64 ? 8 : type == Type::kI32 ? 4 : type == Type::kI16 ? 2 : 1);
    if (type == Type::kI32) word = static_cast<int32_t>(word);
    if (type == Type::kI16) word = static_cast<int16_t>(word);
    Block next = b_.new_block();
    Reg found = b_.load(type, at, offset + static_cast<int64_t>(i));
    b_.branch(b_.compare(Op::kEq, found, constant(type, word)), next, differs);
    b_.set_block(next);
  };
  size_t i = 0;
  for (; i + 8 <= bytes.size(); i += 8) test(Type::kI64, i);
  for (; i + 4 <= bytes.size(); i += 4) test(Type::kI32, i);
  for (; i + 2 <= bytes.size(); i += 2) test(Type::kI16, i);
  for (; i < bytes.size(); i++) test(Type::kI8, i);
}

// A boolean (I8) that `test` decides by jumping to the block it is given, or by going on: true.
ir::Reg Generator::gen_test(const std::function<void(Block)>& test) {
  Reg result = b_.new_variable(Type::kI8);
  Block fails = b_.new_block(), done = b_.new_block();
  test(fails);
  b_.assign(result, constant(Type::kI8, 1));
  b_.jump(done);
  b_.set_block(fails);
  b_.assign(result, constant(Type::kI8, 0));
  b_.jump(done);
  b_.set_block(done);
  return b_.binary(Op::kAdd, result, constant(Type::kI8, 0));
}

// text = constant.
std::optional<Value> Generator::gen_text_equality(const BoundExpr& expr) {
  bool second = is_text_constant(*expr.args[1]);
  if (!second && !is_text_constant(*expr.args[0])) return std::nullopt;
  const std::string& wanted = without_text_casts(*expr.args[second ? 1 : 0]).text;
  const BoundExpr& other = *expr.args[second ? 0 : 1];
  if (wanted.size() > kInlineBytesMax || other.type.id == TypeId::kChar) return std::nullopt;
  return strict({gen(other)}, expr.type, [&](const Values& values) {
    Value result;
    result.type = expr.type;
    result.a = gen_test([&](Block fails) {
      Block fits = b_.new_block();
      Reg size = constant(Type::kI64, static_cast<int64_t>(wanted.size()));
      b_.branch(b_.compare(Op::kEq, values[0].b, size), fits, fails);
      b_.set_block(fits);
      gen_bytes_equal(values[0].a, 0, wanted, fails);
    });
    if (expr.builtin->op == BuiltinOp::kNotEqual) result.a = b_.logical_not(result.a);
    return result;
  });
}

// LIKE of a constant pattern. In UTF-8 no character is found inside of another one, so bytes decide.
std::optional<Value> Generator::gen_like(const BoundExpr& expr) {
  if (expr.args.size() != 2 || !is_text_constant(*expr.args[1])) return std::nullopt;
  std::optional<Pattern> pattern = split_pattern(without_text_casts(*expr.args[1]).text);
  if (!pattern.has_value()) return std::nullopt;
  // what lies in a cell of char(n) is as long as its padding says: any test fits
  bool starts = !pattern->open_start && !pattern->parts.empty();
  bool ends = !pattern->open_end && !pattern->parts.empty();
  size_t middle = pattern->parts.size() - (starts ? 1 : 0) - (ends && !(starts && pattern->parts.size() == 1) ? 1 : 0);
  if (pattern->parts.empty() || middle > 1 || (middle == 1 && (starts || ends))) return std::nullopt;
  for (const auto& part : pattern->parts)
    if (part.size() > kInlineBytesMax && middle == 0) return std::nullopt;
  return strict({gen(*expr.args[0])}, expr.type, [&](const Values& values) {
    Value result;
    result.type = expr.type;
    Reg data = values[0].a, size = values[0].b;
    if (middle == 1) {
      const std::string& part = pattern->parts[0];
      result.a = b_.call(k_rt_text_contains,
                         {data, size, b_.data(part), constant(Type::kI64, static_cast<int64_t>(part.size()))});
      return result;
    }
    bool exact = starts && ends && pattern->parts.size() == 1;
    int64_t least = 0;
    for (const auto& part : pattern->parts) least += static_cast<int64_t>(part.size());
    result.a = gen_test([&](Block fails) {
      Block fits = b_.new_block();
      b_.branch(b_.compare(exact ? Op::kEq : Op::kGe, size, constant(Type::kI64, least)), fits, fails);
      b_.set_block(fits);
      if (starts) gen_bytes_equal(data, 0, pattern->parts.front(), fails);
      if (!ends || exact) return;
      const std::string& part = pattern->parts.back();
      gen_bytes_equal(b_.index(data, size, 1), -static_cast<int64_t>(part.size()), part, fails);
    });
    return result;
  });
}

// substr(text, 1, n), left(text, n): the text itself, cut. ascii().
std::optional<Value> Generator::gen_text_function(const BoundExpr& expr) {
  std::string_view name = expr.builtin->name;
  if (name == "like") return gen_like(expr);
  if (name == "ascii") {
    return strict({gen(*expr.args[0])}, expr.type, [&](const Values& values) {
      Value result;
      result.type = expr.type;
      result.a = b_.call(k_rt_text_ascii, {values[0].a, values[0].b});
      return result;
    });
  }
  auto number = [&](size_t i) -> std::optional<int64_t> {
    const BoundExpr& e = *expr.args[i];
    if (e.kind != BoundKind::kConst || e.value.null || !is_integer(e.type.id)) return std::nullopt;
    return e.value.lo;
  };
  std::optional<int64_t> count;
  bool substring = name == "substr" || name == "substring";
  if (substring && expr.args.size() == 3 && is_integer(expr.args[1]->type.id) && number(1) == 1) count = number(2);
  if (name == "left" && expr.args.size() == 2) count = number(1);
  if (!count.has_value() || *count < 0 || !is_string(expr.type.id) || expr.args[0]->type.id == TypeId::kChar)
    return std::nullopt;
  return strict({gen(*expr.args[0])}, expr.type, [&](const Values& values) {
    Value result = values[0];
    result.type = expr.type;
    result.b = b_.call(k_rt_text_prefix, {values[0].a, values[0].b, constant(Type::kI64, *count)});
    return result;
  });
}

}  // namespace scyper::query
