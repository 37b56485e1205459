#include "query/program.h"

#include <algorithm>
#include <cstdint>
#include <unordered_set>

#include "base/invariant.h"
#include "compile/program_parts.h"
#include "query/deferred_checks.h"
#include "query/definitions.h"
#include "query/transaction_number.h"
#include "runtime/memory.h"
#include "runtime/team.h"
#include "runtime/windows.h"
#include "types/big_number.h"

namespace scyper::query {

Program::Program(std::unique_ptr<ProgramParts> parts) : parts_(std::move(parts)) {}
Program::~Program() = default;

const std::vector<ResultColumn>& Program::columns() const { return parts_->columns; }
const std::vector<SqlType>& Program::parameter_types() const { return parts_->parameter_types; }
const Footprint& Program::footprint() const { return parts_->footprint; }
std::string_view Program::command() const { return parts_->command; }
uint64_t Program::catalog_version() const { return parts_->catalog_version; }

namespace {
void note_temporary_rows(const ProgramParts& parts) noexcept {
  if (parts.has_temporary_rows && Definitions::current != nullptr) [[unlikely]]
    Definitions::current->note_temporary_rows();
}

// Where the run may change to better code that comes while it lasts.
void set_better_code(const jit::TieredCode& code, ExecContext* context) noexcept {
  context->better_code = code.better_code();
  if (code.swap_target()->load(std::memory_order_relaxed) != nullptr) context->swap_passes = code.next_passes();
}
}  // namespace

Outcome Program::run(ExecContext* context, const Datum* arguments) const noexcept {
  TransactionNumber::begin_program();
  context->program = this;
  context->tables = const_cast<storage::TablePartition***>(parts_->table_partitions.data());
  context->updates = parts_->updates.data();
  context->depth = 0;
  context->portals = nullptr;
  if (context->deferred == nullptr || !context->deferred->is_block()) context->unnamed_portals = 0;
  if (!context->pins.empty()) context->pins.clear();
  forget_scans(context);
  context->affected_rows = 0;
  context->swaps = 0;
  set_better_code(*parts_->code, context);
  const NumberMemory numbers(scratch_arena(context));
  const ZoneScope zone(parts_->zone.get());
  const RunningProgram running(this);
  note_temporary_rows(*parts_);
  return static_cast<Outcome>(parts_->code->run(context, arguments, nullptr));
}

Outcome Program::run_shared(ExecContext* context, const Datum* arguments, uint32_t threads,
                            size_t scratch_bytes) const noexcept {
  if (threads <= 1 || !parts_->resources.can_share) return run(context, arguments);
  return run_in_team(*this, context, arguments, threads, scratch_bytes);
}

int32_t Program::run_nested(ExecContext* context, const Datum* arguments, Datum* results) const noexcept {
  if (is_stack_low()) [[unlikely]]
    return context->fail("54001", "stack depth limit exceeded");
  const Program* caller = context->program;
  storage::TablePartition*** tables = context->tables;
  context->program = this;
  context->tables = const_cast<storage::TablePartition***>(parts_->table_partitions.data());
  const storage::UpdateDescriptor* const* updates = context->updates;
  context->updates = parts_->updates.data();
  context->depth++;
  const auto* better_code = context->better_code;
  const int64_t passes = context->swap_passes;
  set_better_code(*parts_->code, context);
  const ZoneScope zone(parts_->sets_zone ? parts_->zone.get() : ZoneScope::current);
  const RunningProgram running(this);
  note_temporary_rows(*parts_);
  int32_t outcome = parts_->code->run(context, arguments, results);
  context->depth--;
  context->better_code = better_code;
  context->swap_passes = passes;
  context->program = caller;
  context->tables = tables;
  context->updates = updates;
  return outcome;
}

const storage::UpdateDescriptor* Program::update_descriptor(int64_t number) const noexcept {
  return parts_->resources.updates[static_cast<size_t>(number)].get();
}
const storage::Table& Program::table(size_t number) const noexcept { return *parts_->resources.tables[number]; }
const ChunkOpening& Program::opening(int64_t number) const noexcept {
  return parts_->resources.openings[static_cast<size_t>(number)];
}
const Program& Program::callee(size_t number) const noexcept { return *parts_->callees[number]; }

// Without recursion: routines may call each other as deeply as there are some.
void visit_programs(const Program& program, std::vector<const Program*>* seen) {
  std::unordered_set<const Program*> known(seen->begin(), seen->end());
  std::vector<const Program*> waiting{&program};
  while (!waiting.empty()) {
    const Program* next = waiting.back();
    waiting.pop_back();
    if (!known.insert(next).second) continue;
    seen->push_back(next);
    const auto& callees = next->parts().callees;
    waiting.insert(waiting.end(), callees.rbegin(), callees.rend());
  }
}

bool reads_others(const Program& program) {
  std::vector<const Program*> all;
  visit_programs(program, &all);
  ptrdiff_t own = 0, called = 0;
  for (const Program* one : all) {
    const auto& tables = one->parts().resources.tables;
    (one == &program ? own : called) += std::count_if(tables.begin(), tables.end(), [](const auto& table) {
      return table->schema().scheme != storage::PartitionScheme::kShared;
    });
  }
  return own > 1 || called > 0;
}

}  // namespace scyper::query
