#include <gtest/gtest.h>

#include "base/random.h"
#include "base/test_seed.h"
#include "compactor_fixture.h"
#include "storage/archive.h"
#include "storage/change_log.h"
#include "storage/frozen_slot.h"
#include "storage/temperature.h"

// Chunks of which transactions use few tuples: these move away, the rest becomes cold (VLDB 2012, 3.3). What
// transactions see: table_model_test, query/compaction_test.
namespace scyper::storage {
namespace {

constexpr int kRows = static_cast<int>(kChunkTuples);

Compactor::Options observed(AccessObserver* observer) {
  Compactor::Options options;
  options.observer = observer;
  return options;
}

struct HasObserver {
  TestObserver observer;
};

// A chunk that is cooling, behind it a hot one.
class Cooling : public HasObserver, public Fixture {
 public:
  explicit Cooling(Random* random) : Fixture(1, Layout::kColumn, observed(&observer)) {
    append(kRows + 100, random);
    cool();
  }

  // Found, watched, and used in two windows.
  void cool() {
    for (int window = 0; window < 4; ++window) {
      ASSERT_EQ(state(), ChunkState::kHot) << window;
      end_window([this] { observer.write(partition()->chunks[0], 7); });
    }
    ASSERT_EQ(state(), ChunkState::kCooling);
  }
  template <typename Use>
  void end_window(Use use) {
    if (observer.watched() > 0) use();
    ASSERT_TRUE(compactor.observe({}).ok());
    compact();
    check_table(*table);
  }
  void end_window() {
    end_window([] {});
  }
  ChunkState state() {
    const FrozenSlot* slot = slot_of(partition(), 0);
    return slot == nullptr ? ChunkState::kHot : slot->state;
  }
  void update(int32_t id) {
    const UpdateDescriptor amount = make_update_descriptor(*table, std::vector<uint32_t>{1});
    const Tid tid = make_hot(partition(), find(id), store.log.get());
    ASSERT_NE(tid, kNoTid);
    ASSERT_EQ(update_row(partition(), store.log.get(), tid, amount, {int_datum(-1)}), ChangeResult::kOk);
    store.log->commit();
  }
};

TEST(CoolingTest, ChunksOfWhichTheSameFewPagesAreUsedCool) {
  Random random(test_seed());
  TestObserver observer;
  Fixture fixture(1, Layout::kColumn, observed(&observer));
  fixture.append(4 * kRows + 100, &random);
  const Digest before = table_digest(*fixture.table);
  fixture.compact();
  ASSERT_TRUE(fixture.compactor.observe({}).ok());
  char* chunks[4];
  std::copy_n(fixture.partition()->chunks, 4, chunks);
  for (uint32_t window = 0; window < 5; ++window) {
    if (window < 2) {
      for (const uint32_t page : {3u, 9u, 40u}) observer.write(chunks[0], page);
    }
    observer.write(chunks[1], window);                                          // others each time
    for (uint32_t page = 0; page < 5; ++page) observer.write(chunks[2], page);  // more than a sixteenth
    observer.write(chunks[3]);                                                  // all
    ASSERT_TRUE(fixture.compactor.observe({}).ok());
    fixture.compact();
    EXPECT_EQ(fixture.compactor.counts().cooling, window < 1 ? 0u : 1u) << window;
    if (window == 1) EXPECT_EQ(slot_of(fixture.partition(), 0)->state, ChunkState::kCooling);
  }
  for (uint32_t chunk = 1; chunk < 4; ++chunk) EXPECT_EQ(fixture.partition()->chunks[chunk], chunks[chunk]);
  EXPECT_EQ(observer.watched(), 3u);
  // nobody has used it since
  EXPECT_EQ(slot_of(fixture.partition(), 0)->state, ChunkState::kFrozen);
  EXPECT_EQ(table_digest(*fixture.table), before);
  check_table(*fixture.table);
}

// What the system itself sees of the same: of four chunks one is written in a few places, one all over, one not at all.
TEST(CoolingTest, ObserversOfThisSystemSeeWhatCools) {
  int found = 0;
  for (const char* kind : {"module", "pagemap", "mprotect"}) {
    SCOPED_TRACE(kind);
    auto observer = choose_observer(kind);
    if (!observer.ok()) continue;  // no module, an older kernel
    ++found;
    Random random(test_seed());
    Fixture fixture(1, Layout::kColumn, observed(observer->get()));
    fixture.append(3 * kRows + 100, &random);
    const UpdateDescriptor amount = make_update_descriptor(*fixture.table, std::vector<uint32_t>{1});
    const auto update = [&](int32_t id, int64_t value) {
      const Tid tid = make_hot(fixture.partition(), fixture.find(id), fixture.store.log.get());
      ASSERT_NE(tid, kNoTid);
      ASSERT_EQ(update_row(fixture.partition(), fixture.store.log.get(), tid, amount, {int_datum(value)}),
                ChangeResult::kOk);
      fixture.store.log->commit();
    };
    const char* const busy = fixture.partition()->chunks[1];
    const auto state_of_first = [&] {
      const FrozenSlot* slot = slot_of(fixture.partition(), 0);
      return slot == nullptr ? ChunkState::kHot : slot->state;
    };
    for (int window = 0; window < 6 && state_of_first() != ChunkState::kCooling; ++window) {
      for (int32_t id = 1; id <= 40; ++id) update(id, window);
      for (int32_t id = kRows + 1; id <= 2 * kRows; id += 300) update(id, window);
      ASSERT_TRUE(fixture.compactor.observe({}).ok());
      fixture.compact();
    }
    EXPECT_EQ(state_of_first(), ChunkState::kCooling);
    EXPECT_EQ(fixture.partition()->chunks[1], busy);
    update(7, 77);
    EXPECT_GE(fixture.find(7), 3 * static_cast<Tid>(kRows));  // it has moved away
    // where reads are seen, the compactor's own look at it may make it cool first
    const auto state_of_last = [&] { return slot_of(fixture.partition(), 2 * kRows)->state; };
    for (int window = 0; window < 6 && state_of_last() != ChunkState::kFrozen; ++window) {
      ASSERT_TRUE(fixture.compactor.observe({}).ok());
      fixture.compact();
    }
    EXPECT_EQ(state_of_last(), ChunkState::kFrozen);
    check_table(*fixture.table);
  }
  if (found == 0) GTEST_SKIP() << "no observer of this system's sees by itself";
}

// Steps tell it what was committed; who takes no steps tells nothing, and nothing of his becomes cold.
TEST(CoolingTest, CountersKeepWhatIsWrittenHot) {
  Random random(test_seed());
  const auto observer = *choose_observer("counters");
  Fixture fixture(1, Layout::kColumn, observed(observer.get()));
  fixture.append(3 * static_cast<int>(kChunkTuples) + 100, &random);
  TablePartition* partition = fixture.partition();
  const UpdateDescriptor amount = make_update_descriptor(*fixture.table, std::vector<uint32_t>{1});
  ChangedChunks changed;
  const auto update = [&](int32_t id, bool commits) {
    const Tid tid = make_hot(partition, fixture.find(id), fixture.store.log.get());
    ASSERT_NE(tid, kNoTid);
    ASSERT_EQ(update_row(partition, fixture.store.log.get(), tid, amount, {int_datum(-id)}), ChangeResult::kOk);
    commits ? fixture.store.log->commit() : fixture.store.log->rollback_all();
    take_changed_chunks(*fixture.table, &changed);  // an archive does not hide it
  };
  const auto pass_window = [&] {
    ASSERT_TRUE(fixture.compactor.observe({}).ok());
    fixture.compact();
  };
  const auto state = [&](uint64_t chunk) {
    const FrozenSlot* slot = slot_of(partition, Tid{chunk} << kChunkShift);
    return slot == nullptr ? ChunkState::kHot : slot->state;
  };
  fixture.compact();
  for (int window = 0; window < 8; ++window) ASSERT_TRUE(fixture.compactor.observe({}).ok());
  fixture.compact();
  EXPECT_EQ(fixture.compactor.counts().cooling, 0u);
  constexpr int32_t kInChunk1 = static_cast<int32_t>(kChunkTuples) + 7;
  for (int window = 0; window < 8; ++window) {
    update(kInChunk1, true);
    update(7, false);
    pass_window();
    EXPECT_EQ(state(1), ChunkState::kHot) << window;
  }
  EXPECT_EQ(state(0), ChunkState::kFrozen);
  EXPECT_EQ(state(2), ChunkState::kFrozen);
  for (int window = 0; window < 6; ++window) pass_window();
  EXPECT_EQ(state(1), ChunkState::kFrozen);
  EXPECT_EQ((changed[{fixture.table->schema().id.value(), 0}][1] & kRowsWritten), kRowsWritten);
  check_table(*fixture.table);
}

TEST(CoolingTest, TuplesThatAreUsedMoveToHotChunks) {
  Random random(test_seed());
  Cooling cooling(&random);
  const Digest before = table_digest(*cooling.table);
  TableTemperature temperature = temperature_of(*cooling.table);
  EXPECT_EQ(temperature.cooling.chunks, 1u);
  EXPECT_EQ(temperature.cooling.tuples, kChunkTuples);
  // read: with the next step, and only those
  for (const int32_t id : {5, 6, 5, 9000}) note_read(cooling.partition(), cooling.find(id));
  EXPECT_EQ(cooling.find(5), 4u);
  cooling.compact();
  for (const int32_t id : {5, 6, 9000}) EXPECT_GE(cooling.find(id), kChunkTuples) << id;
  EXPECT_EQ(cooling.find(7), 6u);
  EXPECT_EQ(cooling.compactor.counts().relocated, 3u);
  EXPECT_EQ(table_digest(*cooling.table), before);
  // changed: at once; deleted: where it lies; what moved or went meanwhile is not looked for
  for (const int32_t id : {10, 11, 12}) note_read(cooling.partition(), cooling.find(id));
  cooling.update(10);
  EXPECT_GE(cooling.find(10), kChunkTuples);
  ASSERT_EQ(delete_tuple(cooling.partition(), cooling.find(11), cooling.store.log.get()), ChangeResult::kOk);
  cooling.store.log->commit();
  cooling.compact();
  EXPECT_EQ(cooling.compactor.counts().relocated, 4u);
  // inserts go elsewhere
  Tid tid;
  ASSERT_EQ(insert_row(cooling.partition(), cooling.store.log.get(),
                       {int_datum(1'000'000), null_datum(), null_datum(), null_datum()}, &tid),
            ChangeResult::kOk);
  cooling.store.log->commit();
  EXPECT_GE(tid, kChunkTuples);
  temperature = temperature_of(*cooling.table);
  EXPECT_EQ(temperature.cooling.tuples, kChunkTuples - 6);
  check_table(*cooling.table);
}

TEST(CoolingTest, WhatNobodyUsesAnyMoreIsFrozen) {
  Random random(test_seed());
  Cooling cooling(&random);
  for (int window = 0; window < 6; ++window) {
    const Tid tid = random.below(kChunkTuples);
    if (window % 2 == 0) note_read(cooling.partition(), tid);
    if (window == 3) cooling.update(static_cast<int32_t>(random.below(kChunkTuples)) + 1);
    cooling.end_window();
    ASSERT_EQ(cooling.state(), ChunkState::kCooling) << window;
  }
  const Digest before = table_digest(*cooling.table);
  cooling.end_window();  // the second one in which nothing was used
  EXPECT_EQ(cooling.state(), ChunkState::kFrozen);
  EXPECT_EQ(cooling.compactor.counts().frozen, 1u);
  EXPECT_EQ(cooling.compactor.counts().reheated, 0u);
  EXPECT_GE(temperature_of(*cooling.table).invalid_tuples, 3u);
  EXPECT_EQ(table_digest(*cooling.table), before);
}

TEST(CoolingTest, ReheatedChunksAreHotAgain) {
  Random random(test_seed());
  for (const bool by_reading : {true, false}) {
    Cooling cooling(&random);
    const uint32_t used = kChunkTuples / 16;
    for (uint32_t i = 0; i < used; ++i) {
      if (by_reading) {
        note_read(cooling.partition(), 3 * i);
      } else {
        cooling.update(static_cast<int32_t>(3 * i) + 1);
      }
    }
    const Digest before = table_digest(*cooling.table);
    cooling.end_window();
    EXPECT_EQ(cooling.state(), ChunkState::kHot);
    EXPECT_EQ(cooling.compactor.counts().reheated, 1u);
    EXPECT_EQ(cooling.compactor.counts().relocated, 0u);
    EXPECT_EQ(table_digest(*cooling.table), before);
    // the positions of what has moved away are free ones
    Tid tid;
    ASSERT_EQ(insert_row(cooling.partition(), cooling.store.log.get(),
                         {int_datum(1'000'000), null_datum(), null_datum(), string_datum("text", 4)}, &tid),
              ChangeResult::kOk);
    cooling.store.log->commit();
    EXPECT_EQ(tid < kChunkTuples, !by_reading);
    // and it may cool again
    cooling.cool();
  }
}

TEST(CoolingTest, OneThatLosesAllItsTuplesIsHotAgain) {
  Random random(test_seed());
  Cooling cooling(&random);
  cooling.end_window();
  cooling.end_window();  // cold, were it not for what comes between window and step
  EXPECT_EQ(cooling.state(), ChunkState::kFrozen);
  Cooling other(&random);
  other.end_window();
  ASSERT_TRUE(other.compactor.observe({}).ok());
  for (Tid tid = 0; tid < kChunkTuples; ++tid) {
    ASSERT_EQ(delete_tuple(other.partition(), tid, other.store.log.get()), ChangeResult::kOk);
  }
  other.store.log->commit();
  other.compact();
  EXPECT_EQ(other.state(), ChunkState::kHot);
  check_table(*other.table);
}

}  // namespace
}  // namespace scyper::storage
