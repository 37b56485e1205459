#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>

#include "base/random.h"
#include "base/test_slice.h"
#include "row_plan.h"
#include "storage/compactor.h"
#include "storage/frozen_slot.h"
#include "storage/key.h"
#include "storage/logged_apply.h"
#include "storage/tiered_chunk.h"
#include "table_test_schema.h"

// Random transactions against a map; both layouts; with and without a budget that runs out. After every transaction the
// table equals the map, redo applied to a second table gives the same digest, and check_table() finds nothing.
namespace scyper::storage {
namespace {

constexpr uint64_t kSeed = 20261121;

std::string random_text(Random* random, size_t max_characters, size_t max_bytes) {
  std::string text;
  const size_t size = random->below(max_characters + 1);
  const bool multibyte = random->one_in(4);
  for (size_t i = 0; i < size && text.size() + 4 <= max_bytes; ++i) {
    text += multibyte ? "\xf0\x9f\x98\x80" : std::string(1, static_cast<char>('a' + random->below(26)));
  }
  return text;
}

__int128 random_number(Random* random, int digits) {
  __int128 value = 0;
  const int count = static_cast<int>(random->between(0, digits));
  for (int i = 0; i < count; ++i) value = value * 10 + static_cast<int>(random->below(10));
  return random->one_in(2) ? -value : value;
}

ModelValue random_value(Random* random, const SqlType& type, bool not_null);

ModelValue random_array(Random* random, const SqlType& type) {
  ModelValue value;
  value.null = false;
  for (uint64_t i = random->below(5); i > 0; --i) {
    value.elements.push_back(random_value(random, element_of(type), false));
  }
  return value;
}

ModelValue random_value(Random* random, const SqlType& type, bool not_null) {
  ModelValue value;
  if (!not_null && random->one_in(4)) return value;
  if (type.id == TypeId::kArray) return random_array(random, type);
  value.null = false;
  switch (type.id) {
    case TypeId::kBool:
      value.number = random->below(2);
      break;
    case TypeId::kInt2:
      value.number = random->one_in(2) ? random->between(0, 3) : static_cast<int16_t>(random->next());
      break;
    case TypeId::kInt4:
    case TypeId::kDate:
      value.number = static_cast<int32_t>(random->next());
      break;
    case TypeId::kInt8:
    case TypeId::kTimestamp:
      value.number = static_cast<int64_t>(random->next());
      break;
    case TypeId::kFloat8:
      value.number = std::bit_cast<int64_t>(static_cast<double>(random->between(-1000, 1000)) / 8);
      break;
    case TypeId::kNumeric:
      value.number = random_number(random, type.precision == 0 ? 38 : type.precision);
      value.scale = type.precision == 0 ? static_cast<int32_t>(random->below(10)) : type.scale;
      break;
    case TypeId::kChar:
      value.text = random_text(random, static_cast<size_t>(type.length), 4 * static_cast<size_t>(type.length));
      while (value.text.size() < static_cast<size_t>(type.length)) value.text += ' ';
      break;
    case TypeId::kVarchar:
      value.text = random_text(random, static_cast<size_t>(type.length), 64);
      break;
    default:
      value.text = random_text(random, random->one_in(50) ? 1500 : 40, 1600);
      if (random->one_in(2000)) value.text = std::string(100000, 'x');
  }
  return value;
}

// Equal for the unique indexes: numbers apart, char without its blanks.
std::string trimmed(const std::string& text) { return text.substr(0, text.find_last_not_of(' ') + 1); }

struct Model {
  std::map<int64_t, ModelRow> rows;  // by id
  std::set<std::string> notes;
  std::set<std::pair<int64_t, std::string>> pairs;

