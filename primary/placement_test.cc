#include "placement.h"

#include <gtest/gtest.h>

#include "storage/schema.h"

namespace scyper::primary {
namespace {

using Kind = Placement::Kind;
using query::Footprint;
using query::Route;

constexpr uint32_t kPartitions = 4;

Route argument(uint32_t number) { return {Route::Kind::kArgument, number, 0}; }
Route elements(uint32_t number) { return {Route::Kind::kArrayArgument, number, 0}; }
Route constant(int64_t value) { return {Route::Kind::kConstant, 0, value}; }

Footprint routed(std::vector<Route> routes) {
  Footprint footprint;
  footprint.writes = true;
  footprint.reads_partitioned = true;
  footprint.routes = std::move(routes);
  return footprint;
}

int64_t value_in(uint32_t partition, int64_t from = 0) {
  while (storage::partition_of(from, kPartitions) != partition) ++from;
  return from;
}

Placement place(const Footprint& footprint, std::vector<Datum> arguments, uint32_t partitions = kPartitions) {
  return Classification(footprint, partitions).place(arguments);
}

TEST(PlacementTest, OnePartition) {
  for (uint32_t p = 0; p < kPartitions; ++p) {
    int64_t first = value_in(p), second = value_in(p, first + 1);
    EXPECT_EQ(place(routed({argument(0)}), {int_datum(first)}), (Placement{Kind::kPartition, p}));
    EXPECT_EQ(place(routed({argument(0), argument(1)}), {int_datum(first), int_datum(second)}),
              (Placement{Kind::kPartition, p}));
    EXPECT_EQ(place(routed({constant(first)}), {}), (Placement{Kind::kPartition, p}));
  }
}

TEST(PlacementTest, DifferentPartitionsCross) {
  Datum a = int_datum(value_in(1)), b = int_datum(value_in(2));
  EXPECT_EQ(place(routed({argument(0), argument(1)}), {a, b}).kind, Kind::kCrossing);
  EXPECT_EQ(place(routed({argument(0), constant(b.lo)}), {a}).kind, Kind::kCrossing);
}

TEST(PlacementTest, EveryElementOfAnArrayCounts) {
  Datum list[4] = {int_datum(value_in(3)), null_datum(), int_datum(value_in(3, 1000)), int_datum(value_in(0))};
  ArrayValue array;
  array.element = TypeId::kInt4;
  array.elements = list;
  array.size = 3;
  Datum argument_datum = int_datum(reinterpret_cast<int64_t>(&array));
  EXPECT_EQ(place(routed({elements(0)}), {argument_datum}), (Placement{Kind::kPartition, 3}));
  array.size = 4;
  EXPECT_EQ(place(routed({elements(0)}), {argument_datum}).kind, Kind::kCrossing);
  array.size = 0;
  EXPECT_EQ(place(routed({elements(0)}), {argument_datum}).kind, Kind::kAnywhere);
  EXPECT_EQ(place(routed({elements(0), argument(1)}), {null_datum(), list[0]}), (Placement{Kind::kPartition, 3}));
}

TEST(PlacementTest, NullFindsNothing) {
  EXPECT_EQ(place(routed({argument(0)}), {null_datum()}).kind, Kind::kAnywhere);
  EXPECT_EQ(place(routed({argument(0), argument(1)}), {null_datum(), int_datum(value_in(2))}),
            (Placement{Kind::kPartition, 2}));
}

TEST(PlacementTest, WhatIsUnknownCrosses) {
  Footprint unknown = routed({});
  EXPECT_EQ(place(unknown, {}).kind, Kind::kCrossing);
  Footprint all = routed({argument(0)});
  all.all_partitions = true;
  EXPECT_EQ(place(all, {int_datum(1)}).kind, Kind::kCrossing);
  Footprint writes;
  writes.writes = true;
  EXPECT_EQ(place(writes, {}).kind, Kind::kCrossing);
}

TEST(PlacementTest, SharedTables) {
  Footprint reads;
  EXPECT_EQ(place(reads, {}).kind, Kind::kAnywhere);
  Footprint writes = routed({argument(0)});
  writes.writes_shared = true;
  EXPECT_EQ(place(writes, {int_datum(1)}).kind, Kind::kCrossing);
  EXPECT_EQ(place(writes, {int_datum(1)}, 1).kind, Kind::kCrossing);
}

TEST(PlacementTest, OnlyPartition) {
  Footprint all = routed({});
  all.all_partitions = true;
  EXPECT_EQ(place(all, {}, 1), (Placement{Kind::kPartition, 0}));
  EXPECT_EQ(place(routed({argument(0), argument(1)}), {int_datum(1), int_datum(2)}, 1),
            (Placement{Kind::kPartition, 0}));
}

TEST(PlacementTest, Describes) {
  std::vector<std::string> names = {"w", "", "items"};
  auto text = [&](const Footprint& footprint) { return Classification(footprint, kPartitions).describe(names); };
  EXPECT_EQ(text(routed({argument(0), argument(1), elements(2), constant(-7)})),
            "partition-constrained by w, $2, items[], -7");
  EXPECT_EQ(text(routed({})), "partition-crossing");
  EXPECT_EQ(text(Footprint{}), "reads shared tables only");
}

}  // namespace
}  // namespace scyper::primary
