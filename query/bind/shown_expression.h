#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "query/catalog.h"

// Expressions of definitions as PostgreSQL's catalogs show them: with the casts that it adds, IN as = ANY, in brackets
// or, pretty, with those only that are needed.
namespace scyper::query {

enum class ExpressionPlace : uint8_t { kCondition, kDefault, kGenerated, kIndex };

struct ShownExpression {
  ExpressionPlace place = ExpressionPlace::kCondition;
  std::shared_ptr<storage::Table> table;  // what its columns are of; null: of a domain
  uint32_t column = 0;                    // of a default or a generated column
  SqlType base = {};                      // of a domain
};

// The text itself where it has what is not shown otherwise.
std::string shown_expression(const Catalog& catalog, const std::string& text, const ShownExpression& where,
                             bool is_pretty);

// The columns that an expression reads, in the order in which it names them.
std::vector<uint32_t> columns_of_expression(const Catalog& catalog, const std::string& text,
                                            const ShownExpression& where);

}  // namespace scyper::query
