#include <cstddef>
#include <cstdint>
#include <deque>
#include <string>

#include "base/check.h"
#include "types/datum_text.h"

namespace scyper::query {

namespace {

constexpr SqlType kTypes[] = {make_type(TypeId::kBool),
                              make_type(TypeId::kInt2),
                              make_type(TypeId::kInt4),
                              make_type(TypeId::kInt8),
                              make_type(TypeId::kFloat8),
                              make_type(TypeId::kNumeric),
                              make_numeric(8, 2),
                              make_numeric(38, 10),
                              make_string(TypeId::kChar, 5),
                              make_string(TypeId::kVarchar, 5),
                              make_type(TypeId::kText),
                              make_type(TypeId::kDate),
                              make_type(TypeId::kTimestamp),
                              make_type(TypeId::kInterval),
                              make_type(TypeId::kFloat4),
                              make_array(make_type(TypeId::kInt4)),
                              make_array(make_type(TypeId::kText)),
                              make_array(make_type(TypeId::kTimestamp)),
                              make_type(TypeId::kTimestamptz),
                              make_type(TypeId::kTime),
                              make_type(TypeId::kUuid),
                              make_type(TypeId::kBytea),
                              make_type(TypeId::kJsonb)};

// The first byte names the type, the rest is what its input function reads. What it takes must come out in a form that
// reads as the same value again.
void fuzz(const uint8_t* data, size_t size) {
  if (size == 0) return;
  SqlType type = kTypes[data[0] % std::size(kTypes)];
  std::string_view text(reinterpret_cast<const char*>(data) + 1, size - 1);
  if (text.find('\0') != std::string_view::npos) return;
  std::deque<std::string> memory;
  TextArena arena{[](void* arg, size_t bytes) noexcept -> void* {
                    return static_cast<std::deque<std::string>*>(arg)->emplace_back(bytes + 1, '\0').data();
                  },
                  &memory};
  Datum value;
  Status status = parse_datum(type, text, arena, &value);
  if (!status.ok()) {
    CHECK(sqlstate_of(status).size() == 5);
    return;
  }
  std::string shown;
  append_datum(&shown, type, value);
  Datum again;
  CHECK(parse_datum(type, shown, arena, &again).ok());
  CHECK(compare_datums(type, value, again) == 0 && hash_datum(type, value) == hash_datum(type, again));
  std::string twice;
  append_datum(&twice, type, again);
  CHECK(shown == twice);
}

}  // namespace

// libFuzzer's entry point: its name and type are given.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  fuzz(data, size);
  return 0;
}

}  // namespace scyper::query
