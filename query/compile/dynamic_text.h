#pragma once

#include <string>
#include <vector>

#include "parse/ast.h"
#include "storage/type.h"

// Texts of statements that EXECUTE runs.
namespace scyper::query {

// TRUNCATE as a block says it: it takes several steps.
std::string truncate_block(const ast::TruncateStatement& truncate);
// The types of the parameters, and behind them those of the transition tables' addresses (compile/transition_scope.h).
void add_transition_types(std::vector<SqlType>* types);
// Tells a statement that sees transition tables from the same text that does not.
std::string transition_key();

}  // namespace scyper::query