  static std::pair<int64_t, std::string> pair_of(const ModelRow& row) {
    return {static_cast<int64_t>(row[3].number), trimmed(row[9].text)};
  }
  void add(const ModelRow& row) {
    rows[static_cast<int64_t>(row[0].number)] = row;
    if (!row[11].null) notes.insert(row[11].text);
    pairs.insert(pair_of(row));
  }
  void remove(const ModelRow& row) {
    if (!row[11].null) notes.erase(row[11].text);
    pairs.erase(pair_of(row));
    rows.erase(static_cast<int64_t>(row[0].number));
  }
  // What the indexes say of a row, in their order; the row must not be in the model.
  ChangeResult judge(const ModelRow& row, uint32_t* index) const {
    if (rows.count(static_cast<int64_t>(row[0].number)) != 0) return *index = 0, ChangeResult::kDuplicateKey;
    if (!row[11].null && row[11].text.size() > 1990) return *index = 2, ChangeResult::kKeyTooLarge;
    if (!row[11].null && notes.count(row[11].text) != 0) return *index = 2, ChangeResult::kDuplicateKey;
    if (pairs.count(pair_of(row)) != 0) return *index = 3, ChangeResult::kDuplicateKey;
    return ChangeResult::kOk;
  }
};

class Player {
 public:
  Player(TestStore* store, Table* table, uint64_t seed) : store_(store), table_(table), random_(seed) {
    for (int i = 0; i < 12; ++i) {
      std::vector<uint32_t> columns;
      for (uint32_t c = 0; c < table->schema().columns.size(); ++c) {
        if (random_.one_in(i < 4 ? 3 : 8)) columns.push_back(c);
      }
      if (columns.empty()) columns.push_back(6);
      descriptors_.push_back(make_update_descriptor(*table, columns));
    }
    descriptors_.push_back(make_update_descriptor(*table, std::vector<uint32_t>{0}));
    descriptors_.push_back(make_update_descriptor(*table, std::vector<uint32_t>{16}));
  }

  // One transaction with savepoints. Returns its physical redo; empty when it was rolled back. repeats: it is taken
  // back and applied again from its redo before it ends.
  std::string transact(bool repeats = false) {
    Model before = model_;
    const Digest digest = repeats ? table_digest(*table_) : Digest();
    std::vector<std::pair<ChangeLog::Mark, Model>> savepoints;
    const uint64_t steps = random_.below(30) + 1;
    for (uint64_t i = 0; i < steps; ++i) {
      const uint64_t what = random_.below(20);
      if (what == 0) savepoints.emplace_back(store_->log->mark(), model_);
      if (what == 1 && !savepoints.empty()) {
        const size_t to = random_.below(savepoints.size());
        store_->log->rollback_to(savepoints[to].first);
        model_ = savepoints[to].second;
        savepoints.resize(to + 1);
      }
      if (what >= 2 && what < 10) insert();
      if (what >= 10 && what < 16) update();
      if (what >= 16) erase();
    }
    if (repeats) repeat(digest);
    if (random_.one_in(3)) {
      store_->log->rollback_all();
      model_ = before;
      return {};
    }
    std::string redo(store_->log->redo());
    EXPECT_EQ(store_->log->redo_bytes(), redo.size());
    store_->log->commit();
    EXPECT_TRUE(store_->log->empty());
    return redo;
  }

  void compare() {
    ASSERT_EQ(table_->live_tuples(), model_.rows.size());
    TablePartition* partition = table_->partition(0);
    for (auto& [id, row] : model_.rows) {
      const Tid tid = find(id);
      ASSERT_NE(tid, kNoTid);
      for (uint32_t c = 0; c < row.size(); ++c) {
        const SqlType& type = table_->schema().columns[c].type;
        ASSERT_TRUE(same_value(type, read_column(partition, tid, c), row[c].datum(type)))
            << "id " << id << " column " << c;
      }
    }
    check_table(*table_);
  }

  // kNoTid now and then.
  Tid any_row() {
    const auto row = model_.rows.lower_bound(static_cast<int64_t>(random_.below(400)));
    return row == model_.rows.end() ? kNoTid : find(row->first);
  }
  void write_long_notes() { long_notes_ = true; }
  uint64_t failures() const { return failures_; }
  uint64_t out_of_memory() const { return out_of_memory_; }
  uint64_t relocated() const { return relocated_; }

 private:
  Tid find(int64_t id) {
    char key[4];
    put_key_integer(key, static_cast<uint32_t>(id));
    return find_unique(table_->partition(0), 0, key, 4);
  }

  std::vector<Datum> data_of(ModelRow* row, const std::vector<uint32_t>* columns = nullptr) {
    std::vector<Datum> data;
    for (uint32_t c = 0; c < row->size(); ++c) {
      if (columns != nullptr && std::find(columns->begin(), columns->end(), c) == columns->end()) continue;
      data.push_back((*row)[c].datum(table_->schema().columns[c].type));
    }
    return data;
  }

