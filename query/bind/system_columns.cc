#include <algorithm>
#include <iterator>

#include "absl/strings/str_cat.h"
#include "base/object_name.h"
#include "bind/binder.h"
#include "bind/make.h"
#include "bind/partitions.h"
#include "bind/system_types.h"

// PostgreSQL's system columns, as far as rows have what they say. tableoid is the table's number. ctid is made of the
// number that rows of tables without a primary key have; it stays with the row. Rows carry no transaction numbers: xmin
// and its kin are shown as those of rows that everybody sees, and no condition may ask for them.
namespace scyper::query {

namespace {

constexpr SqlType kNumber = make_type(TypeId::kInt8), kWord = make_type(TypeId::kText);
constexpr int64_t kFrozenTransaction = 2;

struct SystemColumnValue {
  std::string_view name;
  int64_t value;
};
constexpr SystemColumnValue kTransactionColumns[] = {
    {"xmin", kFrozenTransaction}, {"xmax", 0}, {"cmin", 0}, {"cmax", 0}};

bool is_meant(const Relation& relation, const ast::Name& name) {
  if (name.size() == 1) return true;
  if (relation.alias != name[name.size() - 2]) return false;
  return name.size() == 2 || relation.key == object_key(name[name.size() - 3], name[name.size() - 2]);
}

int hidden_column(const Relation& relation, std::string_view name) {
  const auto found = std::find_if(relation.columns.begin(), relation.columns.end(),
                                  [&](const RelationColumn& column) { return column.hidden && column.name == name; });
  return found == relation.columns.end() ? -1 : static_cast<int>(found - relation.columns.begin());
}

bool is_system_relation(const Relation& relation) { return hidden_column(relation, "tableoid") >= 0; }

struct MeantRelation {
  const Relation* relation = nullptr;
  const Scope* level = nullptr;
  bool is_nullable = false;
  size_t count = 0;
};

MeantRelation find_meant(const Scope* scope, const ast::Name& name) {
  MeantRelation found;
  for (const Scope* level = scope; level != nullptr && found.count == 0; level = level->parent)
    for (size_t r = 0; r < level->relations.size(); r++) {
      const Relation& relation = *level->relations[r];
      const bool is_stored = relation.table != nullptr || relation.partition != nullptr;
      if ((!is_stored && !is_system_relation(relation)) || !is_meant(relation, name)) continue;
      found.count++;
      found.relation = &relation;
      found.level = level;
      found.is_nullable = level->nullable[r];
    }
  return found;
}

}  // namespace

// null: no system column, or of no table.
StatusOr<BoundPtr> Binder::system_column(const ast::ColumnRef& ref, const Scope* scope) {
  const std::string& name = ref.name.back();
  const auto* transaction = std::find_if(std::begin(kTransactionColumns), std::end(kTransactionColumns),
                                         [&](const SystemColumnValue& column) { return column.name == name; });
  const bool is_transaction = transaction != std::end(kTransactionColumns);
  if (!is_transaction && name != "ctid" && name != "tableoid") return BoundPtr();
  const MeantRelation meant = find_meant(scope, ref.name);
  if (meant.count == 0) return BoundPtr();
  if (meant.count > 1)
    return error("42702", absl::StrCat("column reference \"", name, "\" is ambiguous"), ref.location);
  const Relation& relation = *meant.relation;
  SCYPER_RETURN_IF_ERROR(reach(relation, scope, meant.level, ref.location));
  program_->volatile_result = true;  // numbers of relations, rows and transactions are others in a replay
  const auto number = [&](int64_t value) { return make_constant(kNumber, int_datum(value), ref.location); };
  const int column = hidden_column(relation, name == "tableoid" ? "tableoid" : "__row_id");
  const bool is_stored = !is_transaction && column >= 0;  // where an outer join has no row it is NULL of itself
  if (is_transaction || (meant.is_nullable && !is_stored)) {
    const bool is_shown = aggregate_clause_ == "RETURNING" ||
                          (aggregate_query_ != nullptr && aggregate_clause_ != "HAVING");  // in a select list
    if (!is_shown || meant.is_nullable)
      return error("0A000", absl::StrCat("system column \"", name, "\" is not supported here"), ref.location);
    return number(transaction->value);
  }
  const TableId top = relation.partition != nullptr ? relation.partition->id
                      : relation.table != nullptr   ? relation.table->schema().id
                                                    : TableId();
  if (name == "tableoid" && !is_stored && partitioning_of(catalog_, top))
    return bind_rule(tableoid_text(catalog_, top), &relation, "");
  if (name == "tableoid" && relation.partition != nullptr) return number(table_oid(top));
  if (name == "tableoid" && !is_stored && relation.table != nullptr) return number(table_oid(relation.table->schema()));
  if (column < 0 && relation.table == nullptr) return make_null(kWord, ref.location);
  if (column < 0)
    return error("0A000", "system column \"ctid\" of a table with a primary key is not supported", ref.location);
  BoundPtr id = make_column(relation.id, static_cast<uint32_t>(column), kNumber, meant.is_nullable, ref.location);
  if (name == "tableoid") return id;
  // (page, place in it), as PostgreSQL counts them: pages from 0, places from 1. Row numbers begin at 1.
  SCYPER_ASSIGN_OR_RETURN(id, make_operator("-", std::move(id), number(1), ref.location));
  constexpr int64_t kRowsOfPage = 100;
  const auto text = [&](const char* words) { return make_text_constant(kWord, words, ref.location); };
  SCYPER_ASSIGN_OR_RETURN(BoundPtr page, make_operator("/", clone(*id), number(kRowsOfPage), ref.location));
  SCYPER_ASSIGN_OR_RETURN(BoundPtr place, make_operator("%", std::move(id), number(kRowsOfPage), ref.location));
  SCYPER_ASSIGN_OR_RETURN(place, make_operator("+", std::move(place), number(1), ref.location));
  SCYPER_ASSIGN_OR_RETURN(page, coerce(std::move(page), kWord, Coercion::kExplicit));
  SCYPER_ASSIGN_OR_RETURN(place, coerce(std::move(place), kWord, Coercion::kExplicit));
  SCYPER_ASSIGN_OR_RETURN(BoundPtr tid, make_operator("||", text("("), std::move(page), ref.location));
  SCYPER_ASSIGN_OR_RETURN(tid, make_operator("||", std::move(tid), text(","), ref.location));
  SCYPER_ASSIGN_OR_RETURN(tid, make_operator("||", std::move(tid), std::move(place), ref.location));
  return make_operator("||", std::move(tid), text(")"), ref.location);
}

}  // namespace scyper::query
