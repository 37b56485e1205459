#include "query/value_binary.h"

#include "types/binary.h"
#include "types/datetime.h"

namespace scyper::query {

namespace {

Status check_between(int64_t number, int64_t min, int64_t max, const char* message) {
  return number >= min && number <= max ? Status() : sql_error("22008", message);
}

}  // namespace

static_assert(std::tuple_size_v<UuidBytes> == kUuidBytes);

Datum uuid_of(const UuidBytes& bytes) { return datum_of_uuid(bytes.data()); }

UuidBytes bytes_of_uuid(const Datum& uuid) {
  UuidBytes bytes;
  uuid_bytes(uuid, bytes.data());
  return bytes;
}

Status check_range(TypeId type, int64_t number) {
  switch (type) {
    case TypeId::kDate:
      if (number == kDateInfinity || number == kDateMinusInfinity) return {};
      return check_between(number, kDateMin, kDateMax, "date out of range");
    case TypeId::kTime:
      return check_between(number, 0, kMicrosPerDay, "time out of range");  // 24:00:00 is a time
    case TypeId::kTimestamp:
    case TypeId::kTimestamptz:
      if (!is_finite_timestamp(number)) return {};
      return check_between(number, kTimestampMin, kTimestampMax, "timestamp out of range");
    default:
      return {};
  }
}

}  // namespace scyper::query
