#include <cstddef>
#include <cstdint>

#include "readers_fuzz.h"

// libFuzzer's entry point: its name and type are given. SCYPER_READERS: the group that this program is for.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  scyper::replay::fuzz_readers(scyper::replay::Readers::SCYPER_READERS, data, size);
  return 0;
}
