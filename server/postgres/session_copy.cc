// COPY: rows to the client and from it.
#include <cstdio>
#include <string>
#include <utility>

#include "postgres/session.h"
#include "query/copy.h"

namespace scyper::server::postgres {

namespace {

using Direction = query::TextConverter::Direction;

Status no_binary_texts() {
  return with_hint(sql_error("0A000", "COPY in the binary format with texts that are not UTF-8 is not supported"),
                   "SET client_encoding = 'UTF8' before it.");
}

// converter: null: the text is UTF-8.
Status add_to_copy(primary::CopyIn* copy, query::TextConverter* converter, std::string_view text) {
  if (converter == nullptr) return copy->add(text);
  std::string converted;
  if (Status status = converter->append_piece(text, &converted); !status.ok()) return copy->at_line(status);
  return copy->add(converted);
}

}  // namespace

void Session::begin_copy(CopyDirection direction, Format format, size_t columns) {
  writer().begin(static_cast<char>(direction));
  writer().put_byte(static_cast<uint8_t>(format));
  writer().put_int16(static_cast<int16_t>(columns));
  for (size_t i = 0; i < columns; ++i) writer().put_int16(static_cast<int16_t>(format));
  writer().end();
}

Status Session::send_copy(std::string_view sql, Portal* portal) {
  const auto& columns = portal->rows.columns;
  SCYPER_ASSIGN_OR_RETURN(const query::CopyFormat format, query::copy_format_of(sql, columns));
  SCYPER_ASSIGN_OR_RETURN(const auto own_converter, query::copy_converter(format, Direction::kFromUtf8));
  query::TextConverter* converter = format.encoding != nullptr ? own_converter.get() : texts_.to_client();
  if (converter != nullptr && format.is_binary) return no_binary_texts();
  begin_copy(CopyDirection::kOut, format.is_binary ? Format::kBinary : Format::kText, columns.size());
  std::string piece;
  const auto send_piece = [&]() -> Status {
    if (piece.empty()) return {};
    if (std::string converted; converter != nullptr) {
      SCYPER_RETURN_IF_ERROR(converter->append(piece, &converted));
      piece = std::move(converted);
    }
    writer().begin('d');
    writer().put_bytes(piece);
    writer().end();
    piece.clear();
    return {};
  };
  query::append_copy_begin(format, columns, &piece);
  if (!format.is_binary) SCYPER_RETURN_IF_ERROR(send_piece());  // else it comes with what follows, as PostgreSQL's does
  while (!portal->is_drained) {
    for (size_t row = 0; row < portal->rows.row_count(); ++row) {
      SCYPER_RETURN_IF_ERROR(query::append_copy_row(format, columns, &portal->rows.value(row, 0), &piece));
      SCYPER_RETURN_IF_ERROR(send_piece());
      if (!stream_.flush_if_large()) return sql_error("08006", "the client has gone");
    }
    portal->row_count += portal->rows.row_count();
    portal->rows.clear_rows();
    SCYPER_RETURN_IF_ERROR(take_rows(portal));
  }
  query::append_copy_end(format, &piece);
  SCYPER_RETURN_IF_ERROR(send_piece());
  writer().begin('c');
  writer().end();
  send_complete(portal, "COPY " + std::to_string(portal->row_count));
  return {};
}

StatusOr<std::unique_ptr<Answer>> Session::run_copy_in(const std::string& sql) {
  const primary::StatementLimits limits = this->limits("");
  NodeParts* node = context_->node;
  if (block_ != Block::kNone && open_ == nullptr) SCYPER_RETURN_IF_ERROR(open_block());
  SCYPER_ASSIGN_OR_RETURN(const auto copy, open_ != nullptr ? open_->open_copy(with_path(sql), limits)
                                           : node->forwarding.is_needed()
                                               ? node->forwarding.open_copy(with_path(sql), limits)
                                               : node->engine->open_copy(with_path(sql)));
  SCYPER_ASSIGN_OR_RETURN(const auto converter, converter_of_copy(sql, copy->is_binary()));
  begin_copy(CopyDirection::kIn, copy->is_binary() ? Format::kBinary : Format::kText, copy->column_count());
  if (!stream_.flush()) return sql_error("08006", "the client has gone");
  SCYPER_RETURN_IF_ERROR(receive_copy(copy.get(), converter.get(), limits));
  return run_counted(sql, [&](query::ResultSet* result) { return copy->finish(limits, result); });
}

// Of the text of a COPY FROM that does not say its encoding: it has the client's. Null: that is UTF-8.
StatusOr<std::unique_ptr<query::TextConverter>> Session::converter_of_copy(std::string_view sql, bool is_binary) const {
  const auto command = query::copy_command_of(sql);
  if (texts_.is_plain() || !command.has_value() || command->has_encoding)
    return std::unique_ptr<query::TextConverter>();
  if (is_binary) return no_binary_texts();
  return query::TextConverter::make(*settings_->client_encoding(), Direction::kToUtf8);
}

// Up to CopyDone.
Status Session::receive_copy(primary::CopyIn* copy, query::TextConverter* converter,
                             const primary::StatementLimits& limits) {
  char type = 0;
  std::string_view payload;
  while (read_message(&type, &payload)) {
    if (is_cancelled_) return copy->at_line(sql_error("57014", "canceling statement due to user request"));
    if (limits.deadline_ns != 0 && monotonic_ns() >= limits.deadline_ns) {
      return copy->at_line(sql_error("57014", "canceling statement due to statement timeout"));
    }
    switch (type) {
      case 'd':
        SCYPER_RETURN_IF_ERROR(add_to_copy(copy, converter, payload));
        break;
      case 'c':
        if (converter != nullptr && !converter->finish().ok())
          return copy->at_line(sql_error("22021", "COPY ends within a character"));
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
