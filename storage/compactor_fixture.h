#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "base/random.h"
#include "storage/access_observer.h"
#include "storage/compactor.h"
#include "storage/frozen_memory.h"
#include "storage/key.h"
#include "table_test_schema.h"

// A table and its compactor.
namespace scyper::storage {

constexpr size_t kMemoryBytes = size_t{64} << 20;

inline TableSchema small_schema(Layout layout = Layout::kColumn) {
  TableSchema schema;
  schema.id = TableId(3);
  schema.name = "small";
  schema.layout = layout;
  schema.columns = {{"id", make_type(TypeId::kInt4), true},
                    {"amount", make_type(TypeId::kInt8), false},
                    {"name", make_string(TypeId::kVarchar, 12), false},
                    {"note", make_type(TypeId::kText), false}};
  schema.indexes = {{IndexId(1), "small_pkey", {0}, {}, true, true}, {IndexId(2), "small_name", {2}, {}, false, false}};
  schema.scheme = PartitionScheme::kHash;
  schema.partition_column = 0;
  return schema;
}

inline Compactor::Options forced() {
  Compactor::Options options;
  options.is_forced = true;
  return options;
}

class Fixture {
 public:
  explicit Fixture(uint32_t partitions = 1, Layout layout = Layout::kColumn,
                   const Compactor::Options& options = forced())
      : memory(*FrozenMemory::create(kMemoryBytes, FrozenPages::kSmall)), compactor(options) {
    table = store.table(small_schema(layout), partitions);
    table->allow_freezing(memory.get());
    table->frozen_store()->tier = options.tier;
  }
  ~Fixture() { table.reset(); }

  TablePartition* partition(uint32_t i = 0) { return table->partition(i); }
  void append(int rows, Random* random, uint32_t number = 0) {
    std::vector<Datum> values;
    std::vector<std::string> texts;
    texts.reserve(static_cast<size_t>(rows) * 2);
    for (int i = 0; i < rows; ++i) {
      texts.push_back("name" + std::to_string(random->below(20)));
      texts.push_back(std::string(random->below(40), static_cast<char>('a' + random->below(3))));
      values.push_back(int_datum(next_id++));
      values.push_back(random->one_in(10) ? null_datum() : int_datum(static_cast<int64_t>(random->below(1000))));
      values.push_back(string_datum(texts[texts.size() - 2].data(), texts[texts.size() - 2].size()));
      values.push_back(random->one_in(5) ? null_datum() : string_datum(texts.back().data(), texts.back().size()));
    }
    ASSERT_TRUE(append_rows(partition(number), values, plain_text).ok());
  }
  // All steps there are, of one partition.
  void compact(uint32_t number = 0) {
    TablePartition* one = partition(number);
    while (compactor.take_step({&one, 1}, store.log.get()) || compactor.freeze_one()) {
    }
  }
  Tid find(int32_t id, uint32_t number = 0) {
    char key[4];
    put_key_integer(key, static_cast<uint32_t>(id));
    return find_unique(partition(number), 0, key, 4);
  }

  TestStore store;
  std::unique_ptr<FrozenMemory> memory;
  std::unique_ptr<Table> table;
  Compactor compactor;
  int next_id = 1;
};

// Chunks become cold by what an observer says: here the test says it.
class TestObserver : public AccessObserver {
 public:
  static constexpr uint32_t kUnits = 64;

  explicit TestObserver(bool sees_reads = true) : sees_reads_(sees_reads) {}
  ObserverKind kind() const override { return ObserverKind::kPagemap; }
  bool sees_reads() const override { return sees_reads_; }
  StatusOr<WatchId> watch(TableId table, void* start, size_t bytes) override {
    const WatchId id(++last_);
    ranges_[static_cast<char*>(start)] = {id, table, sees_reads_, bytes / kUnits, std::vector<uint8_t>(kUnits), 0, 0};
    return id;
  }
  Status forget(WatchId id) override {
    std::erase_if(ranges_, [id](const auto& range) { return range.second.id == id; });
    return absl::OkStatus();
  }
  AccessCounter* counter_of(WatchId) override { return nullptr; }
  StatusOr<std::vector<RangeAccess>> collect(const std::set<TableId>&) override {
    std::vector<RangeAccess> all;
    for (auto& [start, range] : ranges_) {
      all.push_back(range);
      all.back().written_units = static_cast<size_t>(std::count(range.units.begin(), range.units.end(), kWritten));
      std::fill(range.units.begin(), range.units.end(), uint8_t{0});
    }
    return all;
  }
  void write(const char* start) {
    for (uint32_t unit = 0; unit < kUnits; ++unit) write(start, unit);
  }
  void write(const char* start, uint32_t unit) { ranges_.at(const_cast<char*>(start)).units[unit] = kWritten; }
  size_t watched() const { return ranges_.size(); }

 private:
  static constexpr uint8_t kWritten = kAccessRead | kAccessWritten;
  const bool sees_reads_;
  uint64_t last_ = 0;
  std::map<char*, RangeAccess> ranges_;
};

}  // namespace scyper::storage
