#include "generator/expressions.h"

#include "generator/grammar.h"

namespace scyper::generator {

using query::append;
using query::make;

Term ExpressionMaker::leaf(Kind kind, const Scope& scope, bool has_context) {
  std::vector<const Reference*> fitting;
  for (const auto& reference : scope)
    if (reference.kind == kind) fitting.push_back(&reference);
  const char type = static_cast<char>(kind);
  if (!fitting.empty() && (!anchor_.empty() || random_->chance(75))) return make(type, random_->element(fitting)->text);
  if (!anchor_.empty())
    return make(type, "CASE WHEN " + anchor_ + " IS NOT NULL THEN " + typed_constant(kind, random_) + " END");
  if (has_context)
    return make(type, random_->chance(60) ? plain_constant(kind, random_) : typed_constant(kind, random_));
  if (is_plain_typed(kind) && random_->chance(80)) return make(type, plain_constant(kind, random_, false));
  return make(type, typed_constant(kind, random_));
}

// What fails is the outermost part: PostgreSQL leaves out what a constant NULL beside it makes NULL anyway.
Term ExpressionMaker::value(Kind kind, const Scope& scope, int depth, bool may_fail) {
  const auto& failing = failing_productions(kind);
  if (!may_fail || !may_fail_ || depth <= 0 || failing.empty() || !random_->chance(8))
    return make_value(kind, scope, depth, true);
  may_fail_ = false;
  return expand(kind, random_->element(failing), scope, depth);
}

Term ExpressionMaker::typed_value(Kind kind, const Scope& scope, int depth) {
  return make_value(kind, scope, depth, false);
}

Term ExpressionMaker::value_of_columns(Kind kind, const Scope& scope, int depth, const std::string& column) {
  anchor_ = column;
  Term term = value(kind, scope, depth, false);
  anchor_.clear();
  return term;
}

Term ExpressionMaker::make_value(Kind kind, const Scope& scope, int depth, bool has_context) {
  if (is_wrong_ && random_->chance(20)) {
    is_wrong_ = false;
    return expand(kind, random_->element(wrong_productions()), scope, 1);
  }
  if (depth <= 0 || random_->chance(35)) return leaf(kind, scope, has_context);
  return expand(kind, random_->element(productions(kind)), scope, depth);
}

Term ExpressionMaker::expand(Kind kind, const char* production, const Scope& scope, int depth) {
  Term term = make(static_cast<char>(kind));
  for (const char* at = production; *at != '\0'; at++) {
    if (*at != '@')
      append(&term, std::string(1, *at));
    else if (*++at == '@')
      append(&term, std::string("@"));
    else
      append(&term, make_value(static_cast<Kind>(*at), scope, depth - 1, false));
  }
  return term;
}

Term ExpressionMaker::comparable(Kind kind, Term value) {
  switch (kind) {
    case Kind::kNumeric:
      return make('A', "(", std::move(value), ")::numeric(30,6)");
    case Kind::kInterval:
      return make('A', "justify_interval(", std::move(value), ")::text");
    case Kind::kJsonb:
    case Kind::kText:  // char(n) of one length
      return make('A', "(", std::move(value), ")::text");
    case Kind::kDouble:
      return make('A', "(", std::move(value), " + 0::double precision)");
    default:
      return make('A', std::move(value));
  }
}

}  // namespace scyper::generator
