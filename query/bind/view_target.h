#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "bind/bound.h"
#include "query/catalog.h"

// A view that a statement changes without INSTEAD OF triggers. The change is one of the table behind the view, as with
// PostgreSQL's automatically updatable views.
namespace scyper::query {

struct ViewTarget {
  struct Column {
    BoundPtr value;            // over `base`
    int base = -1;             // the column of the table; -1: it cannot be changed, and
    std::string view, detail;  // that is why: the view that says so
    std::string name;          // of the column there
    bool is_used = false;      // `value` has a subquery, and the statement has a copy of it
  };
  struct Condition {
    const View* view = nullptr;
    std::vector<BoundPtr> where;  // over `base`
  };
  const View* view = nullptr;       // that the statement names
  DmlKind kind = DmlKind::kInsert;  // of the statement
  const View* triggered = nullptr;  // a view behind it that has INSTEAD OF triggers, instead of a table
  uint32_t base_id = 0;
  std::unique_ptr<Relation> base;      // null: in FROM by now
  std::unique_ptr<Relation> shown;     // where the statement's names are looked up
  std::unique_ptr<Relation> excluded;  // the same of ON CONFLICT's excluded
  std::vector<Column> columns;
  std::vector<Condition> conditions;  // the innermost view first
};

// A change of a view, for who looks at what is behind it.
struct ViewChange {
  DmlKind kind = DmlKind::kInsert;
  uint8_t event = 0;    // whose INSTEAD OF triggers count; 0: none do
  uint16_t rights = 0;  // that it wants
};

inline uint8_t event_of(DmlKind kind) {
  return kind == DmlKind::kInsert ? Trigger::kInsert : kind == DmlKind::kDelete ? Trigger::kDelete : Trigger::kUpdate;
}
bool has_trigger_instead(const Catalog& catalog, const std::string& view, uint8_t events);

// What a role may do with a view by its definition alone (information_schema, pg_relation_is_updatable()): Trigger's
// events of the statements that change the table behind it.
uint8_t updatable_events(const Catalog& catalog, const View& view, bool with_triggers);
// The columns of the view that such changes may set.
std::vector<bool> updatable_columns(const Catalog& catalog, const View& view);
// pg_relation_is_updatable() and pg_column_is_updatable(), by what they take.
std::map<std::string, std::string> updatable_relation_texts(const Catalog& catalog);
std::map<std::string, std::string> updatable_column_texts(const Catalog& catalog);

}  // namespace scyper::query
