#include <time.h>

#include <cstdio>
#include <cstdlib>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "base/random.h"
#include "storage/key.h"
#include "storage/relation_dictionary.h"
#include "table_test_schema.h"

// Nanoseconds per insert, update and delete of TPC-C's stock and order_line rows, as generated code makes them: cells
// written in between by fixed offsets, keys looked up through the hash companion. Transactions of ten changes.
namespace scyper::storage {
namespace {

// Processor time of this thread: other load on the machine does not count (its cache misses do).
double now_ns() {
  timespec now;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) * 1e9 + static_cast<double>(now.tv_nsec);
}

// TPC-C's history: no index, so what remains is the tuple itself, undo and redo.
TableSchema history_schema(Layout layout) {
  TableSchema schema;
  schema.id = TableId(3);
  schema.name = "history";
  schema.layout = layout;
  schema.columns = {{"h_c_id", make_type(TypeId::kInt4), true},   {"h_c_d_id", make_type(TypeId::kInt2), true},
                    {"h_c_w_id", make_type(TypeId::kInt4), true}, {"h_d_id", make_type(TypeId::kInt2), true},
                    {"h_w_id", make_type(TypeId::kInt4), true},   {"h_date", make_type(TypeId::kTimestamp), true},
                    {"h_amount", make_numeric(6, 2), true},       {"h_data", make_string(TypeId::kVarchar, 24), true},
                    {"__row_id", make_type(TypeId::kInt8), true}};
  schema.has_row_id = true;
  return schema;
}

TableSchema stock_schema(Layout layout) {
  TableSchema schema;
  schema.id = TableId(1);
  schema.name = "stock";
  schema.layout = layout;
  schema.columns = {{"s_i_id", make_type(TypeId::kInt4), true},
                    {"s_w_id", make_type(TypeId::kInt4), true},
                    {"s_quantity", make_type(TypeId::kInt2), true}};
  for (int i = 1; i <= 10; ++i) {
    schema.columns.push_back({"s_dist_" + std::to_string(i), make_string(TypeId::kChar, 24), true});
  }
  for (const char* name : {"s_ytd", "s_order_cnt", "s_remote_cnt"}) {
    schema.columns.push_back({name, make_type(TypeId::kInt4), true});
  }
  schema.columns.push_back({"s_data", make_string(TypeId::kVarchar, 50), true});
  schema.indexes = {{IndexId(1), "stock_pkey", {1, 0}, {}, true, true}};
  return schema;
}

TableSchema order_line_schema(Layout layout) {
  TableSchema schema;
  schema.id = TableId(2);
  schema.name = "order_line";
  schema.layout = layout;
  schema.columns = {{"ol_o_id", make_type(TypeId::kInt4), true},
                    {"ol_d_id", make_type(TypeId::kInt2), true},
                    {"ol_w_id", make_type(TypeId::kInt4), true},
                    {"ol_number", make_type(TypeId::kInt2), true},
                    {"ol_i_id", make_type(TypeId::kInt4), true},
                    {"ol_supply_w_id", make_type(TypeId::kInt4), true},
                    {"ol_delivery_d", make_type(TypeId::kTimestamp), false},
                    {"ol_quantity", make_type(TypeId::kInt2), true},
                    {"ol_amount", make_numeric(6, 2), true},
                    {"ol_dist_info", make_string(TypeId::kChar, 24), true}};
  schema.indexes = {{IndexId(2), "order_line_pkey", {2, 1, 0, 3}, {}, true, true}};
  return schema;
}

struct Row {
  char* chunk;
  uint32_t offset;
  const TableLayout* layout;
  template <typename T>
  void put(uint32_t column, T value) const {
    save_cell(cell_of(layout->columns[column], chunk, offset), value);
  }
  template <typename T>
  T get(uint32_t column) const {
    return load_cell<T>(cell_of(layout->columns[column], chunk, offset));
  }
};

Row row_at(const Table& table, const TablePartition* partition, Tid tid) {
  return {chunk_of(partition, tid), offset_of(tid), &table.layout()};
}

// dictionary: what has the text while the column has its key, as a table would that compressed at once.
void fill_order_line(TestStore* store, Table* table, int order, int number, ChangeResult* result, bool report,
                     std::string_view text = "abcdefghijklmnopqrstuvwx", RelationDictionary* dictionary = nullptr) {
  TablePartition* partition = table->partition(0);
  const Tid tid = insert_begin(partition, store->log.get());
  if (tid == kNoTid) std::abort();
  const Row row = row_at(*table, partition, tid);
  row.put<int32_t>(0, order / 10);
  row.put<int16_t>(1, static_cast<int16_t>(order % 10));
  row.put<int32_t>(2, 1);
  row.put<int16_t>(3, static_cast<int16_t>(number));
  row.put<int32_t>(4, order * 7 % 100000);
  row.put<int32_t>(5, 1);
  const ColumnAccess& delivery = table->layout().columns[6];
  row.chunk[delivery.null_offset + uint64_t{row.offset} * delivery.null_stride] = 1;
  row.put<int16_t>(7, 5);
  row.put<int32_t>(8, 123456);
  const ColumnAccess& info = table->layout().columns[9];
  if (dictionary != nullptr) {
    row.put<uint32_t>(9, dictionary->acquire(text));
    *result = ChangeResult::kOk;
  } else {
    *result = store_string(partition, store->log.get(), cell_of(info, row.chunk, row.offset), &info, text.data(),
                           static_cast<uint32_t>(text.size()));
  }
  if (*result == ChangeResult::kOk) *result = insert_finish(partition, tid, store->log.get());
  if (report && *result != ChangeResult::kOk) std::abort();
}

void fill_history(TestStore* store, Table* table, int i) {
  TablePartition* partition = table->partition(0);
  const Tid tid = insert_begin(partition, store->log.get());
  if (tid == kNoTid) std::abort();
  const Row row = row_at(*table, partition, tid);
  row.put<int32_t>(0, i % 3000);
  row.put<int16_t>(1, 3);
  row.put<int32_t>(2, 1);
  row.put<int16_t>(3, 3);
  row.put<int32_t>(4, 1);
  row.put<int64_t>(5, 1234567890123 + i);
  row.put<int32_t>(6, 123456);
  const ColumnAccess& data = table->layout().columns[7];
  store_string(partition, store->log.get(), cell_of(data, row.chunk, row.offset), &data, "warehouse    district   ",
               24);
  if (insert_finish(partition, tid, store->log.get()) != ChangeResult::kOk) std::abort();
}

// Table 1: seconds to insert order lines whose ol_dist_info has so many values, in no order.
double insert_seconds(int rows, int values, bool compresses_at_once) {
  std::vector<std::string> texts;
  for (int i = 0; i < values; ++i) {
    texts.push_back(std::to_string(i));
    texts.back().resize(24, 'x');
  }
  TestStore store(size_t{8} << 30, {}, PageMode::kTransparentHuge);
  store.log->record_redo(false);
  TableSchema schema = order_line_schema(Layout::kColumn);
  if (compresses_at_once) schema.columns[9].type = make_type(TypeId::kInt4);
  auto lines = store.table(schema);
  if (!lines->build_hash_companion(0).ok()) std::abort();
  RelationDictionary dictionary;
  Random random(1);
  ChangeResult result;
  const double start = now_ns();
  for (int i = 0; i < rows; ++i) {
    fill_order_line(&store, lines.get(), i / 10, i % 10, &result, true, texts[random.below(texts.size())],
                    compresses_at_once ? &dictionary : nullptr);
    if (i % 10 == 9) store.log->commit();
  }
  return (now_ns() - start) * 1e-9;
}

struct Numbers {
  double history_ns, insert_ns, update_ns, delete_ns, stock_update_ns, rollback_ns, redo_bytes;
};

double per_change(int count, const std::function<void(int)>& change, TestStore* store, double* redo_bytes) {
  const double start = now_ns();
  uint64_t redo = 0;
  for (int i = 0; i < count; ++i) {
    change(i);
    if (i % 10 != 9) continue;
    redo += store->log->redo_bytes();
    store->log->commit();
  }
  store->log->commit();
  if (redo_bytes != nullptr) *redo_bytes = static_cast<double>(redo) / count;
  return (now_ns() - start) / count;
}

Tid find_order_line(const Table* table, int order, int number) {
  char key[12];
  char* end = put_key_integer(key, 1u);
  end = put_key_integer(end, static_cast<uint16_t>(order % 10));
  end = put_key_integer(end, static_cast<uint32_t>(order / 10));
  put_key_integer(end, static_cast<uint16_t>(number));
  return find_unique(table->partition(0), 0, key, 12);
}

Numbers measure(Layout layout, bool redo, bool hash, PageMode pages) {
  constexpr int kRows = 500000;
  TestStore store(size_t{1} << 30, {}, pages);
  store.log->record_redo(redo);
  auto lines = store.table(order_line_schema(layout));
  auto stock = store.table(stock_schema(layout));
  std::vector<Datum> rows;
  for (int i = 0; i < 100000; ++i) {
    rows.insert(rows.end(), {int_datum(i), int_datum(1), int_datum(50)});
    for (int j = 0; j < 10; ++j) rows.push_back(string_datum("abcdefghijklmnopqrstuvwx", 24));
    rows.insert(rows.end(), {int_datum(0), int_datum(0), int_datum(0), string_datum("some data of this item", 22)});
  }
  if (!append_rows(stock->partition(0), rows, plain_text).ok()) std::abort();
  if (hash && !(stock->build_hash_companion(0).ok() && lines->build_hash_companion(0).ok())) std::abort();
  Numbers numbers{};
  auto history = store.table(history_schema(layout));
  numbers.history_ns = per_change(kRows, [&](int i) { fill_history(&store, history.get(), i); }, &store, nullptr);
  ChangeResult result;
  numbers.insert_ns = per_change(
      kRows, [&](int i) { fill_order_line(&store, lines.get(), i / 10, i % 10, &result, true); }, &store,
      &numbers.redo_bytes);
  const UpdateDescriptor delivery = make_update_descriptor(*lines, std::vector<uint32_t>{6});
  numbers.update_ns = per_change(
      kRows,
      [&](int i) {
        const Tid tid = find_order_line(lines.get(), i / 10, i % 10);
        TablePartition* partition = lines->partition(0);
        if (update_begin(partition, tid, &delivery, store.log.get()) != ChangeResult::kOk) std::abort();
        const Row row = row_at(*lines, partition, tid);
        row.put<int64_t>(6, 1234567890123 + i);
        row.chunk[lines->layout().columns[6].null_offset +
                  uint64_t{row.offset} * lines->layout().columns[6].null_stride] = 0;
        if (update_finish(partition, tid, &delivery, store.log.get()) != ChangeResult::kOk) std::abort();
      },
      &store, nullptr);
  const UpdateDescriptor ordered = make_update_descriptor(*stock, std::vector<uint32_t>{2, 13, 14, 15});
  Random random(1);
  numbers.stock_update_ns = per_change(
      kRows,
      [&](int) {
        char key[8];
        put_key_integer(put_key_integer(key, 1u), static_cast<uint32_t>(random.below(100000)));
        TablePartition* partition = stock->partition(0);
        const Tid tid = find_unique(partition, 0, key, 8);
        if (update_begin(partition, tid, &ordered, store.log.get()) != ChangeResult::kOk) std::abort();
        const Row row = row_at(*stock, partition, tid);
        row.put<int16_t>(2, static_cast<int16_t>(row.get<int16_t>(2) + 1));
        for (uint32_t c = 13; c < 16; ++c) row.put<int32_t>(c, row.get<int32_t>(c) + 5);
        if (update_finish(partition, tid, &ordered, store.log.get()) != ChangeResult::kOk) std::abort();
      },
      &store, nullptr);
  numbers.delete_ns = per_change(
      kRows / 2,
      [&](int i) {
        const Tid tid = find_order_line(lines.get(), i / 10, i % 10);
        if (delete_tuple(lines->partition(0), tid, store.log.get()) != ChangeResult::kOk) std::abort();
      },
      &store, nullptr);
  const double start = now_ns();
  for (int i = 0; i < kRows / 10; ++i) {
    for (int j = 0; j < 10; ++j) fill_order_line(&store, lines.get(), kRows + i, j, &result, true);
    store.log->rollback_all();
  }
  numbers.rollback_ns = (now_ns() - start) / kRows;
  return numbers;
}

}  // namespace
}  // namespace scyper::storage

