#include "storage/compactor.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <functional>
#include <map>
#include <string>
#include <thread>
#include <vector>

#include "base/check.h"
#include "base/random.h"
#include "base/test_seed.h"
#include "base/test_slice.h"
#include "compactor_fixture.h"
#include "storage/child_process.h"
#include "storage/chunk_cursor.h"
#include "storage/row_apply.h"
#include "storage/table_rebuild.h"
#include "storage/temperature.h"
#include "table_test_schema.h"

// Chunks that become cold and frozen while tables are used: forks, threads, replay, definitions.
// (What transactions see: table_model_test; archives: archive_test.)
namespace scyper::storage {
namespace {

// Rows of a partition, by id.
using Rows = std::map<int32_t, std::vector<std::string>>;

TEST(CompactorTest, WithoutForceNothingIsTouched) {
  Random random(test_seed());
  Fixture fixture(1, Layout::kColumn, {});
  fixture.append(40'000, &random);
  fixture.compact();
  EXPECT_EQ(fixture.partition()->frozen, nullptr);
  EXPECT_EQ(fixture.compactor.counts().cooled, 0u);
}

TEST(CompactorTest, ChunksThatNobodyTouchesBecomeCold) {
  Random random(test_seed());
  TestObserver observer;
  Compactor::Options options;
  options.observer = &observer;
  Fixture fixture(1, Layout::kColumn, options);
  fixture.append(3 * static_cast<int>(kChunkTuples) + 100, &random);
  fixture.compact();
  EXPECT_EQ(observer.watched(), 0u);  // steps do not wait for it
  ASSERT_TRUE(fixture.compactor.observe({}).ok());
  EXPECT_EQ(observer.watched(), 3u);  // not the newest
  const Digest before = table_digest(*fixture.table);
  for (int window = 0; window < 4; ++window) {
    observer.write(fixture.partition()->chunks[1]);
    ASSERT_TRUE(fixture.compactor.observe({}).ok());
    fixture.compact();
    EXPECT_EQ(fixture.table->memory().frozen_chunks, window < 1 ? 0u : 2u) << window;
  }
  EXPECT_NE(fixture.partition()->chunks[1], nullptr);
  EXPECT_EQ(observer.watched(), 1u);
  for (int window = 0; window < 2; ++window) {
    ASSERT_TRUE(fixture.compactor.observe({}).ok());
    fixture.compact();
  }
  EXPECT_EQ(fixture.table->memory().frozen_chunks, 3u);
  EXPECT_EQ(table_digest(*fixture.table), before);
  ASSERT_TRUE(fixture.compactor.observe({}).ok());
  EXPECT_EQ(observer.watched(), 0u);
}

// By an observer that does not see it.
TEST(CompactorTest, WhatIsReadMuchStaysHot) {
  Random random(test_seed());
  TestObserver observer(/*sees_reads=*/false);
  Compactor::Options options;
  options.observer = &observer;
  Fixture fixture(1, Layout::kColumn, options);
  fixture.append(3 * static_cast<int>(kChunkTuples) + 100, &random);
  const TablePartition* partition = fixture.partition();
  const Digest before = table_digest(*fixture.table);
  const auto pass_window = [&] {
    fixture.compact();
    ASSERT_TRUE(fixture.compactor.observe({}).ok());
    fixture.compact();
  };
  const auto read = [&](uint64_t chunk, uint32_t tuples) {
    for (uint32_t i = 0; i < tuples; ++i) note_read(partition, (chunk << kChunkShift) + i * 7);
  };
  const auto is_hot = [&](uint64_t chunk) { return partition->chunks[chunk] != nullptr; };
  const auto is_frozen = [&](uint64_t chunk) { return partition->frozen[chunk].state == ChunkState::kFrozen; };
  // two trials of chunk 1 end with so many reads
  for (const uint32_t quiet : {2u, 4u}) {
    for (uint32_t window = 0; window <= quiet; ++window) {
      EXPECT_TRUE(is_hot(1)) << window;
      pass_window();
    }
    EXPECT_FALSE(is_hot(1));
    EXPECT_EQ(partition->frozen[1].state, ChunkState::kCooling);
    read(1, kChunkTuples / 16);
    read(0, kChunkTuples / 16 - 1);
    pass_window();
    EXPECT_TRUE(is_hot(1));
    EXPECT_TRUE(is_frozen(0));
    EXPECT_TRUE(is_frozen(2));
    EXPECT_EQ(fixture.compactor.counts().reheated, quiet / 2);
    pass_window();  // in which it is watched again
  }
  for (int window = 0; window <= 8; ++window) {
    EXPECT_TRUE(is_hot(1)) << window;
    pass_window();
  }
  EXPECT_FALSE(is_hot(1));
  pass_window();
  EXPECT_TRUE(is_frozen(1));
  EXPECT_EQ(fixture.compactor.counts().relocated, 0u);
  EXPECT_EQ(table_digest(*fixture.table), before);
}

// A trial that has ended well does not count any more, when the chunk waits for room to become cold and is read then.
TEST(CompactorTest, WhatWaitsAfterItsTrialMayBecomeHotAgain) {
  Random random(test_seed());
  TestObserver observer(/*sees_reads=*/false);
  Compactor::Options options;
  options.observer = &observer;
  options.jobs_max = 1;
  Fixture fixture(1, Layout::kColumn, options);
  fixture.append(3 * static_cast<int>(kChunkTuples) + 100, &random);
  TablePartition* partition = fixture.partition();
  const auto pass_window = [&] {  // whose thread freezes nothing
    ASSERT_TRUE(fixture.compactor.observe({}).ok());
    while (fixture.compactor.take_step({&partition, 1}, fixture.store.log.get())) {
    }
  };
  const auto waiting = [&] {
    return partition->frozen != nullptr && partition->frozen[2].state == ChunkState::kCooling &&
           partition->frozen[2].cooling->quiet_windows > 0;
  };
  for (int window = 0; window < 6 && !waiting(); ++window) pass_window();
  ASSERT_TRUE(waiting());
  for (uint32_t i = 0; i < kChunkTuples / 16; ++i) note_read(partition, (Tid{2} << kChunkShift) + i * 7);
  pass_window();
  EXPECT_NE(partition->chunks[2], nullptr);
  const Digest before = table_digest(*fixture.table);
  pass_window();
  fixture.compact();
  EXPECT_EQ(table_digest(*fixture.table), before);
}

TEST(CompactorTest, ItsThreadEndsWindowsAndSaysWhenStepsAreDue) {
  Random random(test_seed());
  TestObserver observer;
  Compactor::Options options;
  options.observer = &observer;
  std::atomic<int> windows{0}, images{0};  // before the compactor, whose thread counts
  std::atomic<bool> is_due{true};
  Fixture fixture(1, Layout::kColumn, options);
  fixture.append(2 * static_cast<int>(kChunkTuples) + 100, &random);
  fixture.compactor.start(1000, [&](Compactor::Due due) {
    ++(due == Compactor::Due::kAll ? windows : images);
    is_due = true;
  });
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::minutes(10);  // a busy machine
  TablePartition* partition = fixture.partition();
  while (fixture.compactor.counts().frozen < 2 && std::chrono::steady_clock::now() < deadline) {
    if (is_due.exchange(false) && fixture.compactor.take_step({&partition, 1}, fixture.store.log.get())) is_due = true;
  }
  EXPECT_EQ(fixture.compactor.counts().frozen, 2u);
  EXPECT_GE(windows, 3);  // found, and quiet for two
  EXPECT_EQ(images, 2);
  check_table(*fixture.table);
}

TEST(CompactorTest, TablesThatGoAreNotWatched) {
  Random random(test_seed());
  TestObserver observer;
  Compactor::Options options;
  options.observer = &observer;
  Fixture fixture(1, Layout::kColumn, options);
  fixture.append(2 * static_cast<int>(kChunkTuples) + 100, &random);
  fixture.compact();
  ASSERT_TRUE(fixture.compactor.observe({}).ok());
  EXPECT_EQ(observer.watched(), 2u);
  fixture.table->release();
  ASSERT_TRUE(fixture.compactor.observe({}).ok());
  EXPECT_EQ(observer.watched(), 0u);
}

TEST(CompactorTest, TablesWithArraysStayHot) {
  TestStore store;
  auto memory = *FrozenMemory::create(kMemoryBytes, FrozenPages::kSmall);
  auto table = store.table(wide_schema(Layout::kRow));
  table->allow_freezing(memory.get());
  EXPECT_EQ(table->frozen_store(), nullptr);
  Compactor compactor(forced());
  TablePartition* partition = table->partition(0);
  EXPECT_FALSE(compactor.take_step({&partition, 1}, store.log.get()));
}

TEST(CompactorTest, MemoryShrinks) {
  Random random(test_seed());
  Fixture fixture;
  fixture.append(3 * static_cast<int>(kChunkTuples), &random);
  const Digest before = table_digest(*fixture.table);
  const size_t used = fixture.store.arena->used_bytes();
  const uint64_t heap = fixture.partition()->heap != nullptr ? fixture.table->memory().heap_bytes : 0;
  fixture.compact();
  const TableMemory memory = fixture.table->memory();
  EXPECT_EQ(memory.frozen_chunks, 3u);
  EXPECT_EQ(memory.hot_chunks, 0u);
  EXPECT_EQ(memory.chunk_bytes, 0u);
  EXPECT_GT(memory.frozen_bytes, 0u);
  uint64_t attribute_bytes = 0;
  for (const auto& attribute : temperature_of(*fixture.table).attributes) {
    EXPECT_GT(attribute.frozen_bytes, 0u) << attribute.name;
    attribute_bytes += attribute.frozen_bytes;
  }
  EXPECT_LE(attribute_bytes, memory.frozen_bytes);
  EXPECT_GT(attribute_bytes + 4096 * memory.frozen_chunks, memory.frozen_bytes);
  EXPECT_LT(memory.frozen_bytes, 3 * fixture.table->layout().chunk_bytes / 2);
  EXPECT_LT(fixture.store.arena->used_bytes() + 3 * fixture.table->layout().chunk_bytes, used + kArenaGranuleBytes);
  EXPECT_GE(heap, memory.heap_bytes);
  EXPECT_EQ(table_digest(*fixture.table), before);
  check_table(*fixture.table);
}

// Every row that a scan wants is selected, nothing that does not live; what is selected is decoded.
TEST(CompactorTest, ScansGetWhatTheyWant) {
  Random random(test_seed());
  for (const Layout layout : {Layout::kColumn, Layout::kRow}) {
    Fixture fixture(1, layout);
    fixture.append(static_cast<int>(kChunkTuples), &random);
    TablePartition* partition = fixture.partition();
    fixture.compact();
    ASSERT_EQ(partition->chunks[0], nullptr);
    std::vector<bool> live(kChunkTuples, true);
    for (int i = 0; i < 500; ++i) {
      const auto tid = random.below(kChunkTuples);
      if (!live[tid]) continue;
      ASSERT_EQ(delete_tuple(partition, tid, fixture.store.log.get()), ChangeResult::kOk);
      live[tid] = false;
    }
    fixture.store.log->commit();
    ChunkWindow window;
    VectorReader vectors;
    char* memory = window.get(fixture.table->layout().chunk_bytes);
    const std::vector<uint32_t> columns = {0, 1, 2, 3};
    bool skipped = false, few = false, many = false;
    for (int round = 0; round < 60; ++round) {
      const auto low = static_cast<int64_t>(random.below(1100));
      const int64_t high = low + static_cast<int64_t>(random.below(round % 2 == 0 ? 5 : 800));
      const std::vector<ColumnCondition> conditions = {
          {1, FrozenPredicate::between(int_datum(low), int_datum(high)), false}};
      const char* chunk = open_chunk(partition, 0, {columns, conditions, nullptr}, memory, &vectors);
      uint32_t wanted = 0;
      for (uint32_t i = 0; i < kChunkTuples; ++i) {
        const Datum amount = read_column(partition, i, 1);
        const bool is_wanted = live[i] && amount.null == 0 && amount.lo >= low && amount.lo <= high;
        wanted += is_wanted ? 1 : 0;
        const bool is_selected = chunk != nullptr && chunk[fixture.table->layout().live_offset + i] != 0;
        ASSERT_TRUE(is_selected || !is_wanted) << i;
        if (!is_selected) continue;
        ASSERT_TRUE(live[i]);
        for (const uint32_t column : columns) {
          const SqlType& type = fixture.table->schema().columns[column].type;
          ASSERT_TRUE(same_value(type, read_datum(fixture.table->layout().columns[column], chunk, i, type),
                                 read_column(partition, i, column)))
              << i << " " << column;
        }
      }
      skipped |= chunk == nullptr;
      few |= wanted > 0 && wanted < 100;
      many |= wanted > 2000;
    }
    EXPECT_TRUE(skipped && few && many);
  }
}

// Reads the chunk piece by piece and checks that rows are those that live and are wanted, and possibly others that
// live.
void read_pieces(Fixture* fixture, ChunkCursor* cursor, std::span<const uint32_t> columns,
                 const std::function<bool(uint32_t)>& is_live, const std::function<bool(uint32_t)>& is_wanted) {
  const TableLayout& layout = fixture->table->layout();
  std::vector<bool> seen(kChunkTuples);
  uint32_t behind = 0;
  for (ChunkCursor::Piece piece = cursor->next(); piece.chunk != nullptr; piece = cursor->next()) {
    ASSERT_LT(piece.begin, piece.end);
    ASSERT_GE(piece.first + piece.begin, behind);
    behind = piece.first + piece.end;
    for (uint32_t place = piece.begin; place < piece.end; ++place) {
      const uint32_t position = piece.first + place;
      if (piece.chunk[layout.live_offset + place] == 0) continue;
      ASSERT_TRUE(is_live(position)) << position;
      seen[position] = true;
      for (const uint32_t column : columns) {
        const SqlType& type = fixture->table->schema().columns[column].type;
        ASSERT_TRUE(same_value(type, read_datum(layout.columns[column], piece.chunk, place, type),
                               read_column(fixture->partition(), position, column)))
            << position << " " << column;
      }
    }
  }
  for (uint32_t i = 0; i < kChunkTuples; ++i) ASSERT_TRUE(seen[i] || !is_live(i) || !is_wanted(i)) << i;
}

// Piece by piece, by conditions with alternatives, with what an earlier round has left in the window.
TEST(CompactorTest, ScansGetWhatTheyWantInPieces) {
  Random random(test_seed());
  for (const Layout layout : {Layout::kColumn, Layout::kRow}) {
    Fixture fixture(1, layout);
    fixture.append(static_cast<int>(kChunkTuples), &random);
    TablePartition* partition = fixture.partition();
    fixture.compact();
    std::vector<bool> live(kChunkTuples, true);
    for (uint32_t tid = 5000; tid < 9000; ++tid) {
      ASSERT_EQ(delete_tuple(partition, tid, fixture.store.log.get()), ChangeResult::kOk);
      live[tid] = false;
    }
    fixture.store.log->commit();
    ChunkWindow passing, kept;
    VectorReader passing_vectors, kept_vectors;
    uint32_t decoded = 0;
    const std::vector<uint32_t> columns = {0, 1, 2, 3};
    for (int round = 0; round < 40; ++round) {
      const auto low = static_cast<int64_t>(random.below(1100)), other = static_cast<int64_t>(random.below(1100));
      const int64_t high = low + static_cast<int64_t>(random.below(round % 2 == 0 ? 5 : 800));
      const std::vector<ColumnCondition> conditions = {
          {1, FrozenPredicate::between(int_datum(low), int_datum(high)), true},
          {1, FrozenPredicate::equal(int_datum(other)), false},
          {0, FrozenPredicate::is_null(false), false}};
      const auto is_wanted = [&](uint32_t position) {
        const Datum amount = read_column(partition, position, 1);
        return amount.null == 0 && ((amount.lo >= low && amount.lo <= high) || amount.lo == other);
      };
      ChunkCursor cursor;
      const bool keeps = round % 3 != 0;
      char* window = (keeps ? kept : passing).get(fixture.table->layout().chunk_bytes);
      cursor.open(partition, *slot_of(partition, 0), {columns, conditions, nullptr}, window, keeps ? &decoded : nullptr,
                  keeps ? &kept_vectors : &passing_vectors);
      read_pieces(&fixture, &cursor, columns, [&](uint32_t i) { return live[i]; }, is_wanted);
      if (HasFatalFailure()) return;
    }
    EXPECT_NE(decoded, 0u);
  }
}

TEST(CompactorTest, OneTupleIsOpenedAtAnyPlace) {
  Random random(test_seed());
  for (const Layout layout : {Layout::kColumn, Layout::kRow}) {
    Fixture fixture(1, layout);
    fixture.append(100, &random);
    fixture.compact();
    ChunkWindow window;
    char* memory = window.get(fixture.table->layout().chunk_bytes);
    const std::vector<uint32_t> columns = {1, 3};
    for (uint32_t i = 0; i < 100; ++i) {
      const TuplePlace place = open_tuple(fixture.partition(), i, columns, memory, i % 3);
      ASSERT_EQ(place.offset, i % 3);
      ASSERT_EQ(place.chunk, memory);
      ASSERT_EQ(memory[fixture.table->layout().live_offset + i % 3], 1);
      for (const uint32_t column : columns) {
        const SqlType& type = fixture.table->schema().columns[column].type;
        ASSERT_TRUE(same_value(type,
                               read_datum(fixture.table->layout().columns[column], place.chunk, place.offset, type),
                               read_column(fixture.partition(), i, column)));
      }
    }
  }
}

// A child sees the images that it was forked with, whatever the parent does with them.
TEST(CompactorTest, AChildSeesImagesAsTheyWere) {
  Random random(test_seed());
  Fixture fixture;
  fixture.append(20'000, &random);
  fixture.compact();
  const Digest before = table_digest(*fixture.table);
  ChildOptions options;
  options.arena = fixture.store.arena.get();
  options.frozen = fixture.memory.get();
  auto child = ChildProcess::fork(options, [&](int socket) {
    char go;
    if (read(socket, &go, 1) != 1) return 1;
    return table_digest(*fixture.table) == before ? 0 : 2;
  });
  ASSERT_TRUE(child.ok()) << child.status();
  EXPECT_EQ(fixture.memory->usage().snapshots, 1u);
  for (int id = 1; id <= 20'000; id += 2) {
    ASSERT_EQ(delete_tuple(fixture.partition(), fixture.find(id), fixture.store.log.get()), ChangeResult::kOk);
    fixture.store.log->commit();
  }
  fixture.compact();  // the others move, and their images are made at other places
  EXPECT_GE(fixture.compactor.counts().emptied, 2u);
  const auto tables = fixture.compactor.table_counts();
  ASSERT_EQ(tables.size(), 1u);
  const Compactor::TableCounts& own = tables.begin()->second;
  EXPECT_EQ(tables.begin()->first, fixture.table->schema().id);
  EXPECT_EQ(own.frozen, fixture.compactor.counts().frozen);
  EXPECT_EQ(own.emptied, fixture.compactor.counts().emptied);
  EXPECT_EQ(own.moved, fixture.compactor.counts().moved);
  EXPECT_GT(own.image_bytes, 0u);
  EXPECT_GT(fixture.memory->usage().retired_bytes, 0u);
  ASSERT_EQ(write((*child)->socket(), "g", 1), 1);
  const int status = (*child)->wait();
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << describe_wait_status(status);
  EXPECT_EQ(fixture.memory->usage().snapshots, 0u);
  EXPECT_EQ(fixture.memory->usage().retired_bytes, 0u);
  check_table(*fixture.table);
}

// A worker of one partition: transactions, and a step after each.
class Worker {
 public:
  Worker(Fixture* fixture, uint32_t number, uint64_t seed)
      : fixture_(fixture), number_(number), random_(seed), log_(*ChangeLog::create(fixture->store.arena.get(), {})) {
    log_->record_redo(false);
  }

  void transact() {
    Rows before = rows_;
    for (uint64_t i = random_.below(20); i > 0; --i) change(static_cast<int32_t>(random_.below(300)));
    if (random_.one_in(4)) {
      log_->rollback_all();
      rows_ = std::move(before);
    } else {
      log_->commit();
    }
    take_step();
    // quiet times, in which a chunk that is being compressed stays cold
    if (random_.one_in(8)) {
      for (uint64_t i = random_.below(200); i > 0; --i) {
        std::this_thread::sleep_for(std::chrono::microseconds(100));
        take_step();
      }
    }
  }

  void compare() {
    TablePartition* partition = fixture_->partition(number_);
    ASSERT_EQ(partition->live_tuples, rows_.size());
    for (const auto& [id, row] : rows_) {
      const Tid tid = fixture_->find(id, number_);
      ASSERT_NE(tid, kNoTid);
      for (uint32_t column : {2u, 3u}) {
        const Datum text = read_column(partition, tid, column);
        ASSERT_EQ(std::string(text.data(), text.size()), row[column - 2]);
      }
    }
  }

 private:
  void take_step() {
    TablePartition* partition = fixture_->partition(number_);
    fixture_->compactor.take_step({&partition, 1}, log_.get());
  }

  void change(int32_t id) {
    TablePartition* partition = fixture_->partition(number_);
    std::vector<std::string> row = {"name" + std::to_string(random_.below(9)), std::string(random_.below(60), 'n')};
    const std::vector<Datum> texts = {string_datum(row[0].data(), row[0].size()),
                                      string_datum(row[1].data(), row[1].size())};
    const Tid tid = fixture_->find(id, number_);
    if (tid == kNoTid) {
      Tid made;
      CHECK(insert_row(partition, log_.get(), {int_datum(id), int_datum(id), texts[0], texts[1]}, &made) ==
            ChangeResult::kOk);
      rows_[id] = std::move(row);
    } else if (random_.one_in(3)) {
      CHECK(delete_tuple(partition, tid, log_.get()) == ChangeResult::kOk);
      rows_.erase(id);
    } else {
      CHECK(update_row(partition, log_.get(), make_hot(partition, tid, log_.get()), texts_, texts) ==
            ChangeResult::kOk);
      rows_[id] = std::move(row);
    }
  }

  Fixture* const fixture_;
  const uint32_t number_;
  Random random_;
  std::unique_ptr<ChangeLog> log_;
  const UpdateDescriptor texts_ = make_update_descriptor(*fixture_->table, std::vector<uint32_t>{2, 3});
  Rows rows_;
};

TEST(CompactorTest, WorkersAndTheCompactorsThreadAtOnce) {
  const uint64_t seed = test_seed();
  Fixture fixture(4);
  fixture.compactor.start();
  std::vector<std::unique_ptr<Worker>> workers;
  for (uint32_t i = 0; i < 4; ++i) workers.push_back(std::make_unique<Worker>(&fixture, i, seed + i));
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::minutes(10);  // a busy machine
  const uint64_t wanted = test_slice(40u, 20u);
  std::vector<std::thread> threads;
  for (uint32_t i = 0; i < 2; ++i) {
    threads.emplace_back([&, i] {
      // two partitions each; the compactor's thread needs a core, too
      while (fixture.compactor.counts().frozen < wanted && std::chrono::steady_clock::now() < deadline) {
        workers[i]->transact();
        workers[i + 2]->transact();
        std::this_thread::sleep_for(std::chrono::microseconds(50));
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  const Compactor::Counts counts = fixture.compactor.counts();
  EXPECT_GE(counts.frozen, wanted);
  EXPECT_GT(counts.emptied, 0u);
  EXPECT_GT(counts.returned, 0u);
  for (auto& worker : workers) worker->compare();
  check_table(*fixture.table);
}

// Whatever step its chunks are in.
TEST(CompactorTest, ATableGoesWhileItsChunksAreCompacted) {
  Random random(test_seed());
  for (int round = 0; round < 20; ++round) {
    Fixture fixture;
    fixture.append(5'000, &random);
    if (round % 2 == 0) fixture.compactor.start();
    TablePartition* partition = fixture.partition();
    for (uint64_t i = random.below(4); i > 0; --i) {
      fixture.compactor.take_step({&partition, 1}, fixture.store.log.get());
      if (round % 2 != 0 && random.one_in(2)) fixture.compactor.freeze_one();
    }
    if (random.one_in(2)) {
      fixture.table->release();
      EXPECT_EQ(fixture.table->memory().frozen_chunks + fixture.table->memory().cold_chunks, 0u);
    }
  }
}

TEST(CompactorTest, DefinitionsOfACompactedTable) {
  Random random(test_seed());
  Fixture fixture;
  fixture.append(6'000, &random);
  fixture.compact();
  fixture.append(100, &random);
  ASSERT_TRUE(fixture.table->create_index({IndexId(3), "small_amount", {1, 0}, {}, false, false}, plain_text).ok());
  ASSERT_TRUE(fixture.table->build_hash_companion(0).ok());
  check_table(*fixture.table);
  const Status status =
      fixture.table->create_index({IndexId(4), "small_name_key", {2, 0}, {}, true, false}, plain_text);
  ASSERT_TRUE(status.ok()) << status;
  const Status duplicate = fixture.table->create_index({IndexId(5), "small_key", {2}, {}, true, false}, plain_text);
  EXPECT_FALSE(duplicate.ok());
  std::vector<RebuiltColumn> columns(4);
  for (int i = 0; i < 4; ++i) columns[static_cast<size_t>(i)].from = i;
  auto rebuilt =
      rebuild_table(fixture.table.get(), fixture.table->schema(), columns, true, plain_text, RebuildMode::kCopies);
  ASSERT_TRUE(rebuilt.ok()) << rebuilt.status();
  EXPECT_EQ(table_digest(**rebuilt), table_digest(*fixture.table));
  check_table(**rebuilt);
}

// Hot chunks are in both tables; of the others the new one has hot ones of its own.
TEST(CompactorTest, ACompactedTableIsWidened) {
  for (const bool is_taken_back : {true, false}) {
    Random random(test_seed());
    Fixture fixture;
    fixture.append(40'000, &random);
    fixture.compact();
    fixture.append(3'000, &random);
    const Digest before = table_digest(*fixture.table);
    TableSchema schema = fixture.table->schema();
    schema.columns.push_back({"more", make_type(TypeId::kText), false});
    const std::string text(100, 'x');
    std::vector<RebuiltColumn> columns(5);
    for (int i = 0; i < 4; ++i) columns[static_cast<size_t>(i)].from = i;
    columns[4].values = {string_datum(text.data(), text.size())};
    auto next = rebuild_table(fixture.table.get(), schema, columns, true, plain_text, RebuildMode::kShares);
    ASSERT_TRUE(next.ok()) << next.status();
    EXPECT_EQ(table_digest(*fixture.table), before);
    EXPECT_EQ((*next)->live_tuples(), fixture.table->live_tuples());
    if (!is_taken_back) fixture.table->release();
    if (is_taken_back) next->reset();
    const Table& left = is_taken_back ? *fixture.table : **next;
    check_table(left);
    if (is_taken_back) EXPECT_EQ(table_digest(left), before);
  }
}

// Redo of a table without a key finds rows that the compactor has moved.
TEST(CompactorTest, ReplayOntoACompactedTable) {
  Random random(test_seed());
  TableSchema schema = small_schema();
  schema.indexes.erase(schema.indexes.begin());
  schema.indexes[0].id = IndexId(1);
  schema.columns.push_back({"__row_id", make_type(TypeId::kInt8), true});
  schema.has_row_id = true;
  TestStore store;
  auto memory = *FrozenMemory::create(kMemoryBytes, FrozenPages::kSmall);
  auto table = store.table(schema);
  auto replica = store.table(schema);
  replica->allow_freezing(memory.get());
  Compactor compactor({.is_forced = true, .moved_tuples_max = 7});
  auto log = *ChangeLog::create(store.arena.get(), {});
  TablePartition* partition = table->partition(0);
  TablePartition* other = replica->partition(0);
  const UpdateDescriptor texts = make_update_descriptor(*table, std::vector<uint32_t>{1, 2, 3});
  RowApplier applier([&](TableId) { return replica.get(); });
  for (int i = 0; i < 400; ++i) {
    for (uint64_t left = random.below(10); left > 0; --left) {
      const std::string note(random.below(50), 'q');
      const std::vector<Datum> values = {int_datum(i), string_datum("text", 4), string_datum(note.data(), note.size())};
      const Tid tid = partition->tuple_limit == 0 ? 0 : random.below(partition->tuple_limit);
      Tid made;
      if (!is_live(partition, tid)) {
        ASSERT_EQ(insert_row(partition, store.log.get(), {int_datum(i), values[0], values[1], values[2]}, &made),
                  ChangeResult::kOk);
      } else if (random.one_in(4)) {
        ASSERT_EQ(delete_tuple(partition, tid, store.log.get()), ChangeResult::kOk);
      } else {
        ASSERT_EQ(update_row(partition, store.log.get(), tid, texts, values), ChangeResult::kOk);
        ASSERT_EQ(insert_row(partition, store.log.get(), {int_datum(i), values[0], values[1], values[2]}, &made),
                  ChangeResult::kOk);
      }
    }
    const Status status = applier.apply(store.log->redo(), RowApplier::kAnyPartition);
    ASSERT_TRUE(status.ok()) << status << " at " << i;
    store.log->commit();
    while (random.one_in(2)) {
      compactor.take_step({&other, 1}, log.get());
      compactor.freeze_one();
    }
    if (i % 20 != 0) continue;
    ASSERT_EQ(table_digest(*table), table_digest(*replica));
    check_table(*replica);
  }
  EXPECT_GT(compactor.counts().frozen, 10u);
  EXPECT_GT(compactor.counts().moved, 10u);
}

}  // namespace
}  // namespace scyper::storage
