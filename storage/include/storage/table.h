#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <type_traits>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/status.h"
#include "storage/arena.h"
#include "storage/index.h"
#include "storage/row_values.h"
#include "storage/schema.h"

namespace scyper::storage {

class ChangeLog;
class FrozenMemory;
class SharedRows;
class StringHeap;
class Table;
struct FrozenSlot;
struct FrozenStore;
struct RowPlan;
struct TableStatistics;

// At the start of every chunk that is not frozen (frozen_slot.h); the vectors follow (TableLayout).
struct ChunkHeader {
  enum class Kind : uint32_t { kHot = 0 };
  Kind kind = Kind::kHot;
  uint32_t live = 0;             // live tuples
  uint32_t used = 0;             // positions below this were used at least once
  uint32_t free_head = 0;        // first free position + 1, 0 = none (the others by TableLayout::free_offset)
  uint32_t next_free_chunk = 0;  // next chunk with free positions + 1, 0 = last
  uint32_t bytes = 0;            // of its memory
  uint32_t bytes_used = 0;       // of these: as the layout of its table says, or of one that is made of it
  uint32_t reserved[9] = {};
};
static_assert(sizeof(ChunkHeader) == 64);

constexpr uint32_t kMaxIndexesPerTable = 16;

// One index of one partition: an ordered index always, and, for unique keys that statements look up whole, a hash
// companion that is built when the first such statement is compiled. Keys with a NULL (they end with the Tid) are in
// `ordered` only.
struct PartitionIndex {
  OrderedIndex* ordered = nullptr;
  HashIndex* hash = nullptr;
};

// The part of a table that lies in one partition. Generated code reads the fields up to chunk_count by offset: a
// standard-layout struct (offsets below).
// Owner: Table. Threads: the partition's worker, or whoever runs a partition-crossing transaction alone; readers of
// shared tables run beside no writer. Fork: the child may read.
struct TablePartition {
  char** chunks = nullptr;   // directory: address of each hot chunk, null of the others; moves when it grows
  uint64_t tuple_limit = 0;  // scans visit [0, tuple_limit)
  uint64_t live_tuples = 0;
  PartitionIndex indexes[kMaxIndexesPerTable];  // by position in TableSchema::indexes
  StringHeap* heap = nullptr;
  uint64_t next_row_id = 1;  // hidden row ids of tables without primary key: next_row_id * partitions + partition
  Table* table = nullptr;
  uint32_t partition = 0;
  uint32_t chunk_count = 0;

  // --- not for generated code ---
  const RowPlan* plan = nullptr;
  uint32_t free_chunk = 0;  // first chunk with free positions + 1, 0 = none
  uint32_t chunk_capacity = 0;
  uint32_t partitions = 1;
  // By chunk: kChangedForArchive | kChangedForObserver.
  uint8_t* changed = nullptr;
  // By chunk, for chunks that are not hot (frozen_slot.h); null while all are.
  FrozenSlot* frozen = nullptr;
};
static_assert(std::is_standard_layout_v<TablePartition>);
static_assert(offsetof(TablePartition, chunks) == 0);
static_assert(offsetof(TablePartition, tuple_limit) == 8);
static_assert(offsetof(TablePartition, live_tuples) == 16);
static_assert(offsetof(TablePartition, indexes) == 24 && sizeof(PartitionIndex) == 16);
static_assert(offsetof(TablePartition, heap) == 280);
static_assert(offsetof(TablePartition, next_row_id) == 288);
static_assert(offsetof(TablePartition, table) == 296);
static_assert(offsetof(TablePartition, partition) == 304);
static_assert(offsetof(TablePartition, chunk_count) == 308);

struct TableMemory {
  uint64_t chunk_bytes = 0;
  uint64_t heap_bytes = 0;
  uint64_t index_bytes = 0;
  uint64_t frozen_bytes = 0;      // images of frozen chunks
  uint64_t dictionary_bytes = 0;  // of these
  uint64_t hot_chunks = 0;
  uint64_t cold_chunks = 0;
  uint64_t frozen_chunks = 0;
};

class Table;

// While it lives, its thread sees these versions of tables' schemas instead of the current ones: statements for a
// snapshot are compiled with the indexes that the snapshot has. Not nested.
class SchemaScope {
 public:
  using Versions = std::unordered_map<const Table*, const TableSchema*>;
  explicit SchemaScope(const Versions* versions) noexcept { current = versions; }
  ~SchemaScope() { current = nullptr; }
  SchemaScope(const SchemaScope&) = delete;
  SchemaScope& operator=(const SchemaScope&) = delete;

