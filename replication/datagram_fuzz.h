#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

// What comes from the network before anything about it is known: datagrams, sealed and in the clear, one after the
// other into one reader. Nothing may crash, read outside of its input, or take more memory than allowed.
namespace scyper::replication {

// The first byte says how they are read; then each has two bytes of size.
// Returns how many parcels the inbox took.
size_t fuzz_datagrams(const uint8_t* data, size_t size);
// Inputs that the reader accepts.
std::vector<std::string> datagram_seeds();

}  // namespace scyper::replication
