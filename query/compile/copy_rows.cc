#include <algorithm>
#include <cstring>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/check.h"
#include "query/copy.h"
#include "query/error_status.h"
#include "storage/big_numeric.h"
#include "types/value_error.h"

// How a value is kept: one byte that says how, then
//   kNull    nothing
//   kNumber  Datum::lo as a varint, folded (0, -1, 1, ...): hi is its sign, scale 0
//   kScaled  the same with one byte for the scale before it
//   kText    its size as a varint, its bytes
//   kWhole   the Datum; of an array, what it points to is in kept_
namespace scyper::query {

namespace {

enum class Kept : char { kNull, kNumber, kScaled, kText, kWhole };

constexpr size_t kBlockBytes = size_t{256} << 10;

uint64_t fold(int64_t value) { return (static_cast<uint64_t>(value) << 1) ^ static_cast<uint64_t>(value >> 63); }
int64_t unfold(uint64_t value) { return static_cast<int64_t>(value >> 1) ^ -static_cast<int64_t>(value & 1); }

uint64_t take_number(const char** at) {
  uint64_t value = 0;
  for (int shift = 0;; shift += 7) {
    const auto byte = static_cast<unsigned char>(*(*at)++);
    value |= uint64_t{byte & 0x7Fu} << shift;
    if (byte < 0x80) return value;
  }
}

bool is_small(const Datum& value) {
  return value.hi == (value.lo < 0 ? -1 : 0) && value.scale >= 0 && value.scale < 256;
}

}  // namespace

CopyRows::CopyRows(CopyTarget target)
    : target_(std::move(target)), reader_(target_.format, target_.columns.size()), current_(target_.columns.size()) {}

size_t CopyRows::memory_bytes() const { return block_bytes_ + kept_bytes_ + reader_.buffered_bytes() + row_.size(); }

Status CopyRows::add(std::string_view bytes) {
  reader_.add(bytes);
  return read_lines();
}

Status CopyRows::finish() {
  reader_.finish();
  return read_lines();
}

Status CopyRows::read_lines() {
  while (true) {
    auto step = reader_.next();
    is_line_whole_ = !reader_.text().empty();
    if (!step.ok()) return with_context(step.status());
    if (*step != CopyReader::Step::kLine) return Status();
    is_line_whole_ = true;
    if (!std::exchange(has_header_, true) && target_.format.header != CopyHeader::kNone)
      SCYPER_RETURN_IF_ERROR(check_header());
    else
      SCYPER_RETURN_IF_ERROR(read_row());
  }
}

// The first line, which is no row.
Status CopyRows::check_header() {
  if (target_.format.header != CopyHeader::kMatch) return Status();
  const auto& fields = reader_.fields();
  if (reader_.field_count() != target_.columns.size())
    return with_context(sql_error("22P04", absl::StrCat("wrong number of fields in header line: got ",
                                                        reader_.field_count(), ", expected ", target_.columns.size())));
  for (size_t i = 0; i < fields.size(); i++) {
    const std::string& name = target_.columns[i].name;
    auto differs = [&](const std::string& got) {
      return with_context(sql_error("22P04", absl::StrCat("column name mismatch in header line field ", i + 1, ": got ",
                                                          got, ", expected \"", name, "\"")));
    };
    if (fields[i].is_null) return differs(absl::StrCat("null value (\"", target_.format.null_text, "\")"));
    if (fields[i].text != name) return differs(absl::StrCat("\"", std::string(fields[i].text), "\""));
  }
  return Status();
}

Status CopyRows::read_row() {
  const auto& fields = reader_.fields();
  const auto& columns = target_.columns;
  const CopyFormat& format = target_.format;
  row_.clear();
  append_number(reader_.line() - last_line_);
  if (reader_.field_count() > columns.size())
    return with_context(sql_error("22P04", "extra data after last expected column"));
  for (size_t i = 0; i < columns.size(); i++) {
    if (i >= fields.size())
      return with_context(sql_error("22P04", absl::StrCat("missing data for column \"", columns[i].name, "\"")));
    std::string_view text = fields[i].text;
    bool is_null = fields[i].is_null;
    if (is_null && !format.force_not_null.empty() && format.force_not_null[i]) {
      is_null = false;
      text = format.null_text;
    } else if (!is_null && !format.force_null.empty() && format.force_null[i]) {
      is_null = text == format.null_text;
    }
    if (is_null) {
      row_ += static_cast<char>(Kept::kNull);
    } else {
      SCYPER_RETURN_IF_ERROR(append_value(i, text));
    }
  }
  keep_row();
  return Status();
}

Status CopyRows::append_value(size_t column, std::string_view text) {
  const SqlType& type = target_.columns[column].type;
  const bool is_array = type.id == TypeId::kArray;
  Datum value;
  Status status = parse_value(type, text, is_array ? &kept_ : &scratch_, &value);
  if (status.ok() && type.id == TypeId::kNumeric && is_special_numeric(value))  // it would have to be kept apart
    status = error_status(ValueError::kNumericUnstorable);
  if (!status.ok())
    return with_context(std::move(status),
                        absl::StrCat(", column ", target_.columns[column].name, ": \"", cut_for_context(text), "\""));
  if (holds_bytes(type.id) && !is_array) {
    row_ += static_cast<char>(Kept::kText);
    append_number(value.size());
    append_bytes(value.data(), value.size());
    scratch_.clear();
  } else if (!is_array && is_small(value)) {
    row_ += static_cast<char>(value.scale == 0 ? Kept::kNumber : Kept::kScaled);
    if (value.scale != 0) row_ += static_cast<char>(value.scale);
    append_number(fold(value.lo));
  } else {
    row_ += static_cast<char>(Kept::kWhole);
    append_bytes(&value, sizeof(value));
    if (is_array) kept_bytes_ += text.size() * sizeof(Datum);  // an element takes a letter and a comma at least
  }
  return Status();
}

void CopyRows::append_number(uint64_t number) {
  for (; number >= 0x80; number >>= 7) row_ += static_cast<char>(number | 0x80);
  row_ += static_cast<char>(number);
}

void CopyRows::keep_row() {
  if (blocks_.empty() || blocks_.back().capacity - blocks_.back().used < row_.size()) {
    Block block;
    block.capacity = std::max(kBlockBytes, row_.size());
    block.bytes = std::make_unique_for_overwrite<char[]>(block.capacity);
    block_bytes_ += block.capacity;
    blocks_.push_back(std::move(block));
  }
  Block& block = blocks_.back();
  std::memcpy(block.bytes.get() + block.used, row_.data(), row_.size());
  block.used += row_.size();
  last_line_ = reader_.line();
  row_count_++;
}

void CopyRows::rewind() {
  block_ = at_ = 0;
  current_line_ = 0;
}

const Datum* CopyRows::next() noexcept {
  while (block_ < blocks_.size() && at_ == blocks_[block_].used) {
    block_++;
    at_ = 0;
  }
  if (block_ == blocks_.size()) {
    current_line_ = 0;  // what fails now is not about a line
    return nullptr;
  }
  const char* const begin = blocks_[block_].bytes.get();
  const char* at = begin + at_;
  current_line_ += take_number(&at);
  for (Datum& value : current_) {
    switch (static_cast<Kept>(*at++)) {
      case Kept::kNull:
        value = null_datum();
        break;
      case Kept::kNumber:
        value = int_datum(unfold(take_number(&at)));
        break;
      case Kept::kScaled: {
        const auto scale = static_cast<unsigned char>(*at++);
        value = int_datum(unfold(take_number(&at)));
        value.scale = scale;
        break;
      }
      case Kept::kText: {
        const uint64_t size = take_number(&at);
        value = string_datum(at, size);
        at += size;
        break;
      }
      case Kept::kWhole:
        std::memcpy(&value, at, sizeof(value));
        at += sizeof(value);
        break;
    }
  }
  at_ = static_cast<size_t>(at - begin);
  return current_.data();
}

Status CopyRows::with_context(Status status, const std::string& what) const {
  std::string line = absl::StrCat("COPY ", target_.table, ", line ", reader_.line());
  if (!what.empty())
    absl::StrAppend(&line, what);
  else if (is_line_whole_)
    absl::StrAppend(&line, ": \"", cut_for_context(reader_.text()), "\"");
  return query::with_context(std::move(status), line);
}

Status CopyRows::at_line(Status status) const {
  const uint64_t line = std::max<uint64_t>(reader_.line(), 1);
  return query::with_context(std::move(status), absl::StrCat("COPY ", target_.table, ", line ", line));
}

Status CopyRows::with_line(Status status) const {
  const bool is_about_all = sqlstate_of(status) == "23503";  // checked when all rows are in
  if (current_line_ == 0 || is_about_all) return status;
  return query::with_context(std::move(status), absl::StrCat("COPY ", target_.table, ", line ", current_line_));
}

}  // namespace scyper::query
