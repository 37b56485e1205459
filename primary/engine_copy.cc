#include "engine_copy.h"

#include <utility>

namespace scyper::primary {

Status EngineCopy::add(std::string_view text) {
  SCYPER_RETURN_IF_ERROR(rows_->add(text));
  return count_memory();
}

Status EngineCopy::count_memory() {
  const size_t bytes = rows_->memory_bytes();
  const size_t all =
      memory_->bytes.fetch_add(bytes - counted_bytes_, std::memory_order_relaxed) + bytes - counted_bytes_;
  counted_bytes_ = bytes;
  if (all <= memory_->bytes_max) return Status();
  return at_line(with_hint(with_detail(sql_error("53200", "out of memory"), "COPY needs more memory than copy_memory."),
                           "Send the rows by several COPYs."));
}

Status EngineCopy::finish(const StatementLimits& limits, query::ResultSet* result) {
  SCYPER_RETURN_IF_ERROR(rows_->finish());
  SCYPER_RETURN_IF_ERROR(count_memory());
  SCYPER_RETURN_IF_ERROR(fill_(rows_.get(), limits, result));
  is_done_ = true;
  memory_->done.fetch_add(1, std::memory_order_relaxed);
  memory_->rows.fetch_add(result->affected_rows, std::memory_order_relaxed);
  return Status();
}

}  // namespace scyper::primary
