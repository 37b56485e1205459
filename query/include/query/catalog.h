#pragma once

#include <map>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "base/strong.h"
#include "query/access.h"
#include "query/database_definition.h"
#include "query/domain.h"
#include "query/partitioning.h"
#include "query/role.h"
#include "storage/enum_type.h"
#include "storage/sequence.h"
#include "storage/table.h"

namespace scyper::query {

namespace ast {
struct CreateRoutineStatement;
}

enum class ParameterMode : uint8_t { kIn, kOut, kInOut };

struct RoutineParameter {
  std::string name;
  ParameterMode mode = ParameterMode::kIn;
  SqlType type;
  uint32_t domain = 0;   // it is of
  std::string relation;  // kRecord: the table whose row it is
  bool has_default = false;
  bool variadic = false;     // the last one: takes all arguments that are left, as an array
  std::string default_text;  // SQL expression
};

class Program;

// When a trigger fires (ALTER TABLE ... ENABLE | DISABLE TRIGGER), by the letters of pg_trigger.
enum class Firing : char { kOrigin = 'O', kAlways = 'A', kReplica = 'R', kDisabled = 'D' };

// CREATE TRIGGER. Immutable.
struct Trigger {
  enum Event : uint8_t { kInsert = 1, kDelete = 2, kUpdate = 4 };
  std::string name;
  std::string table;
  std::string function;
  bool before = false;
  bool per_row = false;
  uint8_t events = 0;
  std::vector<std::string> columns;  // UPDATE OF
  std::string when;                  // SQL expression; empty = always
  std::vector<std::string> arguments;
  Firing firing = Firing::kOrigin;
  bool instead = false;              // INSTEAD OF: `table` is a view
  bool is_constraint = false;        // CREATE CONSTRAINT TRIGGER
  bool is_deferrable = false;        // it may be written so; SET CONSTRAINTS is not there
  std::string old_table, new_table;  // REFERENCING; empty = none
  std::string constraint_table;      // CREATE CONSTRAINT TRIGGER ... FROM
  // Nothing here runs as a replica.
  bool fires() const { return firing == Firing::kOrigin || firing == Firing::kAlways; }
};

// A stored procedure or function: its definition. Immutable; what it compiles to belongs to a catalog version.
// Polymorphic types: query/polymorphic.h. The columns of RETURNS TABLE are OUT parameters.
struct Routine {
  RoutineId id;
  std::string name;
  bool procedure = false;
  std::vector<RoutineParameter> parameters;
  SqlType return_type;          // functions; kRecord: of `return_relation`, or as the OUT parameters say
  uint32_t return_domain = 0;   // its values are of
  std::string return_relation;  // the table whose rows it returns
  bool returns_set = false;
  bool is_trigger = false;
  bool is_sql = false;  // `body` is PL/pgSQL made of LANGUAGE sql: RETURN QUERY gives the result
  std::string body;
  bool strict = false;
  bool is_volatile = true;
  bool is_immutable = false;
  bool is_definer = false;  // SECURITY DEFINER: runs as its owner
  // A polymorphic one for certain types, or one that returns records for a certain list of columns: lives in programs
  // only. Empty: as it was defined.
  std::string variant;
  std::vector<RoutineParameter> record_columns;
  std::shared_ptr<const Trigger> trigger;  // the function as this trigger
  uint8_t trigger_event = 0;
  uint8_t trigger_depth = 0;  // what it adds to pg_trigger_depth()
  std::string definition;     // the CREATE statement's text, for the log and \df
  Access access;

