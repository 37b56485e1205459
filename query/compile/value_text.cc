#include "query/value_text.h"

#include <algorithm>
#include <chrono>

#include "types/date_style.h"
#include "types/datetime.h"
#include "types/datum_text.h"
#include "types/range.h"

namespace scyper::query {

namespace {

constexpr size_t kBlockBytes = 16 << 10;

void* allocate_in(void* arena, size_t bytes) noexcept { return static_cast<ValueArena*>(arena)->allocate(bytes); }

}  // namespace

void* ValueArena::allocate(size_t bytes) {
  bytes = (bytes + 7) & ~size_t{7};
  if (blocks_.empty() || used_bytes_ + bytes > block_bytes_) {
    block_bytes_ = std::max(kBlockBytes, bytes);
    blocks_.push_back(std::make_unique_for_overwrite<char[]>(block_bytes_));
    used_bytes_ = 0;
  }
  char* place = blocks_.back().get() + used_bytes_;
  used_bytes_ += bytes;
  return place;
}

void ValueArena::clear() {
  if (blocks_.size() > 1) blocks_.erase(blocks_.begin(), blocks_.end() - 1);
  used_bytes_ = 0;
}

namespace {
constinit thread_local int64_t value_time_us = 0;

int64_t value_time() {
  constexpr int64_t kUnixToEpochMicros = 946684800 * kMicrosPerSecond;
  if (value_time_us != 0) return value_time_us;
  const auto since_1970 = std::chrono::system_clock::now().time_since_epoch();
  return std::chrono::duration_cast<std::chrono::microseconds>(since_1970).count() - kUnixToEpochMicros;
}
}  // namespace

void set_thread_value_time(int64_t time_us) { value_time_us = time_us; }

// 'now' and the like mean the time at which the value comes in: it is kept as a value from here on.
Status parse_value(const SqlType& type, std::string_view text, ValueArena* arena, Datum* out) {
  const Status parsed = parse_datum(type, text, TextArena{allocate_in, arena}, out);
  const TypeId id = innermost_element(type.id);
  const bool is_of_time = is_moment(id) || id == TypeId::kTime || id == TypeId::kTimetz;
  if (parsed.ok() || !is_of_time || NowScope::current != nullptr) return parsed;
  const NowScope now(value_time());
  return parse_datum(type, text, TextArena{allocate_in, arena}, out);
}

void append_value(std::string* out, const SqlType& type, const Datum& value) {
  if (!value.null) append_datum(out, type, value);
}

}  // namespace scyper::query