  ModelRow random_row() {
    ModelRow row;
    for (const ColumnDef& column : table_->schema().columns) {
      row.push_back(random_value(&random_, column.type, column.not_null));
    }
    row[0].number = random_.below(400);
    row[3].number = random_.below(50);
    if (long_notes_ && !row[11].null) row[11].text += std::string(random_.below(1200), 'n');
    return row;
  }

  void repeat(const Digest& before) {
    ChangeLog* log = store_->log.get();
    const std::string redo(log->redo());
    const Digest after = table_digest(*table_);
    log->rollback_all();
    EXPECT_EQ(table_digest(*table_), before);
    for (int i = 0; i < 2; ++i) {
      const Status status = applier_.apply(redo, log, &places_);
      ASSERT_TRUE(status.ok()) << status;
      EXPECT_EQ(std::string(log->redo()), redo);
      EXPECT_EQ(table_digest(*table_), after);
      if (i > 0) break;
      log->rollback_all();
      EXPECT_EQ(table_digest(*table_), before);
      check_table(*table_);
    }
  }

  void judge(ChangeResult result, ChangeResult expected, uint32_t index) {
    if (result == ChangeResult::kOutOfMemory) {
      ++out_of_memory_;
      return;
    }
    ASSERT_EQ(static_cast<int>(result), static_cast<int>(expected));
    if (expected == ChangeResult::kOk) return;
    ++failures_;
    ASSERT_EQ(store_->log->conflict().index, index);
    ASSERT_FALSE(change_status(result, *store_->log, plain_text).ok());
  }

  void insert() {
    ModelRow row = random_row();
    uint32_t index = 0;
    const ChangeResult expected = model_.judge(row, &index);
    Tid tid;
    const ChangeResult result = insert_row(table_->partition(0), store_->log.get(), data_of(&row), &tid);
    judge(result, expected, index);
    if (result == ChangeResult::kOk) model_.add(row);
  }

  ModelRow* pick() {
    if (model_.rows.empty()) return nullptr;
    auto it = model_.rows.lower_bound(static_cast<int64_t>(random_.below(400)));
    return it == model_.rows.end() ? &model_.rows.begin()->second : &it->second;
  }

  void update() {
    ModelRow* old = pick();
    if (old == nullptr) return;
    const ModelRow before = *old;
    const UpdateDescriptor& descriptor = descriptors_[random_.below(descriptors_.size())];
    ModelRow changed = before;
    ModelRow values = random_row();
    std::vector<uint32_t> columns;
    for (const UpdateDescriptor::Cell& cell : descriptor.cells) {
      columns.push_back(cell.column);
      if (!random_.one_in(3)) changed[cell.column] = values[cell.column];
    }
    model_.remove(before);
    uint32_t index = 0;
    const ChangeResult expected = model_.judge(changed, &index);
    const Tid found = find(static_cast<int64_t>(before[0].number));
    ASSERT_NE(found, kNoTid);
    const Tid tid = make_hot(table_->partition(0), found, store_->log.get());
    relocated_ += tid != found && tid != kNoTid ? 1 : 0;
    const ChangeResult result = tid == kNoTid ? store_->log->last_result()
                                              : update_row(table_->partition(0), store_->log.get(), tid, descriptor,
                                                           data_of(&changed, &columns));
    judge(result, expected, index);
    model_.add(result == ChangeResult::kOk ? changed : before);
  }

  void erase() {
    ModelRow* row = pick();
    if (row == nullptr) return;
    const Tid tid = find(static_cast<int64_t>((*row)[0].number));
    ASSERT_NE(tid, kNoTid);
    const ChangeResult result = delete_tuple(table_->partition(0), tid, store_->log.get());
    judge(result, ChangeResult::kOk, 0);
    if (result == ChangeResult::kOk) model_.remove(ModelRow(*row));
  }

