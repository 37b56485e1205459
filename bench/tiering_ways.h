#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "storage/page_cache.h"

namespace scyper::bench {

constexpr size_t kLookupBytes = 4096;  // what a random read takes: the paper's 4 kB

// A column of numbers that may not fit in memory.
class Way {
 public:
  virtual ~Way() = default;
  virtual uint64_t scan(uint64_t offset, uint64_t bytes) = 0;  // the sum of the numbers
  virtual uint64_t look_up(uint64_t offset) = 0;               // of kLookupBytes
  virtual uint64_t faults() const = 0;                         // so far
};

struct WayFlags {
  std::string path;  // a sealed file of the tier
  uint64_t bytes = 0;
  uint64_t hot_bytes = 0;    // at the begin of the file, copied to memory
  uint64_t cache_bytes = 0;  // ours
  size_t page_bytes = 0;
  storage::EvictionPolicy policy = storage::EvictionPolicy::kLirs;
  uint64_t warm_bytes = 0;  // behind the hot ones, of a higher colour than what follows; 0: no colours
};

enum class Advice : uint8_t { kNone, kSequential, kRandom };

uint64_t sum_of(const char* numbers, size_t bytes);

// Null: cannot be had; *why says so.
std::unique_ptr<Way> make_mapped(const WayFlags& flags, Advice advice, std::string* why);
std::unique_ptr<Way> make_anonymous(const WayFlags& flags, std::string* why);
std::unique_ptr<Way> make_tiered(const WayFlags& flags, std::string* why);

}  // namespace scyper::bench
