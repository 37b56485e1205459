#pragma once

#include <compare>
#include <cstdint>
#include <functional>

namespace scyper {

// An id that is a type of its own: it converts to and from integers only by explicit constructor and value().
template <typename Tag, typename Rep = uint64_t>
class Strong {
 public:
  using rep = Rep;
  constexpr Strong() = default;
  explicit constexpr Strong(Rep value) : value_(value) {}
  constexpr Rep value() const { return value_; }
  friend constexpr auto operator<=>(Strong, Strong) = default;

 private:
  Rep value_ = 0;
};

using TableId = Strong<struct TableIdTag, uint32_t>;
using IndexId = Strong<struct IndexIdTag, uint32_t>;
using RoutineId = Strong<struct RoutineIdTag, uint32_t>;
using SequenceId = Strong<struct SequenceIdTag, uint32_t>;
using PartitionId = Strong<struct PartitionIdTag, uint32_t>;
using Lsn = Strong<struct LsnTag>;
using Term = Strong<struct TermTag>;
using Epoch = Strong<struct EpochTag>;

}  // namespace scyper

template <typename Tag, typename Rep>
struct std::hash<scyper::Strong<Tag, Rep>> {
  size_t operator()(scyper::Strong<Tag, Rep> id) const noexcept { return std::hash<Rep>()(id.value()); }
};
