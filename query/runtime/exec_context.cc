#include "query/exec_context.h"

#include <sys/mman.h>

#include <algorithm>
#include <cstring>
#include <iterator>
#include <new>

#include "base/bounded_work.h"
#include "base/copy.h"
#include "base/object_name.h"
#include "query/error_status.h"
#include "query/result.h"
#include "storage/big_numeric.h"
#include "types/datum_text.h"

namespace scyper::query {

int32_t ExecContext::fail(std::string_view sqlstate, std::string_view message, bool catchable) noexcept {
  const BoundedWork::Pause pause;
  error.sqlstate = sqlstate;
  if (message.find('\x01') == std::string_view::npos)
    error.message = message;
  else  // names of objects in schemas
    error.message = without_keys(message, false);
  for (std::string* text : {&error.detail, &error.hint, &error.column, &error.constraint, &error.datatype, &error.table,
                            &error.schema, &error.context})
    text->clear();
  if (sqlstate.starts_with("23")) name_violated(*this, message, &error);
  error.catchable = catchable;
  error.set = true;
  return static_cast<int32_t>(Outcome::kError);
}

int32_t ExecContext::fail(const Status& status, bool catchable) noexcept {
  const BoundedWork::Pause pause;
  fail(sqlstate_of(status), std::string_view(status.message().data(), status.message().size()), catchable);
  error.detail = detail_of(status);
  error.hint = hint_of(status);
  return static_cast<int32_t>(Outcome::kError);
}

// --- ScratchArena ---

namespace {
constexpr size_t kFirstBlockBytes = 256 << 10;  // all that a short transaction needs, small enough for the L2 cache
constexpr size_t kLargeBlockBytes = 4 << 20;
constexpr size_t kHugePageBytes = 2 << 20;
constexpr size_t kKeptBytes = 256 << 20;  // by reset(): fresh pages cost more than what is done with them

char* map_block(size_t bytes) noexcept {
  if (bytes < kLargeBlockBytes) return new (std::nothrow) char[bytes];
  bytes = (bytes + kHugePageBytes - 1) & ~(kHugePageBytes - 1);
  // one page more, so that huge pages fit their borders
  void* memory = mmap(nullptr, bytes + kHugePageBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) return nullptr;
  auto begin = reinterpret_cast<uintptr_t>(memory);
  uintptr_t aligned = (begin + kHugePageBytes - 1) & ~(kHugePageBytes - 1);
  if (aligned != begin) munmap(memory, aligned - begin);
  if (size_t rest = begin + kHugePageBytes - aligned; rest != 0) munmap(reinterpret_cast<void*>(aligned + bytes), rest);
  auto* block = reinterpret_cast<char*>(aligned);
  madvise(block, bytes, MADV_HUGEPAGE);
  return block;
}
}  // namespace

void ScratchArena::Unmap::operator()(char* block) const noexcept {
  if (bytes < kLargeBlockBytes) {
    delete[] block;
    return;
  }
  munmap(block, (bytes + kHugePageBytes - 1) & ~(kHugePageBytes - 1));
}

char* ScratchArena::allocate_slow(size_t bytes) noexcept {
  const BoundedWork::Pause pause;  // it has a bound of its own
  // blocks kept from before are used again, in order
  while (current_ + 1 < blocks_.size()) {
    Block& next = blocks_[++current_];
    if (next.bytes >= bytes) return use(next, bytes);
    total_bytes_ -= next.bytes;
    blocks_.erase(blocks_.begin() + static_cast<ptrdiff_t>(current_--));
  }
  size_t wanted = blocks_.empty() ? kFirstBlockBytes : kLargeBlockBytes;
  if (limit_bytes_ > total_bytes_) wanted = std::min(wanted, limit_bytes_ - total_bytes_);
  if (bytes > wanted) wanted = bytes;
  if (total_bytes_ + wanted > limit_bytes_) return nullptr;
  std::unique_ptr<char[], Unmap> memory(map_block(wanted), Unmap{wanted});
  if (memory == nullptr) return nullptr;
  total_bytes_ += wanted;
  blocks_.push_back({std::move(memory), wanted});
  current_ = blocks_.size() - 1;
  return use(blocks_.back(), bytes);
}

char* ScratchArena::use(const Block& block, size_t bytes) noexcept {
  char* result = block.memory.get();
  cursor_ = result + bytes;
  end_ = result + block.bytes;
  last_end_ = cursor_;
  return result;
}

// The bytes at `data` are followed by `more` free ones in the result: in place where they were allocated last.
char* ScratchArena::extend(const char* data, size_t size, size_t more) noexcept {
  if (!blocks_.empty() && data != nullptr && data + size == last_end_ &&
      more <= static_cast<size_t>(end_ - last_end_)) {
    last_end_ += more;
    size_t used = (static_cast<size_t>(last_end_ - blocks_[current_].memory.get()) + 15) & ~size_t{15};
    char* begin = blocks_[current_].memory.get();
    cursor_ = used > static_cast<size_t>(end_ - begin) ? end_ : begin + used;
    if (growing_[0].data == data) growing_[0].used = growing_[0].capacity = size + more;
    return const_cast<char*>(data);
  }
  return grow(data, size, more);
}

char* ScratchArena::grow(const char* data, size_t size, size_t more) noexcept {
  size_t at = 0;
  while (at < kGrowingKept && (growing_[at].data != data || growing_[at].used != size)) at++;
  const bool is_known = at < kGrowingKept && data != nullptr;
  Growing grown = is_known ? growing_[at] : Growing{};
  if (is_known && grown.capacity - size >= more) {
    grown.used = size + more;
  } else {
    size_t capacity = is_known ? 2 * (size + more) : size + more;
    char* memory = allocate(capacity);
    if (memory == nullptr && is_known) memory = allocate(capacity = size + more);
    if (memory == nullptr) return nullptr;
    grown = {memory, size + more, capacity};
  }
  if (!is_known) at = kGrowingKept - 1;
  for (; at > 0; at--) growing_[at] = growing_[at - 1];
  growing_[0] = grown;
  return const_cast<char*>(grown.data);
}

void ScratchArena::reset() noexcept {
  if (blocks_.empty()) return;
  std::fill(std::begin(growing_), std::end(growing_), Growing{});
  while (blocks_.size() > 1 && total_bytes_ > kKeptBytes) {
    total_bytes_ -= blocks_.back().bytes;
    blocks_.pop_back();
  }
  current_ = 0;
  cursor_ = blocks_[0].memory.get();
  end_ = cursor_ + blocks_[0].bytes;
  last_end_ = nullptr;
}

// --- ResultSet ---

namespace {
constexpr size_t kResultBlockBytes = 16 << 10;
}

char* ResultSet::allocate_slow(size_t bytes) {
  size_t next = free_.begin == nullptr ? 0 : block_ + 1;
  while (next < blocks_.size() && block_sizes_[next] < bytes) next++;
  if (next == blocks_.size()) {
    size_t size = bytes > kResultBlockBytes ? bytes : kResultBlockBytes;
    blocks_.push_back(std::unique_ptr<char[]>(new char[size]));
    block_sizes_.push_back(size);
  }
  block_ = next;
  free_.begin = blocks_[next].get() + bytes;
  free_.end = blocks_[next].get() + block_sizes_[next];
  return blocks_[next].get();
}

void ResultSet::rewind() {
  block_ = 0;
  free_.begin = blocks_.empty() ? nullptr : blocks_[0].get();
  free_.end = blocks_.empty() ? nullptr : free_.begin + block_sizes_[0];
  used_bytes_ = 0;
}

Datum ResultSet::copy_text(const Datum& text) {
  char* copy = allocate(text.size());
  copy_bytes(copy, text.data(), text.size());
  used_bytes_ += text.size();
  return string_datum(copy, text.size());
}

void ResultSet::append(const SqlType& type, const Datum& value) {
  used_bytes_ += sizeof(Datum);
  if (!value.null && (holds_bytes(type.id) || type.id == TypeId::kUnknown)) {
    values_.push_back(copy_text(value));
    return;
  }
  values_.push_back(value);
  if (!value.null && type.id == TypeId::kNumeric && value.scale == kBigScale)
    values_.back().lo = copy_text(string_datum(value.data(), big_numeric_bytes(value))).lo;
  if (!value.null && type.id == TypeId::kArray)
    values_.back().lo = reinterpret_cast<int64_t>(copy_array(type, *array_of(value)));
}

ArrayValue* ResultSet::copy_array(const SqlType& type, const ArrayValue& array) {
  const size_t item_bytes = static_cast<size_t>(array.size) * sizeof(Datum);
  char* memory = allocate(sizeof(ArrayValue) + item_bytes + 16);
  memory += (16 - reinterpret_cast<uintptr_t>(memory) % 16) % 16;
  used_bytes_ += sizeof(ArrayValue) + item_bytes;
  auto* copy = new (memory) ArrayValue(array);
  copy->capacity = array.size;
  copy->elements = reinterpret_cast<Datum*>(memory + sizeof(ArrayValue));
  if (array.size > 0) std::memcpy(static_cast<void*>(copy->elements), array.elements, item_bytes);
  const bool is_numeric = type.element == TypeId::kNumeric;
  if (!holds_bytes(type.element) && !is_numeric) return copy;
  for (int32_t i = 0; i < array.size; i++) {
    Datum& item = copy->elements[i];
    if (item.null || (is_numeric && item.scale != kBigScale)) continue;
    item.lo = copy_text(is_numeric ? string_datum(item.data(), big_numeric_bytes(item)) : item).lo;
  }
  return copy;
}

void ResultSet::clear() {
  columns.clear();
  command_tag.clear();
  affected_rows = 0;
  notices.clear();
  values_.clear();
  if (blocks_.size() > 4) {  // one large answer does not hold its memory for ever
    blocks_.resize(4);
    block_sizes_.resize(4);
  }
  rewind();
}

}  // namespace scyper::query
