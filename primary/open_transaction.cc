#include "primary/open_transaction.h"

#include "primary/engine.h"

namespace scyper::primary {

Status unlike_before() {
  return with_hint(sql_error("40001", "could not serialize access due to read/write dependencies among transactions"),
                   "The transaction might succeed if retried.");
}

StatusOr<ShortRead> OpenTransaction::execute_short(std::string_view sql, std::span<const Datum> parameters,
                                                   query::ResultSet* result, const StatementLimits& limits) {
  SCYPER_RETURN_IF_ERROR(execute(sql, parameters, result, limits));
  return ShortRead::kDone;
}

Status OpenTransaction::commit() { return commit(StatementLimits()); }

StatusOr<std::unique_ptr<CopyIn>> OpenTransaction::open_copy(std::string_view sql) {
  return open_copy(sql, StatementLimits());
}

}  // namespace scyper::primary
