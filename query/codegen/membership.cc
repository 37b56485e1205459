#include "codegen/membership.h"

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

void branch_among(ir::Builder& b, ir::Reg x, const int64_t* first, const int64_t* end, ir::Block if_true,
                  ir::Block if_false) {
  const size_t count = static_cast<size_t>(end - first);
  const uint64_t span = static_cast<uint64_t>(end[-1]) - static_cast<uint64_t>(first[0]);
  if (count > 2 && (span < kMaskBits || span == count - 1)) {
    ir::Reg distance = b.binary(Op::kSub, x, b.constant(Type::kI64, *first));
    if (span == count - 1)
      return b.branch(b.compare(Op::kULt, distance, b.constant(Type::kI64, static_cast<int64_t>(count))), if_true,
                      if_false);
    uint64_t mask = 0;
    for (const int64_t* member = first; member < end; member++)
      mask |= uint64_t{1} << (static_cast<uint64_t>(*member) - static_cast<uint64_t>(*first));
    ir::Block near = b.new_block();
    b.branch(b.compare(Op::kULt, distance, b.constant(Type::kI64, kMaskBits)), near, if_false);
    b.set_block(near);
    ir::Reg shifted = b.binary(Op::kLShr, b.constant(Type::kI64, static_cast<int64_t>(mask)), distance);
    ir::Reg bit = b.binary(Op::kAnd, shifted, b.constant(Type::kI64, 1));
    return b.branch(b.compare(Op::kNe, bit, b.constant(Type::kI64, 0)), if_true, if_false);
  }
  if (count > kComparisonsMax) {
    const int64_t* middle = first + count / 2;
    ir::Block below = b.new_block(), above = b.new_block();
    b.branch(b.compare(Op::kLt, x, b.constant(Type::kI64, *middle)), below, above);
    b.set_block(below);
    branch_among(b, x, first, middle, if_true, if_false);
    b.set_block(above);
    return branch_among(b, x, middle, end, if_true, if_false);
  }
  for (const int64_t* member = first; member < end; member++) {
    ir::Block next = member + 1 < end ? b.new_block() : if_false;
    b.branch(b.compare(Op::kEq, x, b.constant(Type::kI64, *member)), if_true, next);
    if (member + 1 < end) b.set_block(next);
  }
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
void Generator::gen_membership(const BoundExpr& x, const std::vector<int64_t>& members, Block hit, Block miss,
                               Block null) {
  Value value = gen(x);
  if (value.null != ir::kNoReg) {
    Block known = b_.new_block();
    b_.branch(value.null, null, known, 2);
    b_.set_block(known);
  }
  Reg wide = b_.type_of(value.a) == Type::kI64 ? value.a : b_.convert(Op::kSExt, value.a, Type::kI64);
  branch_among(b_, wide, members.data(), members.data() + members.size(), hit, miss);
}

}  // namespace scyper::query
