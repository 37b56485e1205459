#pragma once

#include <vector>

#include "client/client.h"
#include "query/column_batch.h"
#include "server/messages.h"
#include "wire.h"

namespace scyper::client {

// Reads the answers of statements: messages that have a header, rows or what completes them. Threads: one.
class AnswerReader {
 public:
  explicit AnswerReader(QueryHandler* handler) : handler_(handler) {}

  template <typename Response>
  Status take(const Response& response) {
    if (response.has_header()) {
      rows_.clear();
      rows_.columns = server::columns_of(response.header().columns());
      types_.clear();
      for (const query::ResultColumn& column : rows_.columns) types_.push_back(column.type);
      handler_->on_columns(rows_.columns);
    } else if (response.has_rows()) {
      rows_.clear_rows();
      const v1::ExecuteResponse::Rows& rows = response.rows();
      SCYPER_RETURN_IF_ERROR(rows.columns().empty() ? append_rows(rows.packed(), rows.row_count(), &rows_)
                                                    : query::decode_columns(types_, rows.columns(), &rows_));
      handler_->on_rows(rows_);
    } else if (response.has_complete()) {
      const v1::ExecuteResponse::Complete& complete = response.complete();
      rows_.clear_rows();
      server::read_end(complete, &rows_);
      const query::Receipt receipt = server::receipt_of(complete.receipt());
      handler_->on_complete(rows_, complete.has_receipt() ? &receipt : nullptr);
    }
    return {};
  }

 private:
  QueryHandler* const handler_;
  query::ResultSet rows_;
  std::vector<SqlType> types_;
};

}  // namespace scyper::client
