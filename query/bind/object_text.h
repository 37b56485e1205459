#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "query/catalog.h"

// Definitions of objects as PostgreSQL's functions show them, for all objects of a catalog version.
namespace scyper::query {

// A constraint of a table as pg_constraint has it.
struct TableConstraint {
  int64_t oid = 0;
  std::string table;  // key
  std::string name;   // in the table's schema
  char type = 'c';    // c, f, p, u
  const storage::TableSchema* schema = nullptr;
  const storage::IndexDef* index = nullptr;  // p, u; f: what it refers to
  const TableRules::Check* check = nullptr;
  const ForeignKey* foreign = nullptr;
  std::vector<uint32_t> columns;
  int64_t partition = 0;  // the number of the partition that has it alone; 0: the table has it
};
std::vector<TableConstraint> table_constraints(const Catalog& catalog);

// One of a domain.
struct DomainConstraint {
  int64_t oid = 0;
  const Domain* domain = nullptr;
  const Domain::Check* check = nullptr;
};
std::vector<DomainConstraint> domain_constraints(const Catalog& catalog);
// CHECK (VALUE > 0)
std::string domain_check_text(const Catalog& catalog, const DomainConstraint& constraint, bool is_pretty);
// Of its default; empty = none.
std::string shown_default(const Catalog& catalog, const Domain& domain);

// "(a, lower(b)) WHERE (c > 0)"
std::string key_definition(const Catalog& catalog, const storage::TableSchema& schema, const storage::IndexDef& index,
                           bool is_pretty);
// CREATE INDEX of a table's index, as pg_indexes shows it.
std::string index_definition(const Catalog& catalog, const storage::TableSchema& schema, const storage::IndexDef& index,
                             bool is_pretty);
// The same as it was written, for making the index again.
std::string index_source(const Catalog& catalog, const storage::TableSchema& schema, const storage::IndexDef& index);
// A hidden column's text: an expression of an index, or its predicate.
std::string index_part_text(const Catalog& catalog, const storage::TableSchema& schema, uint32_t column,
                            bool is_predicate, bool is_pretty);
// Of a default or a generated column; empty = none.
std::string shown_default(const Catalog& catalog, const storage::TableSchema& schema, uint32_t column, bool is_pretty);
// The same of a partition: its own, or that of the table.
std::string shown_default(const Catalog& catalog, const View& partition, uint32_t column);

// Texts by number, or by numbers with blanks between: 1 at the end asks for pretty ones.
std::map<std::string, std::string> index_texts(const Catalog& catalog);       // index, column or 0, pretty
std::map<std::string, std::string> constraint_texts(const Catalog& catalog);  // constraint, pretty
std::map<std::string, std::string> view_texts(const Catalog& catalog);
// The number of a table or view that may have triggers; 0: there is none.
int64_t relation_with_triggers(const Catalog& catalog, const std::string& name);
std::map<std::string, std::string> trigger_texts(const Catalog& catalog);
std::map<std::string, std::string> object_comments(const Catalog& catalog);
std::map<std::string, std::string> column_comments(const Catalog& catalog);  // relation, column
// Expressions of the catalog, and what they look like with few brackets.
std::map<std::string, std::string> pretty_expressions(const Catalog& catalog);

// CREATE FUNCTION or PROCEDURE of a routine whose body was written so.
std::string routine_source(const Catalog& catalog, const Routine& routine, std::string_view body);

// COMMENT ON, by what and which.
struct ObjectComment {
  int64_t oid = 0;
  int64_t class_oid = 0;
  int64_t column = 0;
  std::string text;
};
std::vector<ObjectComment> all_comments(const Catalog& catalog);

}  // namespace scyper::query
