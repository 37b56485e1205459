// Rows of a portal to the client.
#include <algorithm>
#include <utility>

#include "postgres/session.h"
#include "query/shown_columns.h"

namespace scyper::server::postgres {

Status Session::append_row(const Portal& portal) {
  const auto& columns = portal.rows.columns;
  const size_t width = std::min(query::shown_columns(columns), portal.formats.size());
  row_.resize(width);
  row_values_.clear();
  for (size_t i = 0; i < width; ++i) {
    const Datum& value = portal.rows.value(portal.next_row, i);
    SCYPER_ASSIGN_OR_RETURN(row_[i],
                            query::sent_value(columns[i], portal.formats[i] == Format::kBinary, value, &row_values_));
  }
  const size_t begin = writer().out()->size();
  writer().begin('D');
  writer().put_int16(static_cast<int16_t>(width));
  for (size_t i = 0; i < width; ++i) {
    const SqlType type = query::sent_type(columns[i], portal.formats[i] == Format::kBinary);
    const size_t place = writer().out()->size();
    append_field(type, portal.formats[i], row_[i], &writer());
    if (texts_.is_plain()) continue;
    if (Status status = texts_.convert_field(type, portal.formats[i], place, &writer()); !status.ok()) {
      writer().out()->resize(begin);  // the message ends with the error
      return status;
    }
  }
  writer().end();
  return {};
}

Status Session::send_rows(Portal* portal, uint64_t rows_max) {
  const uint64_t before = portal->row_count;
  while (rows_max == 0 || portal->row_count - before < rows_max) {
    if (portal->next_row < portal->rows.row_count()) {
      SCYPER_RETURN_IF_ERROR(append_row(*portal));
      ++portal->next_row;
      ++portal->row_count;
      if (!stream_.flush_if_large()) return sql_error("08006", "the client has gone");
      continue;
    }
    portal->rows.clear_rows();
    portal->next_row = 0;
    if (portal->is_drained) {
      send_complete(portal, portal->answer->tag());
      return {};
    }
    SCYPER_RETURN_IF_ERROR(take_rows(portal));
  }
  writer().begin('s');  // PortalSuspended
  writer().end();
  return {};
}

void Session::send_complete(Portal* portal, const std::string& tag) {
  portal->is_done = true;
  for (const std::string& notice : portal->answer->notices()) send_engine_notice(notice);
  if (portal->answer->receipt().has_value() && settings_->reports_receipts()) {
    append_notice("INFO", sql_error("00000", receipt_text()), &writer());
  }
  if (tag.empty()) {
    writer().begin('I');  // EmptyQueryResponse
    return writer().end();
  }
  writer().begin('C');
  writer().put_string(tag);
  writer().end();
}

}  // namespace scyper::server::postgres