  TestStore* store_;
  Table* table_;
  Random random_;
  Model model_;
  std::vector<UpdateDescriptor> descriptors_;
  uint64_t failures_ = 0;
  uint64_t out_of_memory_ = 0;
  uint64_t relocated_ = 0;
  bool long_notes_ = false;
  LoggedApplier applier_{[this](TableId) { return table_; }, plain_text};
  RowPlaces places_;
};

// Applies physical redo as replay will.
void apply(Table* table, ChangeLog* log, const std::string& redo) {
  RowChangeReader reader(redo, [&](TableId id) { return id == table->schema().id ? &table->schema() : nullptr; });
  RowChange change;
  for (;;) {
    StatusOr<bool> more = reader.next(&change);
    ASSERT_TRUE(more.ok()) << more.status();
    if (!*more) return;
    TablePartition* partition = table->partition(change.partition);
    Tid tid = kNoTid;
    if (change.kind == RowChangeKind::kInsert) {
      ASSERT_EQ(insert_row(partition, log, change.values, &tid), ChangeResult::kOk);
      continue;
    }
    char key[4];
    put_key_integer(key, static_cast<uint32_t>(change.key[0].lo));
    tid = find_unique(partition, 0, key, 4);
    ASSERT_NE(tid, kNoTid);
    if (change.kind == RowChangeKind::kDelete) {
      ASSERT_EQ(delete_tuple(partition, tid, log), ChangeResult::kOk);
      continue;
    }
    // the log keeps the descriptor's address until commit
    static std::vector<std::unique_ptr<UpdateDescriptor>> descriptors;
    descriptors.push_back(std::make_unique<UpdateDescriptor>(make_update_descriptor(*table, change.columns)));
    ASSERT_EQ(update_row(partition, log, tid, *descriptors.back(), change.values), ChangeResult::kOk);
  }
}

class TableModelTest : public testing::TestWithParam<std::tuple<Layout, bool>> {};

TEST_P(TableModelTest, TransactionsAgreeWithAMapAndTheirRedo) {
  const auto [layout, hash] = GetParam();
  TestStore store;
  auto table = store.table(wide_schema(layout));
  auto other = store.table(wide_schema(layout == Layout::kRow ? Layout::kColumn : Layout::kRow));
  if (hash) {
    for (uint32_t i : {0u, 2u, 3u}) ASSERT_TRUE(table->build_hash_companion(i).ok());
  }
  auto replica = *ChangeLog::create(store.arena.get(), {});
  replica->record_redo(false);
  Player player(&store, table.get(), kSeed + static_cast<uint64_t>(layout) * 2 + hash);
  SCOPED_TRACE(kSeed);
  for (int i = 0; i < 400 && !HasFatalFailure(); ++i) {
    const std::string redo = player.transact(/*repeats=*/i % 4 == 3);
    apply(other.get(), replica.get(), redo);
    EXPECT_EQ(replica->redo_bytes(), 0u);
    replica->commit();
    if (i % 20 != 0) continue;
    player.compare();
    ASSERT_EQ(table_digest(*table), table_digest(*other));
  }
  player.compare();
  check_table(*other);
  EXPECT_EQ(table_digest(*table), table_digest(*other));
  EXPECT_GT(player.failures(), 100u);
  EXPECT_EQ(player.out_of_memory(), 0u);
}

TEST_P(TableModelTest, ATinyBudgetFailsStatementsAndLeavesNoTrace) {
  const auto [layout, hash] = GetParam();
  TableSchema schema = wide_schema(layout);
  const size_t chunk = chunk_bytes_of(schema);
  ChangeLog::Options options;
  options.reserve_bytes = size_t{256} << 10;
  uint64_t out_of_memory = 0;
  uint64_t runs = 0;
  for (size_t extra = 4; extra < 24; extra += test_slice(size_t{1}, size_t{2})) {
    TestStore store(chunk + (extra << 16) + options.reserve_bytes, options);
    StatusOr<std::unique_ptr<Table>> table = Table::create(schema, 1, store.arena.get());
    if (!table.ok()) continue;
    if (hash && !(*table)->build_hash_companion(0).ok()) continue;
    ++runs;
    Player player(&store, table->get(), kSeed + extra);
    player.write_long_notes();
    for (int i = 0; i < 40 && !HasFatalFailure(); ++i) {
      player.transact();
      check_table(**table);
    }
    player.compare();
    out_of_memory += player.out_of_memory();
  }
  EXPECT_GT(runs, test_slice(8u, 4u));
  EXPECT_GT(out_of_memory, test_slice(50u, 25u));
}

// Steps of a compactor between the transactions, so that these meet chunks in every state.
class Steps {
 public:
  Steps(Table* table, ChangeLog* log, FrozenMemory* memory, uint64_t seed, bool cools = false,
        FrozenTier* tier = nullptr)
      : partition_(table->partition(0)),
        log_(log),
        random_(seed),
        tier_(tier),
        compactor_({.is_forced = true, .cools_first = cools, .moved_tuples_max = 5, .reheat_share = 1, .tier = tier}) {
    table->allow_freezing(memory);
    table->frozen_store()->tier = tier;
  }
  // A row is read first, as transactions would.
  void take_some(Tid read) {
    if (tier_ != nullptr) change_room();
    if (read != kNoTid) note_read(partition_, read);
    if (random_.one_in(4)) ASSERT_TRUE(compactor_.observe({}).ok());
    // the last thing that there is to do is to bring data to the tier
    const bool takes_all = tier_ != nullptr && random_.one_in(8);
    while (takes_all && (compactor_.take_step({&partition_, 1}, log_) || compactor_.freeze_one())) {
    }
    for (uint64_t i = random_.below(4); i > 0; --i) {
      if (random_.one_in(2)) {
        compactor_.freeze_one();
      } else {
        compactor_.take_step({&partition_, 1}, log_);
      }
    }
  }
  Compactor& compactor() { return compactor_; }