  static inline constinit thread_local const Versions* current = nullptr;
};

// A table: schema, layout and its partitions (one for shared tables). Data only; who may touch it when is decided
// above. Threads: schema() any; create_index, drop_index and build_hash_companion run alone on the whole table.
class Table {
 public:
  // A partitioned table gets `partitions` of them, a shared one always one. The schema has a primary key or row ids.
  static StatusOr<std::unique_ptr<Table>> create(TableSchema schema, uint32_t partitions, Arena* arena);
  // A table with the rows of `old` in the same places: their chunks, texts and some indexes are not copied. Its chunks
  // are still to be added. kept: by index of the schema, its position in `old`; -1: a new one, which is empty. Nothing
  // may change rows of either until one of them is released or destroyed; the other one then has them alone.
  static StatusOr<std::unique_ptr<Table>> create_sharing(Table* old, TableSchema schema, TableLayout layout,
                                                         const std::vector<int>& kept);
  ~Table();
  Table(const Table&) = delete;
  Table& operator=(const Table&) = delete;

  // The current version; earlier ones stay readable as long as the table lives.
  const TableSchema& schema() const {
    if (SchemaScope::current != nullptr) [[unlikely]] {
      auto version = SchemaScope::current->find(this);
      if (version != SchemaScope::current->end()) return *version->second;
    }
    return *schema_.load(std::memory_order_acquire);
  }
  const TableLayout& layout() const { return layout_; }
  uint32_t partition_count() const { return static_cast<uint32_t>(partitions_.size()); }
  TablePartition* partition(uint32_t i) const { return partitions_[i]; }
  TablePartition** partition_array() { return partitions_.data(); }  // for generated code
  Arena* arena() const { return arena_; }

  uint64_t live_tuples() const;  // threads: any; roughly, while others change rows
  TableMemory memory() const;

  // Of a table that was dropped: its rows' and indexes' memory goes back to the arena at once, whoever still holds the
  // table (programs compiled for earlier catalogs do); of the table itself only its schemas may be used. Runs alone.
  void release();

  // Builds the index from the tuples that exist. On error (23505, 53200, 54000, 0A000) nothing has changed.
  // Raises schema().version: compiled code and UpdateDescriptors of the old version may not run any more.
  using DatumFormatter = std::string (*)(const SqlType& type, const Datum& value);
  Status create_index(IndexDef index, DatumFormatter format);
  // Positions behind it move down; raises schema().version.
  void drop_index(uint32_t index);
  // For a unique index; nothing to do when it exists. 53200. Raises no version: code that runs finds through either.
  Status build_hash_companion(uint32_t index);

  const RowPlan& plan() const { return *plan_; }

  // From here on chunks of this table may become cold and frozen; their images lie in `memory`, which outlives the
  // table. Once; runs alone.
  void allow_freezing(FrozenMemory* memory);
  FrozenStore* frozen_store() const { return frozen_store_.get(); }  // null: they may not

  // What the optimiser knows of the table (storage/statistics.h): set by whoever may read it all, nullptr before.
  // Threads: any.
  std::shared_ptr<const TableStatistics> statistics() const { return std::atomic_load(&statistics_); }
  void set_statistics(std::shared_ptr<const TableStatistics> statistics) {
    std::atomic_store(&statistics_, std::move(statistics));
    statistics_number_.fetch_add(1, std::memory_order_release);
  }
  // Of the statistics at hand: grows whenever they are set.
  uint64_t statistics_number() const { return statistics_number_.load(std::memory_order_acquire); }

  // Null: with nobody.
  SharedRows* shared_rows() const { return shared_rows_.get(); }

 private:
  friend class SharedRows;
  Table(TableSchema schema, TableLayout layout, Arena* arena);
  void add_partitions(uint32_t count);
  Status add_index_structures(uint32_t index);
  void destroy_index(uint32_t index);
  void publish(std::unique_ptr<const TableSchema> schema);

