#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

// Everything that reads bytes which a damaged disk or a foreign node may have changed: batches, segments, records,
// arguments, row changes, manifests, archive blocks, catalogs. Nothing may crash or read outside of its input.
namespace scyper::replay {

// The first byte chooses the reader, the rest is its input.
void fuzz_readers(const uint8_t* data, size_t size);
// Inputs that the readers accept.
std::vector<std::string> fuzz_seeds();

}  // namespace scyper::replay
