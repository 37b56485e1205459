#pragma once

// The syntax tree of SQL, as the parser leaves it: names unresolved, types unchecked. Plain structs with an enum tag;
// owned top-down by unique_ptr. Walk it with `switch (node.kind)` and node_as<T>(node).
//   ast_node.h        tags, base nodes, node_as, type names, options
//   ast_expression.h  expressions
//   ast_query.h       SELECT, INSERT, UPDATE, DELETE, MERGE
//   ast_schema.h      CREATE, ALTER, DROP, TRUNCATE, COMMENT
//   ast_command.h     CALL, DO, EXPLAIN, COPY, transactions, settings, prepared statements, everything else by name
// Depth: no chain of nodes from a root is longer than kMaxDepth (sql_parser.h), so recursion over a tree is safe.

#include "parse/ast_command.h"
#include "parse/ast_expression.h"
#include "parse/ast_node.h"
#include "parse/ast_query.h"
#include "parse/ast_schema.h"
