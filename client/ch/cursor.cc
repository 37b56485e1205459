#include "base/check.h"
#include "client/ch/generator.h"
#include "reference_data.h"
#include "row.h"

namespace scyper::ch {

RowCursor::RowCursor(const Generator& generator, Table table, int32_t warehouse)
    : generator_(generator),
      table_(table),
      warehouse_(warehouse),
      columns_(table_info(table).columns.size()),
      values_(columns_ * kBatchRows),
      bytes_(kMaxRowBytes * kBatchRows) {
  CHECK(table_info(table).warehouse_column < 0 || (warehouse >= 1 && warehouse <= generator.scale().warehouses));
  if (table == Table::kNewOrder) next_ = generator.scale().delivered_per_district() + 1;
  if (table == Table::kRegion || table == Table::kNation || table == Table::kSupplier) next_ = 0;
}

RowBatch RowCursor::next() {
  Generator::Row row(values_.data(), bytes_.data());
  size_t rows = 0;
  while (rows < kBatchRows && produce(row)) ++rows;
  CHECK(row.datums() == values_.data() + rows * columns_);
  return {values_.data(), rows, columns_};
}

void RowCursor::load_district() {
  if (state_district_ == district_) return;
  state_ = generator_.district_state(warehouse_, district_);
  state_district_ = district_;
}

// Moves on to the next district after `rows_per_district`. False at the end of the warehouse.
bool RowCursor::enter(int32_t rows_per_district) {
  if (next_ > rows_per_district) {
    ++district_;
    next_ = table_ == Table::kNewOrder ? generator_.scale().delivered_per_district() + 1 : 1;
  }
  return district_ <= kDistricts && next_ <= rows_per_district;
}

bool RowCursor::produce(Generator::Row& row) {
  const Scale& scale = generator_.scale();
  switch (table_) {
    case Table::kDistrict:
      if (!enter(1)) return false;
      load_district();
      generator_.district_row(warehouse_, district_, state_, row);
      break;
    case Table::kCustomer:
      if (!enter(scale.customers_per_district)) return false;
      load_district();
      generator_.customer_row(warehouse_, district_, next_, state_, row);
      break;
    case Table::kHistory:
      if (!enter(scale.customers_per_district)) return false;
      generator_.history_row(warehouse_, district_, next_, row);
      break;
    case Table::kOrders:
      if (!enter(scale.orders_per_district)) return false;
      load_district();
      generator_.order_row(warehouse_, district_, next_, state_, row);
      break;
    case Table::kNewOrder:
      if (!enter(scale.orders_per_district)) return false;
      row.integer(next_);
      row.integer(district_);
      row.integer(warehouse_);
      break;
    case Table::kOrderLine:
      return produce_line(row);
    default:
      return produce_shared(row);
  }
  ++next_;
  return true;
}

bool RowCursor::produce_line(Generator::Row& row) {
  if (line_ == 1) {
    if (!enter(generator_.scale().orders_per_district)) return false;
    order_ = generator_.order(warehouse_, district_, next_);
  }
  generator_.line_row(warehouse_, district_, next_, order_, line_, row);
  if (++line_ > order_.lines) {
    line_ = 1;
    ++next_;
  }
  return true;
}

// Tables that are not cut into districts: the shared ones, warehouse and stock.
bool RowCursor::produce_shared(Generator::Row& row) {
  const int32_t end = static_cast<int32_t>(generator_.row_count(table_, warehouse_));
  const bool from_zero = table_ == Table::kRegion || table_ == Table::kNation || table_ == Table::kSupplier;
  if (next_ > (from_zero ? end - 1 : end)) return false;
  int64_t paid_cents = 0;
  switch (table_) {
    case Table::kRegion:
      generator_.region_row(next_, row);
      break;
    case Table::kNation:
      generator_.nation_row(next_, row);
      break;
    case Table::kSupplier:
      generator_.supplier_row(next_, row);
      break;
    case Table::kItem:
      generator_.item_row(next_, row);
      break;
    case Table::kStock:
      generator_.stock_row(warehouse_, next_, row);
      break;
    default:
      CHECK(table_ == Table::kWarehouse);
      for (int32_t d = 1; d <= kDistricts; ++d) paid_cents += generator_.paid_cents(warehouse_, d);
      generator_.warehouse_row(warehouse_, paid_cents, row);
  }
  ++next_;
  return true;
}

}  // namespace scyper::ch
