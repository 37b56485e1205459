#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/status.h"

// The values of jsonpath's .datetime().
namespace scyper::query {

enum class MomentKind : uint8_t { kDate, kTime, kTimeWithZone, kTimestamp, kTimestampWithZone };

struct PathMoment {
  MomentKind kind = MomentKind::kDate;
  int64_t value = 0;  // days, or microseconds: of the day, of the clock, in UTC
  int32_t east = 0;   // seconds, of kinds with a zone
};

// By a template, or by the first of PostgreSQL's ISO templates that fits. 22007, 22008, 22031.
Status path_moment_parse(std::string_view text, const std::string* pattern, PathMoment* out);
std::string path_moment_text(const PathMoment& moment);
// "timestamp without time zone"
const char* path_moment_type(MomentKind kind);
// 0A000: the session's zone is needed, which may not be used. *comparable false: a date beside a time.
Status path_moment_compare(const PathMoment& a, const PathMoment& b, bool with_zone, bool* comparable, int* order);

}  // namespace scyper::query
