#pragma once

#include <cstddef>
#include <cstdint>

namespace scyper::query {

// Reads the bytes as the body of a PL/pgSQL function: parsed, bound, turned into code, not run.
void fuzz_plpgsql(const uint8_t* data, size_t size);

}  // namespace scyper::query
