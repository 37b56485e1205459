#include <random>

#include "runtime/drawn_function.h"
#include "runtime/function_body.h"

namespace scyper::query {

// Declared where the builtin is listed (bind/builtins_math.cc).
extern const ir::External k_fn_random;

namespace {

extern "C" {

// Programs that call it are logged as row changes: what was drawn is in them.
SCYPER_FUNCTION(random) {
  thread_local std::mt19937_64 generator{std::random_device()()};
  constexpr int kMantissaBits = 53;
  *out = float_datum(static_cast<double>(generator() >> (64 - kMantissaBits)) * 0x1p-53);
  return 0;
}

}  // extern "C"

}  // namespace

SCYPER_DEFINE_DRAWN_FUNCTION(random, kFloat8, kNoText)

}  // namespace scyper::query
