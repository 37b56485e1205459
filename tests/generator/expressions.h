#pragma once

#include <string>
#include <vector>

#include "generator/kind.h"
#include "testing/term.h"

namespace scyper::generator {

using query::Term;

// What an expression may name: a column or a variable.
struct Reference {
  std::string text;
  Kind kind;
};
using Scope = std::vector<Reference>;

// Random expressions: of the right type, mostly; now and then wrong. What may fail while it runs (a division, a cast of
// a text) is only made where `may_fail`, as which of several rows fails first is nobody's promise.
class ExpressionMaker {
 public:
  explicit ExpressionMaker(Random* random) : random_(random) {}

  Term value(Kind kind, const Scope& scope, int depth, bool may_fail);
  // One whose type no context decides: what a subquery gives, or an argument.
  Term typed_value(Kind kind, const Scope& scope, int depth);
  // No part of it is a constant alone: all depends on `column`, or on a column of the scope.
  Term value_of_columns(Kind kind, const Scope& scope, int depth, const std::string& column);
  Term condition(const Scope& scope, int depth, bool may_fail = false) {
    return value(Kind::kBoolean, scope, depth, may_fail);
  }
  // Whether this statement is still to get its wrong expression.
  bool is_wrong() const { return is_wrong_; }
  // A reference or a literal; one without a type only where the context gives it one.
  Term leaf(Kind kind, const Scope& scope, bool has_context = true);
  // With what tells equal values apart taken away, to be grouped and ordered by: numeric's scale, interval's fields.
  Term comparable(Kind kind, Term value);
  // Begins a statement: one expression of it may be wrong, one may fail. (Which of two is told of is nobody's promise.)
  void begin(bool is_wrong) {
    is_wrong_ = is_wrong;
    may_fail_ = !is_wrong;
  }

 private:
  Term make_value(Kind kind, const Scope& scope, int depth, bool has_context);
  Term expand(Kind kind, const char* production, const Scope& scope, int depth);

  Random* const random_;
  bool is_wrong_ = false;
  bool may_fail_ = true;
  std::string anchor_;  // the column of value_of_columns()
};

}  // namespace scyper::generator
