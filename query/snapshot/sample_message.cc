#include "snapshot/sample_message.h"

#include <algorithm>

#include "base/check.h"
#include "snapshot/messages.h"

namespace scyper::query {

namespace {

// Of one condition, before its bounds.
struct ConditionHeader {
  uint32_t column = 0;
  storage::FrozenPredicate::Kind kind = storage::FrozenPredicate::Kind::kRange;
  uint8_t low_included = 0;
  uint8_t high_included = 0;
  uint8_t has_alternative = 0;
  uint8_t is_text = 0;
  uint8_t padding[3] = {};
};
struct SampleHeader {
  const storage::Table* table = nullptr;
  uint32_t columns = 0;
  uint32_t conditions = 0;
};

template <typename T>
void put_plain(std::string* out, const T& value) {
  out->append(reinterpret_cast<const char*>(&value), sizeof value);
}
template <typename T>
T take_plain(std::string_view* in) {
  T value;
  CHECK(take_bytes(in, &value, sizeof value));
  return value;
}

void put_bound(std::string* out, const Datum& bound, bool is_text) {
  put_plain(out, bound);
  if (is_text && bound.null == 0) put_text(out, {bound.data(), bound.size()});
}
Datum take_bound(std::string_view* in, bool is_text, storage::HotView* asked) {
  const auto bound = take_plain<Datum>(in);
  if (!is_text || bound.null != 0) return bound;
  std::string& text = asked->texts.emplace_back();
  CHECK(take_text(in, &text));
  return string_datum(text.data(), text.size());
}

}  // namespace

void put_sample(std::string* out, const storage::Table* table, const storage::HotView& asked) {
  put_plain(out, SampleHeader{table, static_cast<uint32_t>(asked.columns.size()),
                              static_cast<uint32_t>(asked.conditions.size())});
  for (const uint32_t column : asked.columns) put_plain(out, column);
  for (const storage::ColumnCondition& one : asked.conditions) {
    ConditionHeader header;
    header.column = one.column;
    header.kind = one.predicate.kind;
    header.low_included = one.predicate.low_included ? 1 : 0;
    header.high_included = one.predicate.high_included ? 1 : 0;
    header.has_alternative = one.has_alternative ? 1 : 0;
    header.is_text = holds_bytes(table->schema().columns[one.column].type.id) ? 1 : 0;
    put_plain(out, header);
    put_bound(out, one.predicate.low, header.is_text != 0);
    put_bound(out, one.predicate.high, header.is_text != 0);
  }
}

bool take_sample(std::string_view* in, const storage::Table** table, storage::HotView* asked) {
  if (in->empty()) return false;
  const auto header = take_plain<SampleHeader>(in);
  *table = header.table;
  *asked = storage::HotView();
  for (uint32_t i = 0; i < header.columns; ++i) asked->columns.push_back(take_plain<uint32_t>(in));
  for (uint32_t i = 0; i < header.conditions; ++i) {
    const auto one = take_plain<ConditionHeader>(in);
    storage::ColumnCondition& condition = asked->conditions.emplace_back();
    condition.column = one.column;
    condition.has_alternative = one.has_alternative != 0;
    condition.predicate.kind = one.kind;
    condition.predicate.low_included = one.low_included != 0;
    condition.predicate.high_included = one.high_included != 0;
    condition.predicate.low = take_bound(in, one.is_text != 0, asked);
    condition.predicate.high = take_bound(in, one.is_text != 0, asked);
  }
  return true;
}

bool fits_table(const storage::HotView& asked, const storage::Table& table) {
  const size_t count = table.schema().columns.size();
  if (!asked.conditions.empty() && asked.conditions.back().has_alternative) return false;
  return std::all_of(asked.columns.begin(), asked.columns.end(), [&](uint32_t column) { return column < count; }) &&
         std::all_of(asked.conditions.begin(), asked.conditions.end(),
                     [&](const storage::ColumnCondition& one) { return one.column < count; });
}

}  // namespace scyper::query
