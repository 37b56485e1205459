#include "postgres/wire_values.h"

#include "query/shown_columns.h"
#include "query/type_numbers.h"
#include "server/packed.h"

namespace scyper::server::postgres {

Status decode_parameter(const SqlType& type, int32_t oid, Format format, std::string_view bytes,
                        query::ValueArena* arena, Datum* out) {
  if (format == Format::kBinary) return query::receive_value(type, oid, bytes, arena, out);
  SCYPER_RETURN_IF_ERROR(check_text(bytes));
  return query::parse_value(type, bytes, arena, out);
}

void append_field(const SqlType& type, Format format, const Datum& value, MessageWriter* writer) {
  if (type.id == TypeId::kVoid) return writer->put_int32(0);  // no bytes, whatever carried it here
  if (format == Format::kBinary) return query::append_sent(type, value, writer);
  if (value.null) return writer->put_int32(-1);
  const size_t place = writer->place_length();
  query::append_value(writer->out(), type, value);
  writer->fill_length(place);
}

void append_row_description(std::span<const query::ResultColumn> columns, std::span<const Format> formats,
                            MessageWriter* writer) {
  writer->begin('T');
  const size_t width = query::shown_columns(columns);
  writer->put_int16(static_cast<int16_t>(width));
  for (size_t i = 0; i < width; ++i) {
    SqlType type = columns[i].declared.id == TypeId::kUnknown ? columns[i].type : columns[i].declared;
    // what has no type of its own is sent as text, as PostgreSQL does
    if (type.id == TypeId::kUnknown) type = make_type(TypeId::kText);
    writer->put_text(columns[i].name);
    writer->put_int32(0);  // table
    writer->put_int16(0);  // column of it
    writer->put_int32(static_cast<int32_t>(query::type_oid(type)));
    writer->put_int16(query::type_length(type));
    writer->put_int32(static_cast<int32_t>(query::type_modifier(type)));
    writer->put_int16(static_cast<int16_t>(formats[i]));
  }
  writer->end();
}

}  // namespace scyper::server::postgres
