#pragma once

#include <string>

#include "parse/ast.h"

namespace scyper::query {

// What PostgreSQL calls an output column that has no alias (FigureColname in parse_target.c).
std::string name_of_target(const ast::Expr& expr);

}  // namespace scyper::query
