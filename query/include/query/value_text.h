#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "storage/type.h"

namespace scyper::query {

// Memory that parsed values point to; freed as a whole. Threads: one at a time.
class ValueArena {
 public:
  void* allocate(size_t bytes);
  // Forgets all values and keeps a block for the next ones.
  void clear();

 private:
  std::vector<std::unique_ptr<char[]>> blocks_;
  size_t block_bytes_ = 0;  // of the last block
  size_t used_bytes_ = 0;   // of the last block
};

// PostgreSQL's input function of the type, with its modifiers (too long strings fail, char(n) is padded). What the
// value points to lies in the arena. Errors have PostgreSQL's SQLSTATE and message.
Status parse_value(const SqlType& type, std::string_view text, ValueArena* arena, Datum* out);

// Sets the meaning of 'now' and the like in this thread's values from here on: microseconds since 2000-01-01, UTC. 0:
// the moment at which each is parsed.
void set_thread_value_time(int64_t time_us);

// PostgreSQL's output function; nothing for NULL.
void append_value(std::string* out, const SqlType& type, const Datum& value);

}  // namespace scyper::query
