#include <cstring>

#include "row_applier_parts.h"
#include "storage/row_apply.h"

// Reading row changes without applying them: before a transaction is acknowledged its redo is known to be readable.
namespace scyper::storage {

std::string RowApplier::last_table() const { return last_target_ == nullptr ? "" : last_target_->table->schema().name; }

// As pass_values(), and the values of fixed width that not every pattern of bits is one of.
Status RowApplier::check_values(const RowValues& values, Input* in) {
  const char* base = in->at;
  pass_values(values, in);
  if (!in->ok) return damaged_redo("values");
  for (const RowValues::Column& column : values.fixed) {
    const CellKind kind = column.access.kind;
    if (kind == CellKind::kDecimal && !is_decimal(base + column.at)) return damaged_redo("numeric");
    if (kind == CellKind::kBool && static_cast<uint8_t>(base[column.at]) > 1) return damaged_redo("boolean");
  }
  return Status();
}

Status RowApplier::check_row(RowChangeKind kind, const char* begin, Input* in, uint32_t allowed) {
  const uint64_t table = in->varint();
  if (!in->ok || table > UINT32_MAX) return damaged_redo("table");
  if (table != last_number_ || last_target_ == nullptr) {
    SCYPER_ASSIGN_OR_RETURN(last_target_, target_of(static_cast<uint32_t>(table)));
    last_number_ = static_cast<uint32_t>(table);
  }
  Target* target = last_target_;
  if (!in->elements.empty()) in->elements.clear();
  UpdatePlan* plan = nullptr;
  if (kind == RowChangeKind::kUpdate) {
    plan = update_plan(target, begin, in);
    if (plan == nullptr) return damaged_redo(in->damage);
    if (plan->values.fixed.empty() && plan->values.varying.empty()) return damaged_redo("an update of no column");
  }
  if (partition_of(target, in, allowed) == nullptr) return damaged_redo(in->damage);
  if (kind != RowChangeKind::kInsert) pass_key(*target, in);
  if (!in->ok) return damaged_redo("key");
  if (kind == RowChangeKind::kDelete) return Status();
  return check_values(plan != nullptr ? plan->values : target->plan->row, in);
}

Status RowApplier::check_sequence(Input* in) const {
  const uint64_t id = in->varint();
  in->varint();
  in->signed64();
  in->bytes(1);
  const bool is_known =
      in->ok && id <= UINT32_MAX && sequences_ && sequences_(SequenceId(static_cast<uint32_t>(id))) != nullptr;
  return is_known ? Status() : damaged_redo("sequence");
}

Status RowApplier::check(std::string_view changes, uint32_t partition, const std::function<void()>& between) {
  Input in{changes.data(), changes.data() + changes.size(), true, nullptr, {}};
  while (in.left() > 0) {
    if (between) [[unlikely]]
      between();
    const char* begin = in.at;
    const auto kind = static_cast<RowChangeKind>(*in.at++);
    switch (kind) {
      case RowChangeKind::kInsert:
      case RowChangeKind::kUpdate:
      case RowChangeKind::kDelete:
        SCYPER_RETURN_IF_ERROR(check_row(kind, begin, &in, partition));
        break;
      case RowChangeKind::kSequence:
        SCYPER_RETURN_IF_ERROR(check_sequence(&in));
        break;
      case RowChangeKind::kDefinition:
        in.string();
        return in.ok && partition == kAnyPartition ? Status() : damaged_redo("definition");
      default:
        return damaged_redo("kind of row change");
    }
  }
  return Status();
}

}  // namespace scyper::storage