// table_bench [ROWS]: with a number, Table 1 of "Compacting Transactional Data" (VLDB 2012, 5.4) for so many rows.
int main(int argc, char** argv) {
  using namespace scyper::storage;
  if (argc > 1) {
    const int rows = std::atoi(argv[1]);
    std::printf("seconds for %d order lines: values, compressed at once (paper: 4.249, 5.589 for 10 million), not\n",
                rows);
    for (const int values : {1 << 15, 1 << 18}) {
      const double at_once = insert_seconds(rows, values, true);
      std::printf("%7d %.3f %.3f\n", values, at_once, insert_seconds(rows, values, false));
    }
    return 0;
  }
  std::printf("ns per change      history  insert  update  stock-update  delete  insert+rollback  redo bytes/insert\n");
  for (PageMode pages : {PageMode::kSmall, PageMode::kTransparentHuge}) {
    for (Layout layout : {Layout::kColumn, Layout::kRow}) {
      for (bool redo : {false, true}) {
        const Numbers n = measure(layout, redo, true, pages);
        std::printf("%-5s %-6s %-6s %7.0f %7.0f %7.0f %13.0f %7.0f %16.0f %12.0f\n",
                    pages == PageMode::kSmall ? "4k" : "huge", layout == Layout::kColumn ? "column" : "row",
                    redo ? "redo" : "-", n.history_ns, n.insert_ns, n.update_ns, n.stock_update_ns, n.delete_ns,
                    n.rollback_ns, n.redo_bytes);
      }
    }
  }
  return 0;
}