  Arena* const arena_;
  TableLayout layout_;
  std::atomic<const TableSchema*> schema_;
  std::vector<std::unique_ptr<const TableSchema>> versions_;
  std::unique_ptr<RowPlan> plan_;
  std::unique_ptr<FrozenStore> frozen_store_;
  std::shared_ptr<const TableStatistics> statistics_;
  std::atomic<uint64_t> statistics_number_{0};
  std::vector<std::unique_ptr<TablePartition>> owned_;
  std::vector<TablePartition*> partitions_;
  std::shared_ptr<SharedRows> shared_rows_;
};

// What an UPDATE statement changes, prepared once when it is compiled; valid for one schema version. The row operations
// and the undo entries of running transactions refer to it: it lives as long as the compiled statement.
struct UpdateDescriptor {
  struct Cell {
    ColumnAccess access;
    uint32_t column;
  };
  std::vector<Cell> cells;         // changed columns, ascending
  std::vector<uint32_t> payloads;  // positions in `cells` of strings and arrays that may lie in the heap
  uint32_t affected_indexes = 0;   // bit i: index i has a changed column
  uint32_t image_bytes = 0;        // of a before-image: cells and NULL bytes
  RowValues values;                // their form in redo
  std::string redo_prefix;         // docs/redo_format.md: kind, table, columns
};
UpdateDescriptor make_update_descriptor(const Table& table, std::span<const uint32_t> columns);

// --- Tuple operations: generated code (through runtime wrappers), the interpreter and replay ---
//
// INSERT:  evaluate all values; tid = insert_begin(); write every fixed cell and every NULL byte; strings and arrays
// (those of
//          NULLs: the empty cell, see CellKind) by store_*(); insert_finish().
// UPDATE:  evaluate all values into memory that is no cell of this row; update_begin(); write the changed cells and
// NULL bytes
//          likewise; update_finish().
// Between begin and finish no other change may go to the same log. Whoever stops half way rolls back to a mark taken
// before (or calls insert_abandon()). All return kOk or, with this row's change taken back entirely, the reason;
// changes of earlier rows stay until the caller rolls back to its mark. change_status() makes the error a client sees;
// call it before that rollback. No locks, no malloc but for a new chunk's directory slot. Memory comes from the table's
// and the log's arena.
enum class ChangeResult : int32_t {
  kOk = 0,
  kDuplicateKey,  // 23505: ChangeLog::conflict()
  kOutOfMemory,   // 53200
  kRedoLimit,     // 53400
  kUndoLimit,     // 53400
  kKeyTooLarge,   // 54000: ChangeLog::conflict()
};

// A free position, not yet live, all cells undefined but __row_id. kNoTid: see ChangeLog::last_result().
Tid insert_begin(TablePartition* partition, ChangeLog* log) noexcept;
ChangeResult insert_finish(TablePartition* partition, Tid tid, ChangeLog* log) noexcept;
// What insert_finish() does, in pieces, for generated code that has written the row's redo itself: one call per index
// in their order, then the tuple is made live (by the caller, from TableLayout::live_offset and the counters).
ChangeResult insert_one_key(TablePartition* partition, uint32_t index, Tid tid, ChangeLog* log) noexcept;
// The same for a key in registers (HashIndex::find_words): fixed, unique, without NULLs.
ChangeResult insert_one_key(TablePartition* partition, uint32_t index, uint64_t first, uint64_t second, Tid tid,
                            ChangeLog* log) noexcept;
// Takes back an insert_begin() without finish.
void insert_abandon(TablePartition* partition, Tid tid, ChangeLog* log) noexcept;

ChangeResult update_begin(TablePartition* partition, Tid tid, const UpdateDescriptor* descriptor,
                          ChangeLog* log) noexcept;
// Moves the keys of affected indexes whose bytes have changed; logs.
ChangeResult update_finish(TablePartition* partition, Tid tid, const UpdateDescriptor* descriptor,
                           ChangeLog* log) noexcept;

// The position is used again only after commit.
ChangeResult delete_tuple(TablePartition* partition, Tid tid, ChangeLog* log) noexcept;

// Write one cell of a tuple between begin and finish. On error the cell is the empty value.
ChangeResult store_string(TablePartition* partition, ChangeLog* log, char* cell, const ColumnAccess* access,
                          const char* data, uint64_t size) noexcept;
ChangeResult store_array(TablePartition* partition, ChangeLog* log, char* cell, const ArrayValue* array,
                         const SqlType& type) noexcept;
// Any value, with its NULL byte; the value has the column's type and scale.
ChangeResult store_datum(TablePartition* partition, ChangeLog* log, Tid tid, uint32_t column,
                         const Datum& value) noexcept;
// Reads any cell, strings and arrays in place: valid until the row changes.
Datum read_column(const TablePartition* partition, Tid tid, uint32_t column) noexcept;

// The tuple with this whole key (key.h) of a unique index, kNoTid when there is none.
inline Tid find_unique(const TablePartition* partition, uint32_t index, const char* key, uint32_t size) noexcept {
  const PartitionIndex& found = partition->indexes[index];
  return found.hash != nullptr ? found.hash->find(key, size) : found.ordered->find(key, size);
}

// The same for a key in registers (HashIndex::find_words) of `size` bytes.
inline Tid find_unique_words(const TablePartition* partition, uint32_t index, uint32_t size, uint64_t first,
                             uint64_t second) noexcept {
  const PartitionIndex& found = partition->indexes[index];
  if (found.hash != nullptr) [[likely]]
    return found.hash->find_words(first, second);
  const uint64_t key[] = {first, second};
  return found.ordered->find(reinterpret_cast<const char*>(key), size);
}

// Between insert_begin() and insert_finish(): a live tuple that has a key of the new one in one of the unique indexes
// (bit i: index i), kNoTid when there is none.
Tid find_conflict(const TablePartition* partition, Tid tid, uint32_t indexes) noexcept;

inline char* chunk_of(const TablePartition* partition, Tid tid) { return partition->chunks[tid >> kChunkShift]; }
inline uint32_t offset_of(Tid tid) { return static_cast<uint32_t>(tid & (kChunkTuples - 1)); }
// Bits of TablePartition::changed: since the marks were taken, by who takes them.
constexpr uint8_t kChangedForArchive = 1;   // a committed change, or a new chunk (take_changed_chunks())
constexpr uint8_t kChangedForObserver = 2;  // a committed change (Compactor, where the engine counts accesses)
inline void mark_changed(TablePartition* partition, Tid tid) {
  partition->changed[tid >> kChunkShift] = kChangedForArchive | kChangedForObserver;
}
// Takes one of them away. Threads: as commits to the partition.
inline bool take_changed(TablePartition* partition, uint64_t chunk, uint8_t bit) {
  const bool was_set = (partition->changed[chunk] & bit) != 0;
  partition->changed[chunk] = static_cast<uint8_t>(partition->changed[chunk] & ~bit);
  return was_set;
}
bool is_live(const TablePartition* partition, Tid tid) noexcept;

// The error a client sees, with PostgreSQL's texts (duplicate key value violates unique constraint "x" / Key (a, b)=(1,
// 2) already exists.). Reads the conflicting tuple: before anything is rolled back.
Status change_status(ChangeResult result, const ChangeLog& log, Table::DatumFormatter format);

// Appends rows (values of all columns but __row_id, row after row, with their column's types) without undo or redo:
// loading and restoring, nothing else runs on the partition. All rows or, on error, none. 23502, 23505, 53200, 54000.
Status append_rows(TablePartition* partition, std::span<const Datum> values, Table::DatumFormatter format);
// parts[i] goes to partition i: all rows of all partitions or none. redo: null, or gets the row changes
// (docs/redo_format.md).
Status append_rows(Table* table, std::span<const std::vector<Datum>> parts, Table::DatumFormatter format,
                   std::string* redo);

// State digest: the 128-bit sum of all row hashes over canonical values (docs/redo_format.md), the same for the same
// logical state whatever layout, order and TIDs (design section 5, rule 7).
struct Digest {
  uint64_t lo = 0;
  uint64_t hi = 0;
  void add(uint64_t other_lo, uint64_t other_hi) {
    lo += other_lo;
    hi += other_hi + (lo < other_lo ? 1 : 0);
  }
  friend bool operator==(const Digest&, const Digest&) = default;
};
Digest table_digest(const Table& table);

// Walks everything and CHECKs that it fits: every live tuple is in every index exactly once and nothing else is, free
// lists, counters, heap payloads. No transaction is running. For tests.
void check_table(const Table& table);

}  // namespace scyper::storage
