#include "query/exec_context.h"

#include <cstring>
#include <new>

#include "query/result.h"
#include "types/datum_text.h"

namespace scyper::query {

int32_t ExecContext::fail(std::string_view sqlstate, std::string_view message, bool catchable) noexcept {
  error.sqlstate = sqlstate;
  error.message = message;
  error.detail.clear();
  error.hint.clear();
  error.catchable = catchable;
  error.set = true;
  return static_cast<int32_t>(Outcome::kError);
}

int32_t ExecContext::fail(const Status& status, bool catchable) noexcept {
  fail(sqlstate_of(status), std::string_view(status.message().data(), status.message().size()), catchable);
  error.detail = detail_of(status);
  error.hint = hint_of(status);
  return static_cast<int32_t>(Outcome::kError);
}

// --- ScratchArena ---

namespace {
constexpr size_t kFirstBlockBytes = 256 << 10;  // all that a short transaction needs, small enough for the L2 cache
constexpr size_t kLargeBlockBytes = 4 << 20;
}  // namespace

char* ScratchArena::allocate_slow(size_t bytes) noexcept {
  size_t wanted = blocks_.empty() ? kFirstBlockBytes : kLargeBlockBytes;
  if (bytes > wanted) wanted = bytes;
  if (total_bytes_ + wanted > limit_bytes_) return nullptr;
  std::unique_ptr<char[]> memory(new (std::nothrow) char[wanted]);
  if (memory == nullptr) return nullptr;
  total_bytes_ += wanted;
  cursor_ = memory.get();
  end_ = cursor_ + wanted;
  blocks_.push_back({std::move(memory), wanted});
  last_end_ = cursor_ + bytes;
  char* result = cursor_;
  cursor_ += bytes;
  return result;
}

// The bytes at `data` are followed by `more` free ones in the result: in place where they were allocated last.
char* ScratchArena::extend(const char* data, size_t size, size_t more) noexcept {
  if (data != nullptr && data + size == last_end_ && more <= static_cast<size_t>(end_ - last_end_)) {
    last_end_ += more;
    size_t used = (static_cast<size_t>(last_end_ - blocks_.back().memory.get()) + 15) & ~size_t{15};
    char* begin = blocks_.back().memory.get();
    cursor_ = used > static_cast<size_t>(end_ - begin) ? end_ : begin + used;
    return const_cast<char*>(data);
  }
  // room to grow: repeated appends double
  char* result = allocate(size + more);
  if (result != nullptr) last_end_ = result + size + more;
  return result;
}

void ScratchArena::reset() noexcept {
  if (blocks_.empty()) return;
  if (blocks_.size() > 1) {
    blocks_.resize(1);
    total_bytes_ = blocks_[0].bytes;
  }
  cursor_ = blocks_[0].memory.get();
  end_ = cursor_ + blocks_[0].bytes;
  last_end_ = nullptr;
}

// --- ResultSet ---

namespace {
constexpr size_t kResultBlockBytes = 16 << 10;
}

char* ResultSet::allocate(size_t bytes) {
  if (block_ < blocks_.size() && block_used_ + bytes <= block_sizes_[block_]) {
    char* result = blocks_[block_].get() + block_used_;
    block_used_ += bytes;
    return result;
  }
  while (++block_ < blocks_.size() + 1 && block_ < blocks_.size() && block_sizes_[block_] < bytes) {
  }
  if (blocks_.empty()) block_ = 0;
  if (block_ >= blocks_.size()) {
    size_t size = bytes > kResultBlockBytes ? bytes : kResultBlockBytes;
    blocks_.push_back(std::unique_ptr<char[]>(new char[size]));
    block_sizes_.push_back(size);
    block_ = blocks_.size() - 1;
  }
  block_used_ = bytes;
  return blocks_[block_].get();
}

void ResultSet::append(const SqlType& type, const Datum& value) {
  Datum copy = value;
  used_bytes_ += sizeof(Datum);
  if (!value.null && (is_string(type.id) || type.id == TypeId::kUnknown) && value.size() > 0) {
    char* text = allocate(value.size());
    std::memcpy(text, value.data(), value.size());
    copy = string_datum(text, value.size());
    used_bytes_ += value.size();
  } else if (!value.null && type.id == TypeId::kArray) {
    copy.lo = reinterpret_cast<int64_t>(copy_array(type, *array_of(value)));
  }
  values_.push_back(copy);
}

ArrayValue* ResultSet::copy_array(const SqlType& type, const ArrayValue& array) {
  size_t bytes = sizeof(ArrayValue) + static_cast<size_t>(array.size) * sizeof(Datum);
  char* memory = allocate(bytes + 16);
  memory += (16 - reinterpret_cast<uintptr_t>(memory) % 16) % 16;
  used_bytes_ += bytes;
  auto* copy = new (memory) ArrayValue(array);
  copy->capacity = array.size;
  copy->elements = reinterpret_cast<Datum*>(memory + sizeof(ArrayValue));
  for (int32_t i = 0; i < array.size; i++) {
    Datum element = array.elements[i];
    if (!element.null && is_string(type.element) && element.size() > 0) {
      char* text = allocate(element.size());
      std::memcpy(text, element.data(), element.size());
      used_bytes_ += element.size();
      element = string_datum(text, element.size());
    }
    copy->elements[i] = element;
  }
  return copy;
}

void ResultSet::clear() {
  columns.clear();
  command_tag.clear();
  affected_rows = 0;
  notices.clear();
  values_.clear();
  block_ = 0;
  block_used_ = 0;
  used_bytes_ = 0;
  if (blocks_.size() > 4) {  // one large answer does not hold its memory for ever
    blocks_.resize(4);
    block_sizes_.resize(4);
  }
}

}  // namespace scyper::query
