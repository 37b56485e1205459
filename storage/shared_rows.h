#pragma once

#include <cstdint>
#include <vector>

#include "base/mutex.h"
#include "storage/table.h"

namespace scyper::storage {

// Chunks, texts and indexes that tables have in common while a definition makes one table of the other
// (table_rebuild.h). One of the tables owns them. When it is released, the one that was made last owns them; the
// others lose them. While the first owner has them, nothing changes rows.
// Threads: a table that nobody uses any more may be destroyed on any; all else runs alone.
class SharedRows {
 public:
  explicit SharedRows(Table* owner) : owner_(owner) {}

  void add(Table* table);
  // Of a table that is being made: a chunk that the tables before it do not have as a hot one.
  void note_thawed(const Table* table, uint32_t partition, uint32_t chunk);
  // A column that the tables before it do not have and whose cells may refer to the heap.
  void note_payload(const Table* table, const ColumnAccess& access);
  // The chunk lies elsewhere.
  void move_chunk(uint32_t partition, uint32_t chunk, const char* from, char* to);

  // The table has dropped the index: its structures stay with those that have them. False: it has to free them.
  bool drop_index(Table* table, uint32_t partition, uint32_t index);
  // The table needs its rows no more. False: nobody else does, so it has to free them.
  bool leave(Table* table);

 private:
  struct Thawed {
    const Table* table;  // the first one that has it
    uint32_t partition;
    uint32_t chunk;
  };
  struct Payload {
    const Table* table;
    ColumnAccess access;
  };
  void hand_over();
  void take_back(const Table& last, const Table& before);
  void forget_rows(Table* table);
  void forget_index(Table* table, uint32_t partition, uint32_t index);

  Mutex mutex_;
  Table* owner_;
  std::vector<Table*> others_;  // made of it or of each other, in this order
  std::vector<Thawed> thawed_;
  std::vector<Payload> payloads_;
};

}  // namespace scyper::storage
