#include "query/program.h"

#include "base/check.h"
#include "compile/program_parts.h"
#include "runtime/team.h"

namespace scyper::query {

namespace {
// Each level needs a native frame of some KB: far below the 8 MB of a thread's stack.
constexpr uint32_t kCallDepthMax = 256;
}  // namespace

Program::Program(std::unique_ptr<ProgramParts> parts) : parts_(std::move(parts)) {}
Program::~Program() = default;

const std::vector<ResultColumn>& Program::columns() const { return parts_->columns; }
const std::vector<SqlType>& Program::parameter_types() const { return parts_->parameter_types; }
const Footprint& Program::footprint() const { return parts_->footprint; }
std::string_view Program::command() const { return parts_->command; }
uint64_t Program::catalog_version() const { return parts_->catalog_version; }

Outcome Program::run(ExecContext* context, const Datum* arguments) const noexcept {
  context->program = this;
  context->tables = const_cast<storage::TablePartition***>(parts_->table_partitions.data());
  context->updates = parts_->updates.data();
  context->depth = 0;
  context->portals = nullptr;
  context->unnamed_portals = 0;
  if (!context->pins.empty()) context->pins.clear();
  context->affected_rows = 0;
  return static_cast<Outcome>(parts_->code->run(context, arguments, nullptr));
}

Outcome Program::run_shared(ExecContext* context, const Datum* arguments, uint32_t threads,
                            size_t scratch_bytes) const noexcept {
  if (threads <= 1 || !parts_->resources.can_share) return run(context, arguments);
  return run_in_team(*this, context, arguments, threads, scratch_bytes);
}

int32_t Program::run_nested(ExecContext* context, const Datum* arguments, Datum* results) const noexcept {
  if (context->depth >= kCallDepthMax) return context->fail("54001", "stack depth limit exceeded");
  const Program* caller = context->program;
  storage::TablePartition*** tables = context->tables;
  context->program = this;
  context->tables = const_cast<storage::TablePartition***>(parts_->table_partitions.data());
  const storage::UpdateDescriptor* const* updates = context->updates;
  context->updates = parts_->updates.data();
  context->depth++;
  int32_t outcome = parts_->code->run(context, arguments, results);
  context->depth--;
  context->program = caller;
  context->tables = tables;
  context->updates = updates;
  return outcome;
}

const storage::UpdateDescriptor* Program::update_descriptor(int64_t number) const noexcept {
  return parts_->resources.updates[static_cast<size_t>(number)].get();
}
const storage::Table& Program::table(size_t number) const noexcept { return *parts_->resources.tables[number]; }
const Program& Program::callee(size_t number) const noexcept { return *parts_->callees[number]; }

}  // namespace scyper::query
