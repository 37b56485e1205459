#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "query/catalog.h"

namespace scyper::query {

class Database;

// Indexes of a secondary's own (DanaC 2013, 2.1: secondaries choose their physical design). They are kept as others
// are, and are in the catalog of their node; but not in its archives, and only queries on snapshots look rows up by
// them: what replay compiles reads rows in the order in which the primary read them.

// Numbers of indexes: those that definitions of the log and temporary tables (storage/temporary.h) draw lie below.
constexpr uint32_t kFirstLocalIndex = uint32_t{1} << 31;
inline bool is_local(const storage::IndexDef& index) { return index.id.value() >= kFirstLocalIndex; }
// The position that a table's index has where there are no local ones.
uint32_t shared_position(const storage::TableSchema& schema, uint32_t index);
// The number of the next local index, of the whole catalog.
uint32_t next_local_index(const Catalog& catalog);

// While statements are compiled that may use local indexes. Threads: its own.
class LocalIndexUse {
 public:
  LocalIndexUse() noexcept { depth_++; }
  ~LocalIndexUse() { depth_--; }
  LocalIndexUse(const LocalIndexUse&) = delete;
  LocalIndexUse& operator=(const LocalIndexUse&) = delete;
  static bool is_on() { return depth_ > 0; }

 private:
  static inline constinit thread_local int depth_ = 0;
};

// The local indexes that a node is to have. Threads: one, while the database is nobody else's.
class LocalIndexes {
 public:
  // list: what stands behind CREATE INDEX ON, separated by semicolons: "orders (o_c_id, o_id DESC); item (i_name)".
  // 22023 where it does not parse, or wants more than an index of columns.
  static StatusOr<LocalIndexes> parse(std::string_view list);

  bool empty() const { return wanted_.empty(); }
  // Makes those whose tables are there and that are missing. What cannot be made is tried again after the next change
  // of the catalog; why, in words, once each.
  std::vector<std::string> make(Database* database);
  // Drops all that there are.
  static Status drop(Database* database);
  // Within make() and drop(): what is defined is local.
  static bool is_defining() { return is_defining_; }

 private:
  struct Wanted {
    std::string text;  // table and columns
    std::string name;
    std::string complaint;
  };
  static Status define(Database* database, const std::string& sql);

  static inline constinit thread_local bool is_defining_ = false;
  std::vector<Wanted> wanted_;
  uint64_t made_for_ = 0;  // version of the catalog
};

}  // namespace scyper::query
