#include <algorithm>

#include "codegen/generator.h"
#include "plan/expressions.h"

namespace scyper::query {

using ir::Op;
using ir::Type;

namespace {

constexpr uint64_t kMaskBits = 64;
constexpr size_t kComparisonsMax = 4;  // one after the other; more are searched
constexpr size_t kGroupsMax = 32;      // of an OR: looking for them is quadratic

bool is_whole(const SqlType& type) { return is_integer(type.id) || type.id == TypeId::kDate; }

// integer expression = constant
bool is_member_test(const BoundExpr& e) {
  if (e.kind != BoundKind::kBuiltin || e.builtin->op != BuiltinOp::kEqual) return false;
  const BoundExpr& member = *e.args[1];
  return is_whole(e.args[0]->type) && is_whole(member.type) && member.kind == BoundKind::kConst &&
         member.value.null == 0;
}

// Of nested ones, too.
void add_alternatives(const BoundExpr& e, std::vector<const BoundExpr*>* alternatives) {
  if (e.kind != BoundKind::kOr) return alternatives->push_back(&e);
  for (const auto& arg : e.args) add_alternatives(*arg, alternatives);
}

}  // namespace

// Equalities of one expression are asked where the first of them stands.
std::vector<LogicTest> find_tests(const BoundExpr& logic) {
  std::vector<LogicTest> tests;
  if (logic.kind == BoundKind::kAnd) {
    for (const auto& arg : logic.args) tests.push_back({arg.get(), {}});
    return tests;
  }
  std::vector<const BoundExpr*> alternatives;
  add_alternatives(logic, &alternatives);
  std::vector<size_t> groups;  // places of those with members
  for (const BoundExpr* e : alternatives) {
    if (!is_member_test(*e) || is_volatile(*e->args[0])) {
      tests.push_back({e, {}});
      continue;
    }
    auto group = std::find_if(groups.begin(), groups.end(),
                              [&](size_t place) { return same(*tests[place].expr->args[0], *e->args[0]); });
    if (group != groups.end()) {
      tests[*group].members.push_back(e->args[1]->value.lo);
      continue;
    }
    if (groups.size() < kGroupsMax) groups.push_back(tests.size());
    tests.push_back({e, {e->args[1]->value.lo}});
  }
  for (LogicTest& test : tests) {
    std::sort(test.members.begin(), test.members.end());
    test.members.erase(std::unique(test.members.begin(), test.members.end()), test.members.end());
  }
  return tests;
}

// Is one integer among sorted constants? A few instructions where they lie close together: code in the quick tier pays
// for each comparison, and the better tier for each block that it has to look at.
void Generator::gen_membership(const LogicTest& test, Block if_true, Block if_false, Block if_null) {
  Value value = gen(*test.expr->args[0]);
  if (value.null != ir::kNoReg) {
    Block known = b_.new_block();
    b_.branch(value.null, if_null, known, 2);
    b_.set_block(known);
  }
  Reg x = b_.type_of(value.a) == Type::kI64 ? value.a : b_.convert(Op::kSExt, value.a, Type::kI64);
  const std::vector<int64_t>& members = test.members;
  gen_among(x, members.data(), members.data() + members.size(), if_true, if_false);
}

void Generator::gen_among(Reg x, const int64_t* first, const int64_t* end, Block if_true, Block if_false) {
  const size_t count = static_cast<size_t>(end - first);
  const uint64_t span = static_cast<uint64_t>(end[-1]) - static_cast<uint64_t>(first[0]);
  if (count > 2 && (span < kMaskBits || span == count - 1)) {
    Reg distance = b_.binary(Op::kSub, x, constant(Type::kI64, *first));
    if (span == count - 1)
      return b_.branch(b_.compare(Op::kULt, distance, constant(Type::kI64, static_cast<int64_t>(count))), if_true,
                       if_false);
    uint64_t mask = 0;
    for (const int64_t* member = first; member < end; member++)
      mask |= uint64_t{1} << (static_cast<uint64_t>(*member) - static_cast<uint64_t>(*first));
    Block near = b_.new_block();
    b_.branch(b_.compare(Op::kULt, distance, constant(Type::kI64, kMaskBits)), near, if_false);
    b_.set_block(near);
    Reg shifted = b_.binary(Op::kLShr, constant(Type::kI64, static_cast<int64_t>(mask)), distance);
    Reg bit = b_.binary(Op::kAnd, shifted, constant(Type::kI64, 1));
    return b_.branch(b_.compare(Op::kNe, bit, constant(Type::kI64, 0)), if_true, if_false);
  }
  if (count > kComparisonsMax) {
    const int64_t* middle = first + count / 2;
    Block below = b_.new_block(), above = b_.new_block();
    b_.branch(b_.compare(Op::kLt, x, constant(Type::kI64, *middle)), below, above);
    b_.set_block(below);
    gen_among(x, first, middle, if_true, if_false);
    b_.set_block(above);
    return gen_among(x, middle, end, if_true, if_false);
  }
  for (const int64_t* member = first; member < end; member++) {
    Block next = member + 1 < end ? b_.new_block() : if_false;
    b_.branch(b_.compare(Op::kEq, x, constant(Type::kI64, *member)), if_true, next);
    if (member + 1 < end) b_.set_block(next);
  }
}

}  // namespace scyper::query