 private:
  // Windows end, what others have in memory comes and goes, and some chunk is used much: vectors go and come back.
  void change_room() {
    if (random_.one_in(4)) tier_->begin_window();
    if (random_.one_in(16)) {
      is_crowded_ = !is_crowded_;
      const auto others = static_cast<int64_t>(tier_->memory_budget_bytes());
      tier_->add_resident(is_crowded_ ? others : -others);
    }
    if (partition_->tuple_limit == 0) return;
    const FrozenSlot* slot = slot_of(partition_, random_.below(partition_->tuple_limit));
    if (slot == nullptr || slot->state != ChunkState::kFrozen) return;
    VectorReader vectors;
    for (int i = 0; i < 8; ++i) {
      vectors.open(partition_, *slot);
      ASSERT_TRUE(vectors.bring(partition_->plan->all_columns)) << vectors.status();
    }
  }

  TablePartition* partition_;
  ChangeLog* log_;
  Random random_;
  FrozenTier* const tier_;
  bool is_crowded_ = false;
  Compactor compactor_;
};

class CompactedModelTest : public testing::TestWithParam<std::tuple<Layout, bool, bool, bool>> {};

// Reads through a cache of 16 pages. Null: there is no io_uring.
std::unique_ptr<FrozenTier> make_tiny_tier(const std::string& directory) {
  FrozenTierOptions options;
  options.directory = directory;
  options.cache_bytes = 16 * FrozenTier::kPageBytes;
  options.memory_bytes = size_t{1} << 20;  // more than there ever is
  auto tier = FrozenTier::create(options);
  EXPECT_TRUE(tier.ok() || sqlstate_of(tier.status()) == "0A000") << tier.status();
  return tier.ok() ? *std::move(tier) : nullptr;
}

TEST_P(CompactedModelTest, AgreesWithAMapAndATableThatIsHot) {
  const auto [layout, hash, cools, tiers] = GetParam();
  std::string directory = testing::TempDir() + "model_tier_XXXXXX";
  if (tiers) ASSERT_NE(mkdtemp(directory.data()), nullptr);
  std::unique_ptr<FrozenTier> tier = tiers ? make_tiny_tier(directory) : nullptr;
  if (tiers && tier == nullptr) GTEST_SKIP() << "no io_uring";
  auto memory = *FrozenMemory::create(size_t{256} << 20, FrozenPages::kSmall);
  TestStore store(size_t{1} << 30);
  auto table = store.table(flat_schema(layout));
  auto other = store.table(flat_schema(layout == Layout::kRow ? Layout::kColumn : Layout::kRow));
  if (hash) {
    for (uint32_t i : {0u, 2u, 3u}) ASSERT_TRUE(table->build_hash_companion(i).ok());
  }
  auto replica = *ChangeLog::create(store.arena.get(), {});
  replica->record_redo(false);
  const uint64_t seed = kSeed + static_cast<uint64_t>(layout) * 2 + hash;
  SCOPED_TRACE(seed);
  Player player(&store, table.get(), seed);
  auto steps = std::make_unique<Steps>(table.get(), store.log.get(), memory.get(), seed, cools, tier.get());
  uint64_t frozen_bytes_max = 0;
  for (int i = 0; i < (cools ? 400 : 600) && !HasFatalFailure(); ++i) {
    const std::string redo = player.transact(/*repeats=*/i % 4 == 3);
    apply(other.get(), replica.get(), redo);
    replica->commit();
    steps->take_some(player.any_row());
    frozen_bytes_max = std::max(frozen_bytes_max, table->memory().frozen_bytes);
    if (i % 20 != 0) continue;
    player.compare();
    ASSERT_EQ(table_digest(*table), table_digest(*other));
  }
  player.compare();
  EXPECT_EQ(table_digest(*table), table_digest(*other));
  const Compactor::Counts counts = steps->compactor().counts();
  printf("%lu cooling, %lu reheated, %lu relocated, %lu frozen, %lu returned, %lu emptied, %lu moved\n", counts.cooling,
         counts.reheated, counts.relocated, counts.frozen, counts.returned, counts.emptied, counts.moved);
  EXPECT_GT(counts.frozen, cools ? 5u : 20u);
  EXPECT_GT(counts.returned, 10u);
  EXPECT_GT(counts.emptied, cools ? 2u : 5u);
  EXPECT_GT(counts.moved, cools ? 5u : 20u);
  EXPECT_EQ(counts.cooling > 20, cools);
  EXPECT_EQ(counts.reheated > 5, cools);
  EXPECT_EQ(counts.relocated > 10, cools);
  EXPECT_GT(player.relocated(), 100u);
  EXPECT_EQ(player.out_of_memory(), 0u);
  EXPECT_GT(frozen_bytes_max, 0u);
  other.reset();
  table.reset();
  steps.reset();
  EXPECT_EQ(memory->usage().used_bytes, 0u);
  if (tier == nullptr) return;
  EXPECT_GT(tier->counts().evicted_vectors, 50u);
  EXPECT_GT(tier->cache()->statistics().pages_read, 50u);
  EXPECT_GT(tier->counts().promoted_vectors, 20u);
  EXPECT_GT(tier->counts().unwritten_bytes, 0u);
  tier.reset();
  EXPECT_EQ(rmdir(directory.c_str()), 0);
}

TEST_P(TableModelTest, ATinyBudgetLeavesNoTraceInACompactedTable) {
  const auto [layout, hash] = GetParam();
  TableSchema schema = flat_schema(layout);
  const size_t chunk = chunk_bytes_of(schema);
  ChangeLog::Options options;
  options.reserve_bytes = size_t{256} << 10;
  uint64_t out_of_memory = 0;
  uint64_t frozen = 0;
  uint64_t without_memory = 0;
  for (size_t extra = 6; extra < test_slice(size_t{14}, size_t{10}); ++extra) {
    auto memory = *FrozenMemory::create((extra % 4 + 2) * FrozenMemory::kFrozenGranuleBytes, FrozenPages::kSmall);
    TestStore store(chunk * 3 + (extra << 16) + options.reserve_bytes, options);
    StatusOr<std::unique_ptr<Table>> table = Table::create(schema, 1, store.arena.get());
    if (!table.ok()) continue;
    if (hash && !(*table)->build_hash_companion(0).ok()) continue;
    Player player(&store, table->get(), kSeed + extra);
    Steps steps(table->get(), store.log.get(), memory.get(), kSeed + extra);
    player.write_long_notes();
    for (int i = 0; i < 40 && !HasFatalFailure(); ++i) {
      player.transact();
      steps.take_some(player.any_row());
      check_table(**table);
    }
    player.compare();
    out_of_memory += player.out_of_memory();
    frozen += steps.compactor().counts().frozen;
    without_memory += steps.compactor().counts().without_memory;
  }
  EXPECT_GT(out_of_memory, 10u);
  EXPECT_GT(frozen, test_slice(10u, 4u));
  EXPECT_GT(without_memory, 0u);
}

INSTANTIATE_TEST_SUITE_P(Layouts, TableModelTest,
                         testing::Combine(testing::Values(Layout::kColumn, Layout::kRow), testing::Bool()));
INSTANTIATE_TEST_SUITE_P(Layouts, CompactedModelTest,
                         testing::Combine(testing::Values(Layout::kColumn, Layout::kRow), testing::Bool(),
                                          testing::Bool(), testing::Values(false)));
INSTANTIATE_TEST_SUITE_P(Tiered, CompactedModelTest,
                         testing::Combine(testing::Values(Layout::kColumn, Layout::kRow), testing::Values(false),
                                          testing::Values(false), testing::Values(true)));

}  // namespace
}  // namespace scyper::storage
