#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

// Everything that reads bytes which a damaged disk or a foreign node may have changed. Nothing may crash or read
// outside of its input.
namespace scyper::replay {

// kRecord: records, arguments, row changes. kBatch: batches, their bodies, segments. kArchive: manifests, blocks,
// catalogs, request windows.
enum class Readers : uint8_t { kRecord, kBatch, kArchive };

// The first byte chooses the reader (its highest bit: hashes are made right), the rest is its input.
// Returns whether the reader took it.
bool fuzz_readers(Readers readers, const uint8_t* data, size_t size);
// Inputs that the readers accept.
std::vector<std::string> fuzz_seeds(Readers readers);

}  // namespace scyper::replay
