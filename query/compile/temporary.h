#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "parse/ast.h"
#include "query/catalog.h"

// Temporary tables. They lie in the catalog as others do, in schemas of their own (parse/name_path.h), with numbers
// that no redo, archive or digest knows (storage/temporary.h): each version of the catalog has a permanent part that
// replay makes, too, and this one.
namespace scyper::query {

uint32_t next_temporary_id();

// The temporary schema of the session for which this thread runs a statement; empty: there is no session.
std::string session_temporary_schema();
// `schemas` behind those temporary ones that the catalog has and that this session sees: they come first.
std::vector<std::string> with_temporary(const std::vector<std::string>& schemas, const Catalog& catalog,
                                        const std::string& session_schema);

// ON COMMIT DELETE ROWS.
bool loses_rows_at_commit(std::string_view key);

// A definition as it is to be understood.
struct ParsedDefinition {
  ast::StatementPtr statement;
  std::vector<std::string> search_path;
  // Of temporary tables only, and so in no log. Nothing permanent is made of what is temporary but the rows of CREATE
  // TABLE AS: for other definitions the search_path has no temporary schemas, as when they are replayed.
  bool is_temporary = false;
  bool is_of_transaction = false;  // of tables that it will not leave
};
// 42601 several statements.
StatusOr<ParsedDefinition> parse_definition(const Catalog& catalog, std::vector<std::string> search_path,
                                            std::string_view sql);

// 0A000: a statement of its own makes what no session keeps.
Status check_has_session(const ParsedDefinition& parsed);

// Whether tables of the session have rows that go when its transaction commits.
bool has_rows_to_delete(const Catalog& catalog, const std::string& session_schema);
// What a commit does: drops those of the transaction, and makes those whose rows it deletes empty, in the session's
// schema. `tables` of the old version stay as they are.
Status end_temporary_tables(const std::string& session_schema, uint32_t partitions, storage::Arena* arena,
                            Catalog* catalog);
void drop_temporary_tables(Catalog* catalog);
// Drops all of the session's: *catalog has none of them.
void drop_session_tables(const std::string& session_schema, Catalog* catalog);
// The schemas that have tables are those that exist.
void note_temporary_schemas(Catalog* catalog);

}  // namespace scyper::query
