#include "query/copy_lines.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "query/error_status.h"
#include "query/type_numbers.h"
#include "query/value_wire.h"
#include "storage/big_numeric.h"
#include "types/value_error.h"

namespace scyper::query {

namespace {

// The long ones would have to be kept apart.
Status check_storable(const SqlType& type, const Datum& value) {
  if (type.id != TypeId::kNumeric || value.scale != kBigScale) return {};
  return error_status(ValueError::kNumericUnstorable);
}

}  // namespace

StatusOr<CopyReader::Step> CopyLines::next() {
  if (is_binary()) {
    auto step = binary_.next();
    if (step.ok() || binary_.row() == 0) return step;  // what is wrong with the header has no line
    return with_context(step.status());
  }
  while (true) {
    auto step = reader_.next();
    is_line_whole_ = !reader_.text().empty();
    if (!step.ok()) return with_context(step.status());
    if (*step != CopyReader::Step::kLine) return step;
    is_line_whole_ = true;
    if (!std::exchange(has_header_, true) && shape_.format.header != CopyHeader::kNone) {
      SCYPER_RETURN_IF_ERROR(check_header());
      continue;
    }
    if (reader_.field_count() > shape_.columns.size())
      return with_context(sql_error("22P04", "extra data after last expected column"));
    return step;
  }
}

// The first line, which is no row.
Status CopyLines::check_header() const {
  const CopyFormat& format = shape_.format;
  if (format.header != CopyHeader::kMatch) return Status();
  const auto& fields = reader_.fields();
  if (reader_.field_count() != shape_.columns.size())
    return with_context(sql_error("22P04", absl::StrCat("wrong number of fields in header line: got ",
                                                        reader_.field_count(), ", expected ", shape_.columns.size())));
  for (size_t i = 0; i < fields.size(); i++) {
    const std::string& name = shape_.columns[i].name;
    auto differs = [&](const std::string& got) {
      return with_context(sql_error("22P04", absl::StrCat("column name mismatch in header line field ", i + 1, ": got ",
                                                          got, ", expected \"", name, "\"")));
    };
    if (fields[i].is_null) return differs(absl::StrCat("null value (\"", format.null_text, "\")"));
    if (fields[i].text != name) return differs(absl::StrCat("\"", std::string(fields[i].text), "\""));
  }
  return Status();
}

Status CopyLines::read_value(size_t column, ValueArena* arena, ValueArena* arrays, Datum* value) const {
  const CopyFormat& format = shape_.format;
  const ResultColumn& about = shape_.columns[column];
  if (is_binary()) {
    Status status = receive_value(column, about.type.id == TypeId::kArray ? arrays : arena, value);
    return status.ok() ? status : with_context(std::move(status), absl::StrCat(", column ", about.name));
  }
  if (column >= reader_.fields().size())
    return with_context(sql_error("22P04", absl::StrCat("missing data for column \"", about.name, "\"")));
  const CopyReader::Field& field = reader_.fields()[column];
  std::string_view text = field.text;
  bool is_null = field.is_null;
  if (is_null && !format.force_not_null.empty() && format.force_not_null[column]) {
    is_null = false;
    text = format.null_text;
  } else if (!is_null && !format.force_null.empty() && format.force_null[column]) {
    is_null = text == format.null_text;
  }
  if (is_null) {
    *value = null_datum();
    return Status();
  }
  Status status = parse_value(about.type, text, about.type.id == TypeId::kArray ? arrays : arena, value);
  if (status.ok()) status = check_storable(about.type, *value);
  if (status.ok()) return status;
  return with_context(std::move(status), absl::StrCat(", column ", about.name, ": \"", cut_for_context(text), "\""));
}

// With PostgreSQL's words for what is too short or too long.
Status CopyLines::receive_value(size_t column, ValueArena* arena, Datum* value) const {
  SCYPER_ASSIGN_OR_RETURN(const CopyBinaryReader::Field field, binary_.field(column));
  *value = null_datum();
  if (field.is_null) return {};
  const SqlType& type = shape_.columns[column].type;
  const int16_t size = type_length(type);
  if (size > 0 && field.bytes.size() < static_cast<size_t>(size))
    return sql_error("08P01", "insufficient data left in message");
  if (size > 0 && field.bytes.size() > static_cast<size_t>(size))
    return sql_error("22P03", "incorrect binary data format");
  SCYPER_RETURN_IF_ERROR(query::receive_value(type, /*oid=*/0, field.bytes, arena, value));
  return check_storable(type, *value);
}

Status CopyLines::with_context(Status status, const std::string& what) const {
  std::string line = absl::StrCat("COPY ", shape_.table, ", line ", this->line());
  if (!what.empty())
    absl::StrAppend(&line, what);
  else if (is_line_whole_)
    absl::StrAppend(&line, ": \"", cut_for_context(reader_.text()), "\"");
  return query::with_context(std::move(status), line);
}

Status CopyLines::at_line(Status status) const {
  if (is_binary() && binary_.row() == 0) return status;
  const uint64_t line = std::max<uint64_t>(this->line(), 1);
  return query::with_context(std::move(status), absl::StrCat("COPY ", shape_.table, ", line ", line));
}

}  // namespace scyper::query
