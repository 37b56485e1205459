#include "runtime/violations.h"

#include <cstdint>
#include <string>
#include <string_view>

#include "absl/strings/str_cat.h"
#include "base/whole_characters.h"
#include "query/deferred_checks.h"
#include "query/exec_context.h"
#include "query/program.h"
#include "types/datum_text.h"

namespace scyper::query {

namespace {

// PostgreSQL cuts each value of a failing row, but not those of keys.
constexpr size_t kFailingBytesMax = 64;

std::string values_text(const Datum* row, const SqlType* types, int64_t count, size_t bytes_max) {
  std::string text;
  for (int64_t i = 0; i < count; i++) {
    if (i > 0) text += ", ";
    if (row[i].null) {
      text += "null";
      continue;
    }
    std::string value;
    append_datum(&value, types[i], row[i]);
    const std::string_view shown = beginning_of(value, bytes_max);
    text += shown;
    if (shown.size() < value.size()) text += "...";
  }
  return text;
}

int32_t rt_violation(ExecContext* c, const char* texts, int64_t size, const Datum* row, const SqlType* types,
                     int64_t count) noexcept {
  const std::string_view sqlstate(texts), message(texts + sqlstate.size() + 1);
  const std::string_view before(message.data() + message.size() + 1), after(before.data() + before.size() + 1);
  const int32_t outcome = c->fail(sqlstate, message);
  const size_t bytes_max = sqlstate == "23514" ? kFailingBytesMax : SIZE_MAX;
  if (count > 0) c->error.detail = std::string(before) + values_text(row, types, count, bytes_max) + std::string(after);
  const char* mark = after.data() + after.size() + 1;
  const bool may_wait = c->deferred != nullptr && mark < texts + size && *mark != '\0';
  return may_wait && c->deferred->defer(c, mark, row, types, count) ? 0 : outcome;
}

int32_t rt_not_null(ExecContext* c, int64_t table, int64_t column, const char* before, const Datum* row,
                    const SqlType* types, int64_t count) noexcept {
  const storage::TableSchema& schema = c->program->table(static_cast<size_t>(table)).schema();
  const std::string& name = schema.columns[static_cast<size_t>(column)].name;
  const int32_t outcome = c->fail("23502", absl::StrCat("null value in column \"", name, "\" of relation \"",
                                                        schema.name, "\" violates not-null constraint"));
  if (count > 0) c->error.detail = absl::StrCat(before, values_text(row, types, count, kFailingBytesMax), ").");
  return outcome;
}

}  // namespace

const ir::External k_rt_violation{"rt_violation", reinterpret_cast<void*>(&rt_violation), ir::Type::kI32, 6, false};
const ir::External k_rt_not_null{"rt_not_null", reinterpret_cast<void*>(&rt_not_null), ir::Type::kI32, 7, false};

}  // namespace scyper::query
