#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/status.h"
#include "storage/type.h"

namespace scyper::query {

// Why an operation on values failed. Functions that generated code calls return one of these and allocate nothing; only
// when it is not kNone does somebody build the Status a client sees, with error_status(). PostgreSQL 15's SQLSTATEs.
enum class ValueError : uint8_t {
  kNone = 0,
  kOutOfMemory,  // the caller's TextArena has no room
  // numbers
  kDivisionByZero,
  kNumericOverflow,       // more than 131072 digits before the point; where only short numbers can be, more than 38
  kNumericFieldOverflow,  // type: the numeric(p,s) that is too small
  kNumericFieldInfinite,  // type: the numeric(p,s) that an infinity was cast to
  kNumericSpecial,        // NaN as numeric(p,s) with p up to 38: not supported
  kNumericUnstorable,     // a table's column cannot hold it
  kNanToInteger,
  kInfinityToInteger,  // type: the wanted one
  kSquareRootOfNegative,
  kInt2Range,
  kInt4Range,
  kInt8Range,
  kFloatOverflow,
  kFloatUnderflow,
  // text to value; type: the wanted type, text: the input
  kInvalidText,
  kTextOutOfRange,
  kInvalidDatetimeText,
  kDatetimeFieldRange,
  kDatetimeFieldOrder,  // as kDatetimeFieldRange, month and day may be swapped
  kDateTextRange,
  kTimestampTextRange,
  kIntervalFieldRange,
  kTimezoneDisplacement,
  kTimezoneUnknown,   // text: the zone
  kDatetimeSpecial,   // 'now' and the like where there is no time. text: the word
  kMalformedArray,    // 22P02; text: the input
  kArrayUnsupported,  // more than one dimension
  kArrayTooLarge,
  // dates
  kDateRange,
  kTimestampRange,
  kIntervalRange,
  kInfiniteDates,
  kInfiniteTimestamps,
  kDateTimestampRange,  // a date beyond the timestamps
  kUnitUnknown,         // extract, date_trunc; text: the unit, type: of the value
  kUnitNotSupported,    // as above, a unit PostgreSQL knows but not for this type
  // strings
  kInvalidUtf8,    // text: the bytes from the first wrong one on
  kStringTooLong,  // type: the char(n) or varchar(n)
  kNegativeSubstringLength,
  kLengthTooLarge,
  kFieldPositionZero,  // split_part
  kNegativeCharacter,  // chr
  kNullCharacter,
  kCharacterTooLarge,  // text: the number
  kCharacterInvalid,
  kInvalidEscape,
  kPatternEndsInEscape,
  // bytes
  kByteaSyntax,
  kHexDigit,  // text: the character
  kHexOdd,
};

// The error as a client sees it. type and text as the enumerators say; unused otherwise.
Status error_status(ValueError error, const SqlType& type = {}, std::string_view text = {});

// Where produced bytes go: an arena of the caller, 8-byte aligned, freed as a whole. nullptr = no room.
struct TextArena {
  void* (*allocate_bytes)(void* arg, size_t size) noexcept;
  void* arg;

  char* allocate(size_t size) const noexcept { return static_cast<char*>(allocate_bytes(arg, size)); }
};

}  // namespace scyper::query
