#pragma once

#include <cstdint>
#include <deque>
#include <mutex>
#include <string>
#include <string_view>
#include <unordered_map>

#include "base/status.h"

namespace scyper::replay {

// What a record that has a client begins its body with (docs/transaction_redo.md).
struct RedoClient {
  uint64_t client_id = 0;
  uint64_t affected_rows = 0;
};
static_assert(sizeof(RedoClient) == 16);

// The last requests that clients named and that have committed, so that one that is sent again after a crash is
// answered and not repeated (design section 5, rule 10). Bounded: the oldest are forgotten, `capacity` of them are
// remembered. Part of the state: rebuilt from the log, kept in archives.
// Threads: any.
class RequestWindow {
 public:
  struct Key {
    uint64_t client_id = 0;
    uint64_t request_id = 0;
    friend bool operator==(const Key&, const Key&) = default;
  };
  struct Outcome {
    uint64_t lsn = 0;  // 0: is running
    uint64_t affected_rows = 0;
  };
  explicit RequestWindow(size_t capacity) : capacity_(capacity) {}

  // True: nobody has sent it yet; it counts as running now. False: *known is what became of it.
  bool begin(Key key, Outcome* known);
  // It has committed. Also in replay, without begin().
  void finish(Key key, Outcome outcome);
  // It has failed, or was refused: it may be sent again.
  void forget(Key key);

  size_t size() const;
  // The committed ones up to an LSN, oldest first.
  std::string encode(uint64_t lsn_max) const;
  // XX001 when the bytes are not from encode().
  Status decode(std::string_view bytes);

 private:
  struct Hash {
    size_t operator()(const Key& key) const noexcept {
      return (key.client_id * 0x9E3779B97F4A7C15ull) ^ (key.request_id * 0xC2B2AE3D27D4EB4Full);
    }
  };
  const size_t capacity_;
  mutable std::mutex mutex_;
  std::unordered_map<Key, Outcome, Hash> requests_;
  std::deque<Key> order_;  // of the committed ones
};

}  // namespace scyper::replay
