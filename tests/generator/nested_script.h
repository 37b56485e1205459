#pragma once

#include <cstdint>

#include "generator/script.h"
#include "generator/shapes.h"

namespace scyper::generator {

// About `count` statements: tables, then nested queries and changes, and what the tables hold in the end.
Script nested_script(uint64_t seed, int count, const Shapes& shapes);

}  // namespace scyper::generator
