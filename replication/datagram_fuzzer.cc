#include <cstddef>
#include <cstdint>

#include "datagram_fuzz.h"

// libFuzzer's entry point: its name and type are given.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  scyper::replication::fuzz_datagrams(data, size);
  return 0;
}
