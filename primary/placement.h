#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "query/program.h"

namespace scyper::primary {

// Where a transaction runs: alone; in one partition; or anywhere, because it reads shared tables only.
struct Placement {
  enum class Kind : uint8_t { kPartition, kAnywhere, kCrossing };
  Kind kind = Kind::kAnywhere;
  uint32_t partition = 0;  // kPartition

  friend bool operator==(const Placement&, const Placement&) = default;
};

// What admission needs to know of a statement (HyPer IV.C): decided once from what its code may touch, then applied to
// the arguments of every call. A wrong guess costs time, never correctness: generated code notices a foreign partition.
// Threads: constant after construction.
class Classification {
 public:
  Classification(const query::Footprint& footprint, uint32_t partitions);

  Placement place(std::span<const Datum> arguments) const {
    if (kind_ == Placement::Kind::kPartition) [[likely]]
      return route(arguments);
    return {kind_, 0};
  }
  bool is_read_only() const { return is_read_only_; }

  // For people: "partition-constrained by w_id", given the names of the arguments ("" = $n).
  std::string describe(std::span<const std::string> argument_names) const;

  friend bool operator==(const Classification&, const Classification&) = default;

 private:
  Placement route(std::span<const Datum> arguments) const;

  Placement::Kind kind_;
  bool is_read_only_;
  uint32_t partitions_;
  std::vector<query::Route> routes_;  // kPartition: at least one, else the only partition
};

}  // namespace scyper::primary
