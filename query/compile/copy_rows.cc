#include <algorithm>
#include <cstring>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/check.h"
#include "query/copy.h"
#include "query/error_status.h"
#include "query/search_path.h"
#include "types/timezone.h"

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
    : target_(std::move(target)),
      lines_(target_),
      current_(target_.columns.size()),
      zone_(make_session_zone(time_zone_of(target_.sql))) {}

size_t CopyRows::memory_bytes() const { return block_bytes_ + kept_bytes_ + lines_.buffered_bytes() + row_.size(); }

Status CopyRows::add(std::string_view bytes) {
  if (target_.format.encoding != nullptr) return add_converted(bytes);
  lines_.add(bytes);
  return read_lines();
}

Status CopyRows::add_converted(std::string_view bytes) {
  if (converter_ == nullptr) {
    SCYPER_ASSIGN_OR_RETURN(converter_, copy_converter(target_.format, TextConverter::Direction::kToUtf8));
  }
  std::string text;
  const Status status = converter_ == nullptr ? (text = bytes, Status()) : converter_->append_piece(bytes, &text);
  lines_.add(text);
  SCYPER_RETURN_IF_ERROR(read_lines());
  return status.ok() ? status : lines_.at_line(status);
}

Status CopyRows::finish() {
  if (converter_ != nullptr) {
    if (Status status = converter_->finish(); !status.ok()) return lines_.at_line(status);
  }
  lines_.finish();
  return read_lines();
}

Status CopyRows::read_lines() {
  const ZoneScope zone(zone_.get());
  while (true) {
    SCYPER_ASSIGN_OR_RETURN(CopyReader::Step step, lines_.next());
    if (step != CopyReader::Step::kLine) return Status();
    SCYPER_RETURN_IF_ERROR(read_row());
  }
}

Status CopyRows::read_row() {
  row_.clear();
  append_number(lines_.line() - last_line_);
  for (size_t i = 0; i < target_.columns.size(); i++) {
    Datum value;
    SCYPER_RETURN_IF_ERROR(lines_.read_value(i, &scratch_, &kept_, &value));
    append_value(i, value);
  }
  keep_row();
  return Status();
}

void CopyRows::append_value(size_t column, const Datum& value) {
  const SqlType& type = target_.columns[column].type;
  const bool is_array = type.id == TypeId::kArray;
  if (value.null) {
    row_ += static_cast<char>(Kept::kNull);
  } else if (holds_bytes(type.id) && !is_array) {
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
    // an element takes a letter and a comma at least
    if (is_array) kept_bytes_ += lines_.field_bytes(column) * sizeof(Datum);
  }
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
  last_line_ = lines_.line();
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

Status CopyRows::with_line(Status status) const {
  const bool is_about_all = sqlstate_of(status) == "23503";  // checked when all rows are in
  if (current_line_ == 0 || is_about_all) return status;
  return query::with_context(std::move(status), absl::StrCat("COPY ", target_.table, ", line ", current_line_));
}

}  // namespace scyper::query
