#include "types/value_error.h"

#include <string>

#include "storage/big_numeric.h"
#include "types/digits.h"

namespace scyper::query {

namespace {

struct Fixed {
  const char* sqlstate;
  const char* message;
};

// The errors whose message has no part that varies.
Fixed fixed_message(ValueError error) {
  switch (error) {
    case ValueError::kOutOfMemory:
      return {"53200", "out of memory"};
    case ValueError::kDivisionByZero:
      return {"22012", "division by zero"};
    case ValueError::kNumericOverflow:
      return {"22003", "value overflows numeric format"};
    case ValueError::kNumericSpecial:
      return {"0A000", "NaN is not supported for numeric with a precision of up to 38 digits"};
    case ValueError::kNumericUnstorable:
      return {"0A000",
              "tables cannot hold numeric values of more than 38 digits, nor arrays with NaN and infinities, yet"};
    case ValueError::kSquareRootOfNegative:
      return {"2201F", "cannot take square root of a negative number"};
    case ValueError::kInt2Range:
      return {"22003", "smallint out of range"};
    case ValueError::kInt4Range:
      return {"22003", "integer out of range"};
    case ValueError::kInt8Range:
      return {"22003", "bigint out of range"};
    case ValueError::kFloatOverflow:
      return {"22003", "value out of range: overflow"};
    case ValueError::kFloatUnderflow:
      return {"22003", "value out of range: underflow"};
    case ValueError::kArrayUnsupported:
      return {"0A000", "multidimensional arrays are not supported"};
    case ValueError::kArrayTooLarge:
      return {"54000", "array size exceeds the maximum allowed"};
    case ValueError::kDateRange:
      return {"22008", "date out of range"};
    case ValueError::kTimestampRange:
      return {"22008", "timestamp out of range"};
    case ValueError::kIntervalRange:
      return {"22008", "interval out of range"};
    case ValueError::kInfiniteDates:
      return {"22008", "cannot subtract infinite dates"};
    case ValueError::kInfiniteTimestamps:
      return {"22008", "cannot subtract infinite timestamps"};
    case ValueError::kDateTimestampRange:
      return {"22008", "date out of range for timestamp"};
    case ValueError::kNegativeSubstringLength:
      return {"22011", "negative substring length not allowed"};
    case ValueError::kLengthTooLarge:
      return {"54000", "requested length too large"};
    case ValueError::kFieldPositionZero:
      return {"22023", "field position must not be zero"};
    case ValueError::kNegativeCharacter:
      return {"22023", "character number must be positive"};
    case ValueError::kNullCharacter:
      return {"54000", "null character not permitted"};
    case ValueError::kPatternEndsInEscape:
      return {"22025", "LIKE pattern must not end with escape character"};
    case ValueError::kByteaSyntax:
      return {"22P02", "invalid input syntax for type bytea"};
    case ValueError::kHexOdd:
      return {"22023", "invalid hexadecimal data: odd number of digits"};
    default:
      return {nullptr, nullptr};
  }
}

std::string in_quotes(std::string_view text) { return "\"" + std::string(text) + "\""; }

std::string in_lower_case(std::string_view text) {
  std::string out(text);
  for (char& c : out) c = to_lower(c);
  return out;
}

// "0xff 0x41": the bytes of the character that text starts with, as far as they are there.
std::string bytes_in_hex(std::string_view text) {
  static constexpr char kHex[] = "0123456789abcdef";
  uint8_t first = text.empty() ? 0 : static_cast<uint8_t>(text[0]);
  size_t size = first < 0x80             ? 1
                : (first & 0xe0) == 0xc0 ? 2
                : (first & 0xf0) == 0xe0 ? 3
                : (first & 0xf8) == 0xf0 ? 4
                                         : 1;
  std::string out;
  for (size_t i = 0; i < size && i < text.size(); ++i) {
    uint8_t byte = static_cast<uint8_t>(text[i]);
    out += i == 0 ? "0x" : " 0x";
    out += kHex[byte >> 4];
    out += kHex[byte & 15];
  }
  return out;
}

Status field_overflow(const SqlType& type) {
  const int precision = numeric_precision(type), scale = numeric_scale(type), digits = precision - scale;
  std::string limit = digits == 0 ? "1" : "10^" + std::to_string(digits);
  return with_detail(sql_error("22003", "numeric field overflow"),
                     "A field with precision " + std::to_string(precision) + ", scale " + std::to_string(scale) +
                         " must round to an absolute value less than " + limit + ".");
}

Status malformed_array(std::string_view text) {
  return sql_error("22P02", "malformed array literal: " + in_quotes(text));
}

Status datetime_error(ValueError error, const std::string& name, std::string_view text) {
  switch (error) {
    case ValueError::kDatetimeFieldRange:
      return sql_error("22008", "date/time field value out of range: " + in_quotes(text));
    case ValueError::kDatetimeFieldOrder:
      return with_hint(sql_error("22008", "date/time field value out of range: " + in_quotes(text)),
                       "Perhaps you need a different \"datestyle\" setting.");
    case ValueError::kDateTextRange:
      return sql_error("22008", "date out of range: " + in_quotes(text));
    case ValueError::kTimestampTextRange:
      return sql_error("22008", "timestamp out of range: " + in_quotes(text));
    case ValueError::kIntervalFieldRange:
      return sql_error("22015", "interval field value out of range: " + in_quotes(text));
    case ValueError::kTimezoneDisplacement:
      return sql_error("22009", "time zone displacement out of range: " + in_quotes(text));
    case ValueError::kTimezoneUnknown:
      return sql_error("22023", "time zone " + in_quotes(in_lower_case(text)) + " not recognized");
    case ValueError::kDatetimeSpecial:
      return sql_error("0A000", in_quotes(text) + " is not supported for type " + name);
    case ValueError::kUnitUnknown:
      return sql_error("22023", "unit " + in_quotes(in_lower_case(text)) + " not recognized for type " + name);
    case ValueError::kUnitNotSupported:
      return sql_error("0A000", "unit " + in_quotes(in_lower_case(text)) + " not supported for type " + name);
    default: {
      // the one place where PostgreSQL calls the type by its short name
      std::string shown = name == "timestamp without time zone" ? "timestamp"
                          : name == "time without time zone"    ? "time"
                                                                : name;
      return sql_error("22007", "invalid input syntax for type " + shown + ": " + in_quotes(text));
    }
  }
}

// The name without modifiers, as in PostgreSQL's input errors.
std::string plain_name(const SqlType& type) { return type_name(make_type(type.id)); }

}  // namespace

Status error_status(ValueError error, const SqlType& type, std::string_view text) {
  if (error == ValueError::kNone) return absl::OkStatus();
  if (Fixed fixed = fixed_message(error); fixed.sqlstate != nullptr) return sql_error(fixed.sqlstate, fixed.message);
  switch (error) {
    case ValueError::kNumericFieldOverflow:
      return field_overflow(type);
    case ValueError::kNumericFieldInfinite:
      return with_detail(sql_error("22003", "numeric field overflow"),
                         "A field with precision " + std::to_string(numeric_precision(type)) + ", scale " +
                             std::to_string(numeric_scale(type)) + " cannot hold an infinite value.");
    case ValueError::kNanToInteger:
      return sql_error("0A000", "cannot convert NaN to " + plain_name(type));
    case ValueError::kInfinityToInteger:
      return sql_error("0A000", "cannot convert infinity to " + plain_name(type));
    case ValueError::kInvalidText:
      return sql_error("22P02", "invalid input syntax for type " + plain_name(type) + ": " + in_quotes(text));
    case ValueError::kTextOutOfRange:
      if (type.id == TypeId::kFloat8)
        return sql_error("22003", in_quotes(text) + " is out of range for type double precision");
      if (type.id == TypeId::kFloat4) return sql_error("22003", in_quotes(text) + " is out of range for type real");
      return sql_error("22003", "value " + in_quotes(text) + " is out of range for type " + plain_name(type));
    case ValueError::kMalformedArray:
      return malformed_array(text);
    case ValueError::kInvalidEscape:
      return with_hint(sql_error("22025", "invalid escape string"), "Escape string must be empty or one character.");
    case ValueError::kInvalidUtf8:
      return sql_error("22021", "invalid byte sequence for encoding \"UTF8\": " + bytes_in_hex(text));
    case ValueError::kStringTooLong:
      return sql_error("22001", "value too long for type " + type_name(type));
    case ValueError::kCharacterTooLarge:
      return sql_error("54000", "requested character too large for encoding: " + std::string(text));
    case ValueError::kHexDigit:
      return sql_error("22023", "invalid hexadecimal digit: " + in_quotes(text));
    case ValueError::kCharacterInvalid:
      return sql_error("54000", "requested character not valid for encoding: " + std::string(text));
    default:
      return datetime_error(error, plain_name(type), text);
  }
}

}  // namespace scyper::query
