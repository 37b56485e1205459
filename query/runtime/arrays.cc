#include <algorithm>
#include <cstring>

#include "runtime/memory.h"
#include "runtime/runtime.h"
#include "types/datum_text.h"

namespace scyper::query {

namespace {

constexpr int32_t kArrayElementsMax = 1 << 24;

ArrayValue* new_array(ExecContext* c, TypeId element, int32_t capacity) {
  auto* array = reinterpret_cast<ArrayValue*>(c->scratch->allocate(sizeof(ArrayValue)));
  auto* elements = reinterpret_cast<Datum*>(c->scratch->allocate(static_cast<size_t>(capacity) * sizeof(Datum)));
  if (array == nullptr || elements == nullptr) return nullptr;
  *array = ArrayValue{0, capacity, 1, element, elements};
  return array;
}

bool reserve(ExecContext* c, ArrayValue* array, int64_t size) {
  if (size <= array->capacity) return true;
  if (size > kArrayElementsMax) return false;
  int32_t capacity = static_cast<int32_t>(std::max<int64_t>({size, int64_t{array->capacity} * 2, 16}));
  auto* elements = reinterpret_cast<Datum*>(c->scratch->allocate(static_cast<size_t>(capacity) * sizeof(Datum)));
  if (elements == nullptr) return false;
  if (array->size > 0)
    std::memcpy(static_cast<void*>(elements), array->elements, static_cast<size_t>(array->size) * sizeof(Datum));
  array->elements = elements;
  array->capacity = capacity;
  return true;
}

}  // namespace

namespace {

// In front of the text that string_agg() collects. The text grows in place while the state that ends at `used` is the
// newest; a copy of an older state moves to a buffer of its own.
struct CollectedText {
  size_t capacity;
  size_t used;
};
// Where the state keeps the text's address: behind the value and the count (codegen/aggregate_state.h).
constexpr size_t kCollectedAt = sizeof(Datum) + sizeof(int64_t);

// Memory for the state's text with what it holds already, `size` bytes in all; null: out of memory. Buffers double, so
// that n appended values cost O(n) memory whatever else the transaction allocates between them.
char* text_with_room(ExecContext* c, Datum* state, size_t size) {
  char* kept = nullptr;
  char* const place = reinterpret_cast<char*>(state) + kCollectedAt;
  std::memcpy(&kept, place, sizeof(kept));
  const bool is_first = state->lo == 0;
  const size_t old_size = is_first ? 0 : state->size();
  if (!is_first && kept == state->data()) {
    auto* collected = reinterpret_cast<CollectedText*>(kept) - 1;
    if (collected->used == old_size && collected->capacity >= size) return collected->used = size, kept;
  }
  const size_t capacity = is_first ? size : 2 * size;
  char* memory = c->scratch->allocate(sizeof(CollectedText) + capacity);
  if (memory == nullptr) return nullptr;
  *reinterpret_cast<CollectedText*>(memory) = {capacity, size};
  char* text = memory + sizeof(CollectedText);
  if (old_size > 0) std::memcpy(text, state->data(), old_size);
  std::memcpy(place, &text, sizeof(text));
  return text;
}

}  // namespace

extern "C" {

int32_t rt_array_make(ExecContext* c, const SqlType* element, const Datum* items, int64_t count) noexcept {
  constexpr int64_t kLeastCapacity = 16;  // it may grow
  ArrayValue* array = new_array(c, element->id, static_cast<int32_t>(std::max(count, kLeastCapacity)));
  if (array == nullptr) return fail_memory(c);
  if (count > 0) std::memcpy(static_cast<void*>(array->elements), items, static_cast<size_t>(count) * sizeof(Datum));
  array->size = static_cast<int32_t>(count);
  c->value[0] = reinterpret_cast<int64_t>(array);
  return 0;
}

int64_t rt_array_get(const ArrayValue* array, int64_t index) noexcept {
  int64_t position = index - array->lower_bound;
  if (position < 0 || position >= array->size) return 0;
  return reinterpret_cast<int64_t>(&array->elements[position]);
}

// Changes the array in place: the variable owns it. Beyond its ends it grows, NULLs in between, as PostgreSQL's arrays
// do.
int32_t rt_array_set(ExecContext* c, ArrayValue* array, int64_t index, const Datum* item,
                     const SqlType* element) noexcept {
  if (array == nullptr) {
    array = new_array(c, element->id, 16);
    if (array == nullptr) return fail_memory(c);
  }
  if (array->size == 0) array->lower_bound = static_cast<int32_t>(index);
  int64_t position = index - array->lower_bound;
  int64_t size = std::max<int64_t>(array->size, position + 1);
  if (position < 0) size = array->size - position;
  if (size > kArrayElementsMax) return c->fail("54000", "array size exceeds the maximum allowed");
  if (!reserve(c, array, size)) return fail_memory(c);
  if (position < 0) {
    size_t shift = static_cast<size_t>(-position);
    std::memmove(static_cast<void*>(array->elements + shift), array->elements,
                 static_cast<size_t>(array->size) * sizeof(Datum));
    for (size_t i = 0; i < shift; i++) array->elements[i] = null_datum();
    array->lower_bound = static_cast<int32_t>(index);
    position = 0;
  }
  for (int64_t i = array->size; i < position; i++) array->elements[i] = null_datum();
  array->elements[position] = *item;
  array->size = static_cast<int32_t>(size);
  c->value[0] = reinterpret_cast<int64_t>(array);
  return 0;
}

int32_t rt_array_append(ExecContext* c, ArrayValue* array, const Datum* item, const SqlType* element) noexcept {
  int64_t index = array == nullptr || array->size == 0 ? 1 : int64_t{array->lower_bound} + array->size;
  return rt_array_set(c, array, index, item, element);
}

int32_t rt_string_agg(ExecContext* c, Datum* state, const char* data, int64_t size, const Datum* delimiter) noexcept {
  bool first = state->lo == 0;
  size_t extra = first || delimiter->null ? 0 : delimiter->size();
  size_t old_size = first ? 0 : state->size();
  const size_t new_size = old_size + extra + static_cast<size_t>(size);
  char* out = text_with_room(c, state, new_size);
  if (out == nullptr) return fail_memory(c);
  if (extra > 0) std::memcpy(out + old_size, delimiter->data(), extra);
  if (size > 0) std::memcpy(out + old_size + extra, data, static_cast<size_t>(size));
  *state = string_datum(out, new_size);
  return 0;
}

}  // extern "C"

}  // namespace scyper::query