  size_t input_count() const {
    size_t n = 0;
    for (const auto& p : parameters) n += p.mode != ParameterMode::kOut ? 1 : 0;
    return n;
  }
};

std::string signature_of(const Routine& routine);

struct ForeignTable;  // query/foreign_table.h

// Whether rows that a change of a view leaves must be rows of the view, and of the views behind it.
enum class CheckOption : uint8_t { kNone, kLocal, kCascaded };

// What is read as a table and has no rows of its own: a query that has a name, whose text is bound anew wherever it is
// used; or a foreign table. Immutable.
struct View {
  std::string name;
  std::vector<std::string> column_names;
  std::vector<SqlType> column_types;
  std::string query;                            // SELECT, with all names as the grammar writes them
  std::vector<std::string> relations;           // tables and views that it reads
  std::shared_ptr<const ForeignTable> foreign;  // set: a foreign table; no query
  Access access;
  CheckOption check_option = CheckOption::kNone;
  bool is_invoker = false;  // it is read and changed with the rights of who asks, not of its owner
  std::shared_ptr<const DeclaredPartition> partition;  // set: a partition of a table, which users see as a table
};

// CREATE MATERIALIZED VIEW: its query, beside the table of its name, which has the rows. Immutable.
struct MaterializedView {
  std::string query;
  std::vector<std::string> relations;  // as View::relations
  bool is_populated = false;
};

// CREATE HOT DATA VIEW: rows of a table that matter to their users (docs/tiering.md). Immutable.
struct HotDataView {
  TableId table;
  std::vector<uint32_t> columns;  // ascending
  std::string predicate;          // SQL expression
  std::string time_zone;          // of the session that wrote it: a mark (query/search_path.h), empty = UTC
};

enum class ReferentialAction : uint8_t { kNoAction, kRestrict, kCascade, kSetNull, kSetDefault };

// FOREIGN KEY of one table: `columns` are NULL or a key of the referenced table.
struct ForeignKey {
  std::string name;
  std::vector<uint32_t> columns;
  TableId table;  // referenced
  std::vector<uint32_t> referenced;
  ReferentialAction on_update = ReferentialAction::kNoAction;
  ReferentialAction on_delete = ReferentialAction::kNoAction;
  // DISABLE TRIGGER ALL of the table that has it, and of the one that it refers to.
  bool checks = true, acts = true;
  // DEFERRABLE, INITIALLY DEFERRED (query/deferred_checks.h).
  bool deferrable = false, deferred = false;
};

enum class Identity : uint8_t { kNone, kByDefault, kAlways };

// A default that draws from a sequence: by its number, which its name does not outlive.
constexpr std::string_view kSequenceDraw = "\" nextval\"(";
inline std::string sequence_draw(SequenceId id) {
  return std::string(kSequenceDraw) + std::to_string(id.value()) + ")";
}

// Rules of a table that storage does not know of, as SQL text.
struct TableRules {
  using Check = CheckRule;
  struct Column {
    std::string default_text;    // empty = NULL
    std::string generated_text;  // GENERATED ALWAYS AS (...) STORED
    Identity identity = Identity::kNone;
    uint32_t domain = 0;  // it is of
  };
  std::vector<Column> columns;
  std::vector<Check> checks;
  std::vector<ForeignKey> foreign_keys;
  Partitioning partitioning;  // PARTITION BY RANGE | LIST
  std::string tier_cache;     // storage parameter: through which its frozen data is read; empty = the default one
  Access access;
};

// What exists, as one immutable version (names: base/object_name.h): DDL makes the next version, running transactions
// keep theirs. Threads: any, once published.
struct Catalog {
  uint64_t version = 1;
  uint32_t next_table_id = 1;
  uint32_t next_index_id = 1;
  uint32_t next_routine_id = 1;
  std::set<std::string, std::less<>> namespaces;  // CREATE SCHEMA: those besides public
  std::map<std::string, std::shared_ptr<storage::Table>, std::less<>> tables;
  std::set<std::string, std::less<>> composites;  // CREATE TYPE ... AS (...): tables that are the type of a row only
  storage::SchemaScope::Versions schemas;         // of `tables`, as they were with this version
  std::map<TableId, TableRules> rules;
  std::map<std::string, std::shared_ptr<const View>, std::less<>> views;  // and foreign tables
  std::map<std::string, std::shared_ptr<const MaterializedView>, std::less<>> materialized_views;
  std::map<std::string, std::shared_ptr<const HotDataView>, std::less<>> hot_data_views;  // of no schema
  std::set<std::string, std::less<>> extensions;                                          // CREATE EXTENSION
  std::set<std::string, std::less<>> foreign_servers;                                     // CREATE SERVER, of file_fdw
  std::map<std::string, std::string, std::less<>> index_tables;                           // index name -> table name
  std::multimap<std::string, std::shared_ptr<const Routine>, std::less<>> routines;
  std::map<std::string, std::shared_ptr<storage::Sequence>, std::less<>> sequences;
  uint32_t next_sequence_id = 1;
  EnumTypes enums;  // CREATE TYPE ... AS ENUM
  Domains domains;  // CREATE DOMAIN
  uint32_t next_domain_id = 1;
  // COMMENT ON: kind and name ("table t", "column t.a") -> text
  std::map<std::string, std::string, std::less<>> comments;
  // by table, then name: the order in which they fire
  std::map<std::pair<std::string, std::string>, std::shared_ptr<const Trigger>> triggers;
  Roles roles;
  std::map<std::string, Access, std::less<>> schema_access;  // of schemas: those whose access is not that of a new one
  std::map<SequenceId, Access> sequence_access;              // of sequences, likewise; also of some that are gone
  DatabaseDefinition database;

  std::shared_ptr<storage::Table> find_table(TableId id) const {
    for (const auto& [name, table] : tables)
      if (table->schema().id == id) return table;
    return nullptr;
  }
  storage::Sequence* find_sequence(SequenceId id) const {
    for (const auto& [name, sequence] : sequences)
      if (sequence->definition().id == id) return sequence.get();
    return nullptr;
  }
  bool has_view(std::string_view name) const {
    const View* view = find_view(name, false);
    return view != nullptr && view->partition == nullptr;
  }
  // nullptr: no partition of PARTITION BY RANGE or LIST.
  const DeclaredPartition* find_partition(std::string_view name) const {
    const View* view = find_view(name, false);
    return view == nullptr ? nullptr : view->partition.get();
  }
  const MaterializedView* find_materialized_view(std::string_view name) const {
    auto it = materialized_views.find(name);
    return it == materialized_views.end() ? nullptr : it->second.get();
  }
  bool has_foreign_table(std::string_view name) const { return find_view(name, true) != nullptr; }
  // nullptr: none, of 0 too.
  const Domain* find_domain(uint32_t id) const {
    if (id != 0)
      for (const auto& [name, domain] : domains)
        if (domain->id == id) return domain.get();
    return nullptr;
  }
  const View* find_view(std::string_view name, bool is_foreign) const {
    auto it = views.find(name);
    return it == views.end() || (it->second->foreign != nullptr) != is_foreign ? nullptr : it->second.get();
  }
  UserTypes user_types() const { return {&enums, &domains}; }
  std::shared_ptr<storage::Table> find_table(std::string_view name) const {
    auto it = tables.find(name);
    return it == tables.end() ? nullptr : it->second;
  }
};

}  // namespace scyper::query
