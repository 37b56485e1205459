#include <algorithm>
#include <cstdio>
#include <ctime>
#include <vector>

#include "jit/jit.h"
#include "jit/random_program.h"
#include "vm/vm.h"

// What compiling costs and what it gains: bench_query_jit. Least of several runs, one thread.
namespace scyper::query::jit {
namespace {

using namespace ir;

// Processor time of this thread, which is the only one: other load on the machine disturbs less than with a wall clock.
double now_us() {
  timespec now;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) * 1e6 + static_cast<double>(now.tv_nsec) / 1e3;
}
double microseconds_since(double start) { return now_us() - start; }
double least(const std::vector<double>& values) { return *std::min_element(values.begin(), values.end()); }

int32_t note_row(void*, int64_t row) noexcept { return row < 0 ? 1 : 0; }
const External kNoteRow{
    .name = "note_row", .address = reinterpret_cast<void*>(&note_row), .result = Type::kI32, .words = 2};

// for (row = 0; row < arguments[0]; ++row): `units` times { if (column[row] < limit) sum = sum + column[row] * k,
// checked }, with a call that can fail and a 128-bit sum in every eighth. arguments[1..8]: columns.
Function scan_program(int units) {
  Builder b("scan");
  const auto i64 = [&](int64_t value) { return b.constant(Type::kI64, value); };
  const Reg row = b.new_variable(Type::kI64);
  std::vector<Reg> sums;
  for (int i = 0; i < units; ++i) sums.push_back(b.new_variable(i % 8 == 7 ? Type::kI128 : Type::kI64));
  const Block overflow = b.new_block(), failed = b.new_block(), head = b.new_block(), body = b.new_block();
  const Block done = b.new_block();
  const Reg rows = b.load(Type::kI64, kArgumentsReg);
  std::vector<Reg> columns;
  for (int i = 0; i < 8; ++i) columns.push_back(b.load(Type::kPtr, kArgumentsReg, 8 + i * 8));
  b.jump(head);
  b.set_block(head);
  b.branch(b.compare(Op::kLt, row, rows), body, done, 1);
  b.set_block(body);
  for (int i = 0; i < units; ++i) {
    const Block take = b.new_block(), next = b.new_block();
    const Reg value = b.load(Type::kI64, b.index(columns[static_cast<size_t>(i % 8)], row, 8));
    const Reg sum = sums[static_cast<size_t>(i)];
    b.branch(b.compare(Op::kLt, value, i64(1000 - i)), take, next);
    b.set_block(take);
    const Reg product = b.binary_checked(Op::kMulChecked, value, i64(3 + i), overflow);
    const bool wide = b.type_of(sum) == Type::kI128;
    b.assign(sum, b.binary_checked(Op::kAddChecked, sum, wide ? b.convert(Op::kSExt, product, Type::kI128) : product,
                                   overflow));
    if (wide) {
      const Block ok = b.new_block();
      b.branch(b.compare(Op::kEq, b.call(kNoteRow, {kContextReg, row}), b.constant(Type::kI32, 0)), ok, failed, 1);
      b.set_block(ok);
    }
    b.jump(next);
    b.set_block(next);
  }
  b.assign(row, b.binary(Op::kAdd, row, i64(1)));
  b.jump(head);
  b.set_block(done);
  for (int i = 0; i < units; ++i) b.store(kResultsReg, i * 16, sums[static_cast<size_t>(i)]);
  b.ret_constant(0);
  b.set_block(overflow);
  b.ret_constant(1);
  b.set_block(failed);
  b.ret_constant(2);
  return b.finish();
}

void measure_compile(Jit& jit, const char* kind, const Function& function) {
  std::vector<double> verify_us, prepare_us, times[kTierCount];
  CompileTimes last[kTierCount];
  size_t bytes[kTierCount] = {}, vm_bytes = 0;
  for (int round = 0; round < 15; ++round) {
    auto start = now_us();
    if (!verify(function).empty()) return;
    verify_us.push_back(microseconds_since(start));
    start = now_us();
    const auto vm = vm::VmFunction::prepare(function);
    prepare_us.push_back(microseconds_since(start));
    vm_bytes = vm->size_bytes();
    for (size_t tier = 0; tier < kTierCount; ++tier) {
      start = now_us();
      const auto code = jit.compile(function, static_cast<Tier>(tier));
      times[tier].push_back(microseconds_since(start));
      if (!code.ok()) return;
      last[tier] = (*code)->times;
      bytes[tier] = (*code)->code_bytes;
    }
  }
  printf("%-7s %5zu instr | verify %5.0f us | vm %5.0f us %6zu B |", kind, function.instruction_count(),
         least(verify_us), least(prepare_us), vm_bytes);
  for (size_t tier = 0; tier < kTierCount; ++tier) {
    const CompileTimes& t = last[tier];
    printf(" %s %6.0f us %6zu B (translate %u optimize %u generate %u link %u) |",
           std::string(name_of(static_cast<Tier>(tier))).c_str(), least(times[tier]), bytes[tier], t.translate_us,
           t.optimize_us, t.generate_us, t.link_us);
  }
  printf("\n");
}

void measure_run(Jit& jit, int units) {
  const Function function = scan_program(units);
  constexpr int64_t kRows = 100000;
  std::vector<int64_t> column(kRows);
  for (int64_t i = 0; i < kRows; ++i) column[static_cast<size_t>(i)] = i * 7919 % 1000;
  int64_t arguments[9] = {kRows};
  for (int i = 1; i < 9; ++i) arguments[i] = reinterpret_cast<int64_t>(column.data());
  alignas(16) std::vector<char> results(static_cast<size_t>(units) * 16);
  const auto vm = vm::VmFunction::prepare(function);
  const auto quick = jit.compile(function, Tier::kQuick);
  const auto better = jit.compile(function, Tier::kBetter);
  if (!quick.ok() || !better.ok()) return;
  const auto measure = [&](const char* mode, auto&& run) {
    std::vector<double> times;
    for (int round = 0; round < 7; ++round) {
      const auto start = now_us();
      if (run() != 0) printf("failed\n");
      times.push_back(microseconds_since(start) * 1000 / static_cast<double>(kRows * units));
    }
    printf("%2d units: %-12s %6.2f ns per unit\n", units, mode, least(times));
  };
  measure("interpreter", [&] { return vm->run(nullptr, arguments, results.data()); });
  measure("quick", [&] { return (*quick)->entry(nullptr, arguments, results.data()); });
  measure("better", [&] { return (*better)->entry(nullptr, arguments, results.data()); });
}

int run() {
  auto start = now_us();
  auto jit = Jit::create({});
  if (!jit.ok()) return 1;
  printf("Jit::create %.0f us\n", microseconds_since(start));
  const Function first = scan_program(1);
  for (Tier tier : {Tier::kQuick, Tier::kBetter}) {
    start = now_us();
    if (!(*jit)->compile(first, tier).ok()) return 1;
    printf("first compile, %s: %.0f us\n", std::string(name_of(tier)).c_str(), microseconds_since(start));
  }
  for (int units : {1, 11, 48, 162}) measure_compile(**jit, "scan", scan_program(units));
  Random random(42);
  for (uint32_t size : {20, 80, 300}) measure_compile(**jit, "random", random_program(random, size));
  for (int units : {1, 8, 32}) measure_run(**jit, units);
  return 0;
}

}  // namespace
}  // namespace scyper::query::jit

int main() { return scyper::query::jit::run(); }
