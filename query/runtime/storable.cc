#include "runtime/storable.h"

#include <algorithm>
#include <string>

#include "query/exec_context.h"
#include "storage/big_numeric.h"
#include "storage/key.h"
#include "types/big_number.h"
#include "types/datum_text.h"

namespace scyper::query {

namespace {

bool is_special(const Datum& value) { return value.null == 0 && is_special_numeric(value); }

int32_t rt_check_storable(ExecContext* c, const Datum* value, const SqlType* type) noexcept {
  if (value->null != 0) return 0;
  bool wrong = false;
  if (type->id == TypeId::kArray) {
    const ArrayValue* array = array_of(*value);
    wrong = std::any_of(array->elements, array->elements + array->size, is_special);
  } else {
    wrong = value->scale == kBigScale;
  }
  return wrong ? c->fail(error_status(ValueError::kNumericUnstorable)) : 0;
}

}  // namespace

char* put_special_key(char* out, const Decimal& value) {
  constexpr size_t kDigitsMax = 60;        // those of tables have 38
  constexpr int64_t kExponentMax = 20000;  // and an exponent of a few hundred
  if (!is_nan(value) && !is_infinite(value)) {
    int64_t exponent = 0;
    std::string digits = big_digits(value, &exponent);
    if (digits.empty()) return storage::put_key_decimal(out, 0, 0);
    if (digits.size() > kDigitsMax) digits.resize(kDigitsMax);
    if (digits.size() % 2 != 0) digits += '0';
    exponent = std::clamp(exponent, -kExponentMax, kExponentMax) + 0x8000;
    const bool negative = sign_of(value) < 0;
    *out++ = static_cast<char>(negative ? 0x7f : 0x81);
    char* const start = out;
    *out++ = static_cast<char>(exponent >> 8);
    *out++ = static_cast<char>(exponent);
    for (size_t i = 0; i < digits.size(); i += 2)
      *out++ = static_cast<char>((digits[i] - '0') * 10 + (digits[i + 1] - '0') + 1);
    *out++ = 0;
    for (char* byte = start; negative && byte < out; ++byte) *byte = static_cast<char>(~*byte);
    return out;
  }
  return storage::put_key_decimal(out, value.value, value.scale);
}

const ir::External k_rt_check_storable{"rt_check_storable", reinterpret_cast<void*>(&rt_check_storable), ir::Type::kI32,
                                       3, false};

}  // namespace scyper::query
