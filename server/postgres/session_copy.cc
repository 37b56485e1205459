// COPY: rows as text, to the client and from it.
#include <cstdio>
#include <string>
#include <utility>

#include "postgres/session.h"
#include "query/copy.h"

namespace scyper::server::postgres {

void Session::begin_copy(CopyDirection direction, size_t columns) {
  writer().begin(static_cast<char>(direction));
  writer().put_byte(static_cast<uint8_t>(Format::kText));
  writer().put_int16(static_cast<int16_t>(columns));
  for (size_t i = 0; i < columns; ++i) writer().put_int16(static_cast<int16_t>(Format::kText));
  writer().end();
}

Status Session::send_copy(std::string_view sql, Portal* portal) {
  const auto& columns = portal->rows.columns;
  SCYPER_ASSIGN_OR_RETURN(const query::CopyFormat format, query::copy_format_of(sql, columns));
  begin_copy(CopyDirection::kOut, columns.size());
  if (format.header != query::CopyHeader::kNone) {
    writer().begin('d');
    query::append_copy_header(format, columns, writer().out());
    writer().end();
  }
  while (!portal->is_drained) {
    for (size_t row = 0; row < portal->rows.row_count(); ++row) {
      writer().begin('d');
      query::append_copy_row(format, columns, &portal->rows.value(row, 0), writer().out());
      writer().end();
      if (!stream_.flush_if_large()) return sql_error("08006", "the client has gone");
    }
    portal->row_count += portal->rows.row_count();
    portal->rows.clear_rows();
    SCYPER_RETURN_IF_ERROR(take_rows(portal));
  }
  writer().begin('c');
  writer().end();
  send_complete(portal, "COPY " + std::to_string(portal->row_count));
  return {};
}

StatusOr<std::unique_ptr<Answer>> Session::run_copy_in(const std::string& sql) {
  SCYPER_ASSIGN_OR_RETURN(const auto copy, context_->node->engine->open_copy(with_path(sql)));
  const primary::StatementLimits limits = this->limits();
  begin_copy(CopyDirection::kIn, copy->column_count());
  if (!stream_.flush()) return sql_error("08006", "the client has gone");
  SCYPER_RETURN_IF_ERROR(receive_copy(copy.get(), limits));
  return run_counted([&](query::ResultSet* result) { return copy->finish(limits, result); });
}

// Up to CopyDone.
Status Session::receive_copy(primary::CopyIn* copy, const primary::StatementLimits& limits) {
  char type = 0;
  std::string_view payload;
  while (read_message(&type, &payload)) {
    if (is_cancelled_) return copy->at_line(sql_error("57014", "canceling statement due to user request"));
    if (limits.deadline_ns != 0 && monotonic_ns() >= limits.deadline_ns) {
      return copy->at_line(sql_error("57014", "canceling statement due to statement timeout"));
    }
    switch (type) {
      case 'd':
        SCYPER_RETURN_IF_ERROR(copy->add(payload));
        break;
      case 'c':
        return {};
      case 'f': {
        const std::string reason(MessageReader(payload).read_string());
        return copy->at_line(sql_error("57014", "COPY from stdin failed: " + reason));
      }
      case 'H':  // of clients that send what follows an Execute without knowing that it is a COPY
      case 'S':
        break;
      default:
        return refuse_message(type, *copy);
    }
  }
  return sql_error("08006", "unexpected EOF on client connection");
}

// What else comes is not understood any more, as in PostgreSQL.
Status Session::refuse_message(char type, const primary::CopyIn& copy) {
  char message[64];
  std::snprintf(message, sizeof message, "unexpected message type 0x%02X during COPY from stdin",
                static_cast<unsigned int>(static_cast<unsigned char>(type)));
  Status status = copy.at_line(sql_error("08P01", message));
  fail(status);
  end_with(sql_error("08P01", "terminating connection because protocol synchronization was lost"));
  return status;
}

}  // namespace scyper::server::postgres
