#include "parse/ast.h"

namespace scyper::query::ast {

void SelectDeleter::operator()(SelectStatement* select) const { delete select; }

}  // namespace scyper::query::ast
