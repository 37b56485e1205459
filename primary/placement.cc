#include "placement.h"

#include "absl/strings/str_cat.h"
#include "query/partitions_read.h"
#include "storage/schema.h"

namespace scyper::primary {

using query::Route;

namespace {

Placement::Kind kind_of(const query::Footprint& footprint, uint32_t partitions) {
  bool is_partitioned = footprint.reads_partitioned || footprint.all_partitions || !footprint.routes.empty() ||
                        (footprint.writes && !footprint.writes_shared);
  if (footprint.writes_shared) return Placement::Kind::kCrossing;
  if (!is_partitioned) return Placement::Kind::kAnywhere;
  if (partitions == 1) return Placement::Kind::kPartition;
  if (footprint.all_partitions || footprint.routes.empty()) return Placement::Kind::kCrossing;
  return Placement::Kind::kPartition;
}

// Gathers the partitions of the values seen.
struct Gathered {
  uint32_t partitions;
  bool any = false;
  bool different = false;
  uint32_t partition = 0;

  void add(int64_t value) {
    uint32_t p = storage::partition_of(value, partitions);
    different |= any && p != partition;
    partition = p;
    any = true;
  }
};

}  // namespace

Classification::Classification(const query::Footprint& footprint, uint32_t partitions)
    : kind_(kind_of(footprint, partitions)), is_read_only_(!footprint.writes), partitions_(partitions) {
  if (kind_ == Placement::Kind::kPartition && partitions > 1) routes_ = footprint.routes;
}

Placement Classification::route(std::span<const Datum> arguments) const {
  if (partitions_ == 1) return {Placement::Kind::kPartition, 0};
  Gathered gathered{partitions_};
  query::for_each_route(routes_, arguments, [&](int64_t value) { gathered.add(value); });
  if (gathered.different) return {Placement::Kind::kCrossing, 0};
  return {gathered.any ? Placement::Kind::kPartition : Placement::Kind::kAnywhere, gathered.partition};
}

std::string Classification::describe(std::span<const std::string> argument_names) const {
  if (kind_ == Placement::Kind::kCrossing) return "partition-crossing";
  if (kind_ == Placement::Kind::kAnywhere) return "reads shared tables only";
  std::string text = "partition-constrained";
  for (size_t i = 0; i < routes_.size(); ++i) {
    const Route& route = routes_[i];
    absl::StrAppend(&text, i == 0 ? " by " : ", ");
    if (route.kind == Route::Kind::kConstant) {
      absl::StrAppend(&text, route.constant);
    } else if (route.argument < argument_names.size() && !argument_names[route.argument].empty()) {
      absl::StrAppend(&text, argument_names[route.argument]);
    } else {
      absl::StrAppend(&text, "$", route.argument + 1);
    }
    if (route.kind == Route::Kind::kArrayArgument) absl::StrAppend(&text, "[]");
  }
  return text;
}

}  // namespace scyper::primary
