#pragma once

#include <cstdint>

// What window calls are made of, for binder, planner, generator and runtime alike.
namespace scyper::query {

enum class WindowKind : uint8_t {
  kAggregate,
  kRowNumber,
  kRank,
  kDenseRank,
  kPercentRank,
  kCumeDist,
  kNtile,
  kLag,
  kLead,
  kFirstValue,
  kLastValue,
  kNthValue,
};

enum class FrameMode : uint8_t { kRange, kRows, kGroups };
enum class FrameBound : uint8_t { kUnboundedPreceding, kPreceding, kCurrentRow, kFollowing, kUnboundedFollowing };
enum class FrameExclusion : uint8_t { kNone, kCurrentRow, kGroup, kTies };

struct FrameShape {
  FrameMode mode = FrameMode::kRange;
  FrameBound start = FrameBound::kUnboundedPreceding;
  FrameBound end = FrameBound::kCurrentRow;
  FrameExclusion exclusion = FrameExclusion::kNone;
  friend bool operator==(const FrameShape&, const FrameShape&) = default;
};

constexpr bool has_offset(FrameBound bound) {
  return bound == FrameBound::kPreceding || bound == FrameBound::kFollowing;
}

}  // namespace scyper::query
