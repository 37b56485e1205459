#include "row_plan.h"

#include <algorithm>

#include "base/check.h"
#include "storage/table.h"
#include "storage/temporary.h"

namespace scyper::storage {
namespace {

KeyForm key_form_of(const ColumnAccess& access, const SqlType& type) {
  switch (access.kind) {
    case CellKind::kBool:
      return KeyForm::kBool;
    case CellKind::kInt16:
      return KeyForm::kInt16;
    case CellKind::kInt32:
      return KeyForm::kInt32;
    case CellKind::kInt64:
      return KeyForm::kInt64;
    case CellKind::kInt128:
      return KeyForm::kInt128;
    case CellKind::kFloat64:
      return KeyForm::kFloat64;
    case CellKind::kDecimal:
      return KeyForm::kDecimal;
    default:
      if (has_trailer(type.id)) return KeyForm::kTrailed;
      if (kept_as(type.id) == TypeId::kBytea) return KeyForm::kBytea;
      return type.id == TypeId::kChar ? KeyForm::kPadded : KeyForm::kString;
  }
}

StatusOr<IndexPlan> make_index_plan(const IndexDef& index, const TableSchema& schema, const TableLayout& layout) {
  SCYPER_ASSIGN_OR_RETURN(const KeyFormat format, KeyFormat::create(index, schema));
  IndexPlan plan;
  plan.unique = index.unique;
  plan.partial = index.partial;
  plan.key_bytes = format.key_bytes();
  plan.simple = true;
  bool fixed = true;
  for (const KeyColumn& column : format.columns()) {
    const ColumnAccess& access = layout.columns[column.column];
    const KeyForm form = key_form_of(access, column.type);
    plan.columns.push_back(column.column);
    plan.parts.push_back({access, form, column.descending, column.value_bytes});
    plan.nullable = plan.nullable || column.nullable;
    plan.hash_key_bytes += column.fixed_bytes();
    fixed = fixed && column.value_bytes > 0;
    plan.simple = plan.simple && !column.nullable && !column.descending && form <= KeyForm::kInt128;
  }
  if (!fixed) plan.hash_key_bytes = 0;
  return plan;
}

Status check_partition_column(const IndexDef& index, const TableSchema& schema) {
  if (!index.unique || schema.scheme == PartitionScheme::kShared) return absl::OkStatus();
  if (std::find(index.columns.begin(), index.columns.end(), schema.partition_column) != index.columns.end()) {
    return absl::OkStatus();
  }
  return with_detail(sql_error("0A000", "unique constraint on partitioned table must include all partitioning columns"),
                     std::string(index.primary ? "PRIMARY KEY" : "UNIQUE") + " constraint on table \"" + schema.name +
                         "\" lacks column \"" + schema.columns[schema.partition_column].name +
                         "\" which is part of the partition key.");
}

Status check_identity(const TableSchema& schema) {
  bool has_key = schema.has_row_id;
  for (const IndexDef& index : schema.indexes) has_key = has_key || index.primary;
  if (!has_key) return sql_error("XX000", "table \"" + schema.name + "\" has neither a primary key nor row ids");
  for (uint32_t column : identity_columns(schema)) CHECK(schema.columns[column].not_null);
  if (schema.has_row_id) CHECK(schema.columns.back().not_null && schema.columns.back().type.id == TypeId::kInt8);
  return absl::OkStatus();
}

}  // namespace

StatusOr<RowPlan> make_row_plan(const TableSchema& schema, const TableLayout& layout) {
  if (schema.indexes.size() > kMaxIndexesPerTable) {
    return sql_error("54000", "cannot have more than " + std::to_string(kMaxIndexesPerTable) + " indexes on table \"" +
                                  schema.name + "\"");
  }
  RowPlan plan;
  plan.schema = &schema;
  plan.live_offset = layout.live_offset;
  plan.free_offset = layout.free_offset;
  plan.chunk_bytes = layout.chunk_bytes;
  std::vector<uint32_t>& all = plan.all_columns;
  for (uint32_t i = 0; i < schema.columns.size(); ++i) {
    const ColumnPlan column{layout.columns[i], schema.columns[i].type};
    plan.columns.push_back(column);
    if (may_have_payload(column.access.kind)) plan.payloads.push_back(column);
    all.push_back(i);
  }
  SCYPER_RETURN_IF_ERROR(check_identity(schema));
  if (schema.has_row_id) plan.row_id_column = static_cast<int32_t>(schema.columns.size()) - 1;
  plan.row = make_row_values(schema, layout, all);
  plan.key_columns = identity_columns(schema);
  plan.key = make_row_values(schema, layout, plan.key_columns);
  for (const IndexDef& index : schema.indexes) {
    SCYPER_RETURN_IF_ERROR(check_partition_column(index, schema));
    SCYPER_ASSIGN_OR_RETURN(IndexPlan index_plan, make_index_plan(index, schema, layout));
    plan.indexes.push_back(std::move(index_plan));
  }
  plan.is_logged = !is_temporary(schema.id);
  plan.insert_prefix = row_change_prefix(RowChangeKind::kInsert, schema.id, {});
  plan.delete_prefix = row_change_prefix(RowChangeKind::kDelete, schema.id, {});
  return plan;
}

}  // namespace scyper::storage
