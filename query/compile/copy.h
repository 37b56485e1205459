#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "parse/ast.h"
#include "query/catalog.h"
#include "query/copy.h"

// COPY as other statements: TO is a query whose rows are written as text, FROM an INSERT that reads a feed.
namespace scyper::query {

// The options of a COPY; lists of columns as names.
struct CopyOptions {
  CopyFormat format;
  bool force_quote_all = false;
  std::vector<std::string> force_quote, force_not_null, force_null;
};
// sql: the statement's text, for positions.
StatusOr<CopyOptions> read_copy_options(const ast::CopyStatement& copy, std::string_view sql);

// Whether a COPY is the one that a place is for: FROM STDIN, or TO STDOUT. Programs and files are refused: 42501 with
// PostgreSQL's hint.
Status check_copy_place(const ast::CopyStatement& copy, bool from);

// COPY ... TO STDOUT: the query that gives its rows.
StatusOr<ast::StatementPtr> query_of_copy(ast::CopyStatement* copy, const Catalog& catalog, std::string_view sql);

StatusOr<CopyTarget> copy_target(const ast::CopyStatement& copy, const Catalog& catalog, std::string_view sql);
// The INSERT of a COPY ... FROM; takes its WHERE.
StatusOr<ast::StatementPtr> insert_of_copy(ast::CopyStatement* copy, const Catalog& catalog, const CopyTarget& target);
// An error of that INSERT in the words of COPY.
Status copy_error(const Status& status);

}  // namespace scyper::query
