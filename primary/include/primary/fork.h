#pragma once

#include <cstdint>

#include "query/fork.h"

namespace scyper::primary {

// How transactions are kept from being half done in a fork.
enum class ForkMode : uint8_t {
  // All workers stand between two transactions (HyPer III.D): the slowest running one stalls all others.
  kQuiesced,
  // All workers stand between two elementary changes: at a poll of generated code or between two transactions. The
  // child
  // takes back what is unfinished from the before-images (HyPer IV.F).
  kActionConsistent,
};

using query::Forked;
using query::ForkedDatabase;
using query::ForkPoint;
using query::ForkRequest;

}  // namespace scyper::primary
