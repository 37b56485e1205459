#include "query/copy_binary.h"

#include <string>

#include "absl/strings/str_cat.h"
#include "query/value_wire.h"
#include "query/wire_fields.h"

namespace scyper::query {

namespace {

constexpr std::string_view kCopySignature("PGCOPY\n\377\r\n\0", 11);
constexpr int kCriticalFlagsShift = 16;
constexpr uint32_t kWithOids = 1u << kCriticalFlagsShift;
constexpr size_t kCountBytes = 2;

Status bad_copy(std::string_view message) { return sql_error("22P04", message); }

}  // namespace

void CopyBinaryReader::add(std::string_view bytes) {
  if (begin_ > 0) {  // what was read goes
    buffer_.erase(0, begin_);
    begin_ = 0;
  }
  buffer_.append(bytes);
}

// Whether it is there.
StatusOr<bool> CopyBinaryReader::read_header() {
  WireReader in(rest());
  const std::string_view signature = in.read_bytes(kCopySignature.size());
  if (!in.is_whole() && !is_finished_) return false;
  if (signature != kCopySignature) return bad_copy("COPY file signature not recognized");
  const auto flags = static_cast<uint32_t>(in.read_int32());
  if (!in.is_whole() && !is_finished_) return false;
  if (!in.is_whole()) return bad_copy("invalid COPY file header (missing flags)");
  if ((flags & kWithOids) != 0) return bad_copy("invalid COPY file header (WITH OIDS)");
  if (flags >> kCriticalFlagsShift != 0) return bad_copy("unrecognized critical flags in COPY file header");
  const int32_t extension = in.read_int32();
  if (!in.is_whole() && !is_finished_) return false;
  if (!in.is_whole() || extension < 0) return bad_copy("invalid COPY file header (missing length)");
  in.read_bytes(static_cast<size_t>(extension));
  if (!in.is_whole() && !is_finished_) return false;
  if (!in.is_whole()) return bad_copy("invalid COPY file header (wrong length)");
  begin_ = buffer_.size() - in.rest().size();
  return true;
}

StatusOr<CopyReader::Step> CopyBinaryReader::next() {
  using Step = CopyReader::Step;
  if (rest().size() < needed_ && !is_finished_) return Step::kMore;
  if (!has_header_) {
    SCYPER_ASSIGN_OR_RETURN(has_header_, read_header());
    if (!has_header_) return Step::kMore;
  }
  if (!is_in_row_) {
    is_in_row_ = true;
    ++row_;
  }
  if (is_at_end_) {
    if (!rest().empty()) return bad_copy("received copy data after EOF marker");
    return is_finished_ ? Step::kEnd : Step::kMore;
  }
  if (rest().size() < kCountBytes)
    return is_finished_ ? Step::kEnd : Step::kMore;  // as PostgreSQL: no marker is asked for
  const int16_t count = WireReader(rest()).read_int16();
  if (count == -1) {
    is_at_end_ = true;
    begin_ += kCountBytes;
    return next();
  }
  if (count < 0 || static_cast<size_t>(count) != columns_)
    return bad_copy(absl::StrCat("row field count is ", count, ", expected ", columns_));
  if (!read_fields()) return Step::kMore;
  is_in_row_ = false;
  needed_ = 0;
  return Step::kLine;
}

// The fields of a row, up to the first that is wrong. Whether all were there; else needed_ says what to wait for.
bool CopyBinaryReader::read_fields() {
  fields_.clear();
  WireReader in(rest().substr(kCountBytes));
  for (size_t i = 0; i < columns_; ++i) {
    const size_t at = rest().size() - in.rest().size();
    const int32_t size = in.read_int32();
    if (in.is_whole() && size == -1) {
      fields_.push_back({{}, true});
      continue;
    }
    if (in.is_whole() && size < 0) {
      broken_ = bad_copy("invalid field size");
      break;
    }
    const bool has_size = in.is_whole();
    const std::string_view bytes = in.read_bytes(has_size ? static_cast<size_t>(size) : 0);
    if (in.is_whole()) {
      fields_.push_back({bytes, false});
      continue;
    }
    needed_ = at + kLengthBytes + (has_size ? static_cast<size_t>(size) : 0);
    if (!is_finished_) return false;
    broken_ = bad_copy("unexpected EOF in COPY data");
    break;
  }
  begin_ = buffer_.size() - in.rest().size();
  return true;
}

StatusOr<CopyBinaryReader::Field> CopyBinaryReader::field(size_t column) const {
  if (column >= fields_.size()) return broken_;
  return fields_[column];
}

void append_binary_begin(std::string* out) {
  out->append(kCopySignature);
  WireWriter writer(out);
  writer.put_int32(0);  // flags
  writer.put_int32(0);  // no extension
}

Status append_binary_row(const std::vector<ResultColumn>& columns, const Datum* row, std::string* out) {
  WireWriter writer(out);
  ValueArena arena;
  writer.put_int16(static_cast<int16_t>(columns.size()));
  for (size_t i = 0; i < columns.size(); ++i) {
    SCYPER_ASSIGN_OR_RETURN(const Datum value, sent_value(columns[i], /*is_binary=*/true, row[i], &arena));
    append_sent(sent_type(columns[i], /*is_binary=*/true), value, &writer);
  }
  return {};
}

void append_binary_end(std::string* out) { WireWriter(out).put_int16(-1); }

}  // namespace scyper::query
