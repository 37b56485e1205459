#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/partition_set.h"
#include "base/status.h"
#include "storage/row_values.h"
#include "storage/sequence.h"
#include "storage/table.h"

namespace scyper::storage {

struct OwnedArray;

// Applies row changes (docs/redo_format.md) to tables: what replay does with physical redo. Decodes straight into the
// cells, keeps no undo: when a record does not fit the tables (XX001) or memory runs out (53200), what was applied
// stays, and the database must not be used. Whatever the bytes are, nothing outside of them is read.
// Threads: one; several appliers may work on different partitions at once while the tables' definitions stand still.
class RowApplier {
 public:
  // nullptr for an unknown table. Asked once per table until forget().
  using TableLookup = std::function<Table*(TableId)>;
  using SequenceLookup = std::function<Sequence*(SequenceId)>;
  // Carries out a definition among the changes.
  using Define = std::function<Status(std::string_view text)>;
  explicit RowApplier(TableLookup lookup, SequenceLookup sequences = nullptr, Define define = nullptr);
  ~RowApplier();

  static constexpr uint32_t kAnyPartition = ~uint32_t{0};
  // partition: the only one of partitioned tables that the changes may lie in.
  Status apply(std::string_view changes, uint32_t partition);
  // Whether apply() could read the bytes: tables, columns, partitions, widths and values' ranges, by what it reads them
  // with. Changes no table; whether the rows are there is not looked at. What follows a definition is not either: it is
  // of tables that are not there yet.
  // between: called before each change.
  Status check(std::string_view changes, uint32_t partition, const std::function<void()>& between = {});
  // Of partitioned tables only rows of these partitions are applied from now on; the others are passed over.
  void set_held(PartitionSet held) { held_ = std::move(held); }
  // The definition of a table has changed.
  void forget();

  uint64_t rows() const { return rows_; }  // applied
  // The table of the change read last, for the message about one that does not fit; empty: none.
  std::string last_table() const;

 private:
  friend StatusOr<std::unique_ptr<struct OwnedArray>> read_array_value(std::string_view bytes, const SqlType& type);
  struct Target;
  struct UpdatePlan;
  struct Moves;
  struct Input;
  StatusOr<Target*> target_of(uint32_t table);
  Status insert(Target* target, TablePartition* partition, Input* in);
  UpdatePlan* update_plan(Target* target, const char* begin, Input* in);
  Status update(Target* target, const char* begin, Input* in, uint32_t allowed);
  Status remove(Target* target, TablePartition* partition, Input* in);
  Status insert_or_remove(bool inserts, Target* target, Input* in, uint32_t allowed);
  TablePartition* partition_of(Target* target, Input* in, uint32_t allowed);
  bool is_held(const Target& target, const TablePartition& partition) const;
  static bool read_key(const Target& target, Input* in, std::vector<Datum>* values);
  static void pass_key(const Target& target, Input* in);
  static void pass_values(const RowValues& values, Input* in);
  static Status check_values(const RowValues& values, Input* in);
  Status check_row(RowChangeKind kind, const char* begin, Input* in, uint32_t allowed);
  Status check_sequence(Input* in) const;
  Status apply_sequence(Input* in);
  Status apply_definition(Input* in, uint32_t allowed);
  static ChangeResult write_values(TablePartition* partition, Tid tid, const RowValues& values, const Moves& moves,
                                   Input* in);
  Tid find(Target* target, TablePartition* partition, Input* in);

  const TableLookup lookup_;
  const SequenceLookup sequences_;
  const Define define_;
  std::unordered_map<uint32_t, std::unique_ptr<Target>> targets_;
  uint32_t last_number_ = 0;
  Target* last_target_ = nullptr;  // of that number
  PartitionSet held_ = PartitionSet::all();
  uint64_t rows_ = 0;
};

// An array as it lies in redo and archives, owning its elements; strings point into the bytes. XX001.
struct OwnedArray {
  ArrayValue value;
  std::vector<Datum> elements;
};
StatusOr<std::unique_ptr<OwnedArray>> read_array_value(std::string_view bytes, const SqlType& type);

}  // namespace scyper::storage
