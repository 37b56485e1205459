#include "storage/column_values.h"

#include <utility>

#include "base/check.h"
#include "row_change_format.h"
#include "storage/pauses.h"

namespace scyper::storage {
namespace {

constexpr uint16_t kAllRows = 0xffff;  // in place of the partition
constexpr uint32_t kCellBytesMax = 24;
constexpr size_t kRowBytesAbout = 32;  // of a value with all around it

// As an insert of a row with only this column, which may be NULL.
void append_row(TableId table, uint16_t partition, const SqlType& type, const Datum& value, std::string* out) {
  *out += row_change_prefix(RowChangeKind::kInsert, table, {});
  out->append(reinterpret_cast<const char*>(&partition), sizeof(partition));
  out->push_back(value.null != 0 ? 1 : 0);
  const CellKind kind = cell_kind_of(type);
  const uint32_t width = fixed_value_bytes(kind);
  if (value.null != 0) {
    out->append(width, '\0');
    return;
  }
  if (width > 0) {
    char cell[kCellBytesMax] = {};
    char bytes[kCellBytesMax];
    write_plain_cell(kind, cell, value);
    put_fixed(bytes, cell, width);
    out->append(bytes, width);
    return;
  }
  if (holds_bytes(type.id)) {
    char size[kVarintBytesMax + kVarintSlackBytes];
    out->append(size, static_cast<size_t>(put_varint(size, value.size()) - size));
    if (value.size() > 0) out->append(value.data(), value.size());
    return;
  }
  const auto& array = *reinterpret_cast<const ArrayValue*>(value.lo);
  const size_t begin = out->size();
  out->resize(begin + canonical_array_bytes_max(type, array) + kVarintSlackBytes);
  const char* end = put_canonical_array(out->data() + begin, type, array);
  out->resize(static_cast<size_t>(end - out->data()));
}

Status damaged_values(const char* what) {
  return sql_error("XX001", std::string("damaged redo record: values of a column: ") + what);
}

// Takes the values of one column apart.
class Reader {
 public:
  Reader(const Table& table, const SqlType& type, bool may_lack)
      : table_(table), type_(type), may_lack_(may_lack), rows_(table.partition_count(), 0) {
    one_.id = table.schema().id;
    one_.columns.push_back({"", type, false});
  }

  Status read(std::string_view bytes) {
    RowChangeReader reader(bytes, [this](TableId id) { return id == one_.id ? &one_ : nullptr; });
    RowChange change;
    while (true) {
      SCYPER_ASSIGN_OR_RETURN(const bool more, reader.next(&change));
      if (!more) break;
      Pauses::step_if_any();
      SCYPER_RETURN_IF_ERROR(add(change));
    }
    return check_rows();
  }
  ColumnValues take() { return std::move(read_); }

 private:
  Status add(const RowChange& change) {
    if (change.kind != RowChangeKind::kInsert || change.values.size() != 1 || is_for_all_)
      return damaged_values("form");
    const Datum& value = change.values[0];
    if (!fits(value)) return damaged_values("range");
    if (change.partition == kAllRows) {
      if (!read_.values.empty() || last_ > 0) return damaged_values("form");
      is_for_all_ = true;
      keep(value);
      return Status();
    }
    if (change.partition >= rows_.size() || change.partition < last_) return damaged_values("partition");
    last_ = change.partition;
    ++rows_[last_];
    if (!is_lacking(last_)) keep(value);
    return Status();
  }
  bool fits(const Datum& value) const {
    if (value.null != 0 || cell_kind_of(type_) != CellKind::kDecimal) return true;
    char cell[kCellBytesMax];
    write_plain_cell(CellKind::kDecimal, cell, value);
    return is_decimal(cell);
  }
  bool is_lacking(uint32_t partition) const { return may_lack_ && table_.partition(partition)->live_tuples == 0; }
  void keep(const Datum& value) {
    read_.values.push_back(value);
    if (value.null != 0 || type_.id != TypeId::kArray) return;
    const auto& array = *reinterpret_cast<const ArrayValue*>(value.lo);  // the reader forgets it
    ColumnValues::Array& kept = read_.arrays.emplace_back();
    kept.value = array;
    kept.elements.assign(array.elements, array.elements + array.size);
    kept.value.elements = kept.elements.data();
    read_.values.back().lo = reinterpret_cast<int64_t>(&kept.value);
  }
  Status check_rows() const {
    for (uint32_t i = 0; !is_for_all_ && i < rows_.size(); ++i) {
      if (rows_[i] != table_.partition(i)->live_tuples && !is_lacking(i)) return damaged_values("number of rows");
    }
    return Status();
  }

  const Table& table_;
  const SqlType type_;
  const bool may_lack_;
  TableSchema one_;
  std::vector<uint64_t> rows_;  // by partition
  uint32_t last_ = 0;
  bool is_for_all_ = false;
  ColumnValues read_;
};

}  // namespace

void append_column_values(const Table& table, const SqlType& type, std::span<const Datum> values, std::string* out) {
  const TableId id = table.schema().id;
  if (values.size() == 1) return append_row(id, kAllRows, type, values[0], out);
  CHECK(values.size() == table.live_tuples());
  // growing while it is filled would copy it at one go, again and again
  size_t bytes = 0;
  for (const Datum& value : values) {
    Pauses::step_if_any();
    bytes += kRowBytesAbout + (value.null == 0 && holds_bytes(type.id) ? value.size() : 0);
  }
  out->reserve(out->size() + bytes);
  size_t row = 0;
  for (uint32_t partition = 0; partition < table.partition_count(); ++partition) {
    for (uint64_t left = table.partition(partition)->live_tuples; left > 0; --left) {
      Pauses::step_if_any();
      append_row(id, static_cast<uint16_t>(partition), type, values[row++], out);
    }
  }
}

StatusOr<ColumnValues> read_column_values(std::string_view bytes, const Table& table, const SqlType& type,
                                          bool may_lack) {
  Reader reader(table, type, may_lack);
  SCYPER_RETURN_IF_ERROR(reader.read(bytes));
  return reader.take();
}

void append_sequence_state(SequenceId id, const SequenceState& state, std::string* out) {
  char change[kSequenceChangeBytesMax];
  out->append(change, static_cast<size_t>(put_sequence_change(change, id, state) - change));
}

}  // namespace scyper::storage
