#pragma once

#include <vector>

#include "generator/body.h"

namespace scyper::generator {

// Functions and procedures in PL/pgSQL over a schema, which call each other, and calls of them.
class RoutineMaker {
 public:
  RoutineMaker(Random* random, ExpressionMaker* expressions, const Schema* schema)
      : random_(random), bodies_(random, expressions, schema, &routines_) {}

  // CREATE FUNCTION or PROCEDURE, now and then a DO.
  Term routine(bool is_wrong);
  // A call of one of the routines there are.
  Term call();

 private:
  Term parameters(Routine* routine);

  Random* const random_;
  std::vector<Routine> routines_;
  BodyMaker bodies_;
};

}  // namespace scyper::generator
