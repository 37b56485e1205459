#include "snapshot/statistics_message.h"

#include <utility>

#include "base/check.h"
#include "snapshot/messages.h"

namespace scyper::query {

namespace {
template <typename T>
void put(std::string* out, const T& value) {
  out->append(reinterpret_cast<const char*>(&value), sizeof value);
}
template <typename T>
T take(std::string_view* in) {
  T value;
  CHECK(take_bytes(in, &value, sizeof value));
  return value;
}
}  // namespace

void put_statistics(std::string* out, const storage::Table* table, const storage::TableStatistics& statistics) {
  put(out, table);
  put(out, statistics.rows);
  put(out, statistics.sampled);
  put<uint64_t>(out, statistics.columns.size());
  for (const storage::ColumnStatistics& column : statistics.columns) {
    put(out, column.distinct);
    put(out, column.null_fraction);
    put<uint64_t>(out, column.numbers.size());
    for (double number : column.numbers) put(out, number);
    put<uint64_t>(out, column.texts.size());
    for (const std::string& text : column.texts) put_text(out, text);
  }
}

bool take_statistics(std::string_view* in, const storage::Table** table,
                     std::shared_ptr<const storage::TableStatistics>* statistics) {
  if (in->empty()) return false;
  *table = take<const storage::Table*>(in);
  auto result = std::make_shared<storage::TableStatistics>();
  result->rows = take<double>(in);
  result->sampled = take<double>(in);
  result->columns.resize(take<uint64_t>(in));
  for (storage::ColumnStatistics& column : result->columns) {
    column.distinct = take<double>(in);
    column.null_fraction = take<double>(in);
    column.numbers.resize(take<uint64_t>(in));
    for (double& number : column.numbers) number = take<double>(in);
    column.texts.resize(take<uint64_t>(in));
    for (std::string& text : column.texts) CHECK(take_text(in, &text));
  }
  *statistics = std::move(result);
  return true;
}

}  // namespace scyper::query
