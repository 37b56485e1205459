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
  const char* old = first ? nullptr : state->data();
  size_t old_size = first ? 0 : state->size();
  char* out = c->scratch->extend(old, old_size, extra + static_cast<size_t>(size));
  if (out == nullptr) return fail_memory(c);
  if (out != old && old_size > 0) std::memcpy(out, old, old_size);
  if (extra > 0) std::memcpy(out + old_size, delimiter->data(), extra);
  if (size > 0) std::memcpy(out + old_size + extra, data, static_cast<size_t>(size));
  *state = string_datum(out, old_size + extra + static_cast<size_t>(size));
  return 0;
}

}  // extern "C"

}  // namespace scyper::query
