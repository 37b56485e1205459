#pragma once

#include <algorithm>

#include <bit>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "storage/cell.h"
#include "storage/change_log.h"
#include "storage/row_change.h"
#include "storage/table.h"

// What the table tests share: schemas and values that own their bytes.
namespace scyper::storage {

inline std::string plain_text(const SqlType& type, const Datum& value) {
  if (is_string(type.id)) return {value.data(), value.size()};
  return std::to_string(value.lo);
}

// Every type; a nullable unique index, a plain one with a descending string, a unique one on a fixed pair, a partial
// one.
inline TableSchema wide_schema(Layout layout) {
  TableSchema schema;
  schema.id = TableId(7);
  schema.name = "wide";
  schema.layout = layout;
  schema.columns = {
      {"id", make_type(TypeId::kInt4), true},
      {"flag", make_type(TypeId::kBool), false},
      {"small", make_type(TypeId::kInt2), false},
      {"big", make_type(TypeId::kInt8), true},
      {"ratio", make_type(TypeId::kFloat8), false},
      {"price", make_numeric(6, 2), true},
      {"tax", make_numeric(4, 4), false},
      {"wide", make_numeric(30, 4), false},
      {"free", make_numeric(0, 0), false},
      {"code", make_string(TypeId::kChar, 2), true},
      {"name", make_string(TypeId::kVarchar, 16), false},
      {"note", make_type(TypeId::kText), false},
      {"day", make_type(TypeId::kDate), false},
      {"at", make_type(TypeId::kTimestamp), true},
      {"marks", make_array(make_type(TypeId::kInt4)), false},
      {"tags", make_array(make_type(TypeId::kText)), true},
      {"amount", make_numeric(12, 2), true},
  };
  schema.indexes = {
      {IndexId(1), "wide_pkey", {0}, {}, true, true},
      {IndexId(2), "wide_name", {10, 2}, {true, false}, false, false},
      {IndexId(3), "wide_note_key", {11}, {}, true, false},
      {IndexId(4), "wide_pair_key", {3, 9}, {}, true, false},
      {IndexId(5), "wide_partial", {1, 10}, {false, true}, false, false, false, true},
  };
  return schema;
}

// The same without arrays, which are not frozen.
inline TableSchema flat_schema(Layout layout) {
  TableSchema schema = wide_schema(layout);
  schema.columns[14].type = make_type(TypeId::kInt8);
  schema.columns[15].type = make_type(TypeId::kText);
  return schema;
}

// A row of the model: strings and arrays are held here, datums() points into it.
struct ModelValue {
  bool null = true;
  __int128 number = 0;
  int32_t scale = 0;
  std::string text;
  std::vector<ModelValue> elements;
  std::vector<Datum> element_data;
  ArrayValue array;

  Datum datum(const SqlType& type) {
    if (null) return null_datum();
    if (is_string(type.id)) return string_datum(text.data(), text.size());
    if (type.id != TypeId::kArray) return int128_datum(number, scale);
    const SqlType element = element_of(type);
    element_data.clear();
    for (ModelValue& value : elements) element_data.push_back(value.datum(element));
    array = {static_cast<int32_t>(elements.size()), 0, 1, type.element, element_data.data()};
    Datum datum;
    datum.lo = reinterpret_cast<int64_t>(&array);
    datum.null = 0;
    return datum;
  }
};

using ModelRow = std::vector<ModelValue>;

// Inserts, updates and deletes of whole rows, as generated code does them.
inline ChangeResult insert_row(TablePartition* partition, ChangeLog* log, const std::vector<Datum>& values, Tid* tid) {
  *tid = insert_begin(partition, log);
  if (*tid == kNoTid) return log->last_result();
  for (uint32_t i = 0; i < values.size(); ++i) {
    const ChangeResult result = store_datum(partition, log, *tid, i, values[i]);
    if (result == ChangeResult::kOk) continue;
    insert_abandon(partition, *tid, log);
    return result;
  }
  return insert_finish(partition, *tid, log);
}

inline ChangeResult update_row(TablePartition* partition, ChangeLog* log, Tid tid, const UpdateDescriptor& descriptor,
                               const std::vector<Datum>& values) {
  const ChangeLog::Mark mark = log->mark();
  ChangeResult result = update_begin(partition, tid, &descriptor, log);
  if (result != ChangeResult::kOk) return result;
  for (size_t i = 0; i < descriptor.cells.size(); ++i) {
    result = store_datum(partition, log, tid, descriptor.cells[i].column, values[i]);
    if (result == ChangeResult::kOk) continue;
    log->rollback_to(mark);
    return result;
  }
  return update_finish(partition, tid, &descriptor, log);
}

struct TestStore {
  explicit TestStore(size_t budget_bytes = size_t{512} << 20, ChangeLog::Options options = {},
                     PageMode pages = PageMode::kSmall) {
    arena = *Arena::create(size_t{2} << 30, budget_bytes, pages);
    log = *ChangeLog::create(arena.get(), options);
  }
  std::unique_ptr<Table> table(TableSchema schema, uint32_t partitions = 1) {
    return *Table::create(std::move(schema), partitions, arena.get());
  }
  std::unique_ptr<Arena> arena;
  std::unique_ptr<ChangeLog> log;
};

}  // namespace scyper::storage
