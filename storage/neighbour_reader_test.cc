#include "storage/neighbour_reader.h"

#include <gtest/gtest.h>

#include <vector>

#include "base/random.h"
#include "base/test_seed.h"
#include "compactor_fixture.h"

namespace scyper::storage {
namespace {

constexpr uint32_t kPlace = 32;

void expect_opened(const Fixture& fixture, TablePartition* partition, Tid tid, const std::vector<uint32_t>& columns,
                   const TuplePlace& place) {
  const TableLayout& layout = fixture.table->layout();
  ASSERT_EQ(place.chunk[layout.live_offset + place.offset] != 0, is_live(partition, tid)) << tid;
  for (const uint32_t column : columns) {
    const SqlType& type = fixture.table->schema().columns[column].type;
    ASSERT_TRUE(same_value(type, read_datum(layout.columns[column], place.chunk, place.offset, type),
                           read_column(partition, tid, column)))
        << tid << ", column " << column;
  }
}

// Neighbours, jumps, the same ones again, in chunks of either kind, while tuples are taken out.
TEST(NeighbourReaderTest, TuplesComeInAnyOrder) {
  const uint64_t seed = test_seed();
  SCOPED_TRACE(seed);
  Random random(seed);
  for (const Layout layout : {Layout::kColumn, Layout::kRow}) {
    Fixture fixture(1, layout);
    fixture.append(static_cast<int>(kChunkTuples) + 500, &random);
    fixture.compact();
    fixture.append(100, &random);  // hot
    TablePartition* partition = fixture.partition();
    const uint64_t tuples = partition->tuple_limit;
    const std::vector<uint32_t> columns = {0, 1, 2, 3};
    ChunkWindow window;
    char* memory = window.get(fixture.table->layout().chunk_bytes);
    NeighbourReader reader;
    uint64_t together = 0;
    for (int i = 0; i < 500; ++i) {
      Tid tid = random.below(tuples);
      for (uint64_t left = random.below(25) + 1; left > 0 && tid < tuples; --left, tid += random.one_in(20) ? 0 : 1) {
        if (random.one_in(20) && is_live(partition, tid)) {
          ASSERT_EQ(delete_tuple(partition, tid, fixture.store.log.get()), ChangeResult::kOk);
        }
        const bool is_frozen = partition->chunks[tid >> kChunkShift] == nullptr;
        const TuplePlace place = is_frozen ? reader.open(partition, tid, columns, memory, kPlace)
                                           : TuplePlace{partition->chunks[tid >> kChunkShift], offset_of(tid)};
        if (is_frozen) {
          ASSERT_EQ(place.chunk, memory);
          ASSERT_GE(place.offset, kPlace);
          ASSERT_LT(place.offset, kPlace + NeighbourReader::kAtOnce);
          together += place.offset > kPlace ? 1 : 0;
        }
        expect_opened(fixture, partition, tid, columns, place);
        if (HasFatalFailure()) return;
      }
    }
    EXPECT_GT(together, 1000u);
    fixture.store.log->commit();
  }
}

}  // namespace
}  // namespace scyper::storage
