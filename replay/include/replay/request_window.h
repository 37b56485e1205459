#pragma once

#include <cstdint>
#include <cstring>
#include <map>
#include <mutex>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/status.h"
#include "query/result.h"
#include "replay/record.h"

namespace scyper::replay {

// What a record that has a client begins its body with (docs/transaction_redo.md); row_bytes of result rows follow.
struct RedoClient {
  uint64_t client_id = 0;
  uint64_t affected_rows = 0;
  uint32_t row_bytes = 0;
  uint32_t lacks_rows = 0;                  // 1: the result was too large to be kept; kPartOnly
  static constexpr uint32_t kPartOnly = 2;  // COMMIT within a procedure that goes on
};
static_assert(sizeof(RedoClient) == 24);

// Takes client and rows from the front of a record's body. False: cut off.
inline bool take_client(std::string_view* body, RedoClient* client, std::string_view* rows) {
  if (body->size() < sizeof(*client)) return false;
  std::memcpy(client, body->data(), sizeof(*client));
  if (body->size() - sizeof(*client) < client->row_bytes) return false;
  *rows = body->substr(sizeof(*client), client->row_bytes);
  body->remove_prefix(sizeof(*client) + client->row_bytes);
  return true;
}

// A result's rows as records and archives keep them: per row its length and its values as arguments.
std::string encode_rows(const query::ResultSet& result);
// Into a result that has its columns. XX001 when the bytes do not fit them.
Status decode_rows(std::string_view bytes, query::ResultSet* result);

// The last requests that clients named and that have committed, so that one that is sent again is answered and not
// repeated, and one that is too old to be known is refused (design section 5, rule 10). State that is a function of the
// history: rebuilt from the log, kept in archives.
// Bounds: `capacity` requests; their rows up to `row_bytes_max` in all and kRowBytesMax each, the newest; of the
// clients whose requests are all forgotten, the last kIdleClientsMax. What is kept are always the highest LSNs,
// whatever the order in which finish() comes. Request ids of a client grow, and so do client ids with time: what is not
// known and not above all that was forgotten may have committed. Threads: any.
class RequestWindow {
 public:
  static constexpr size_t kRowBytesMax = 4096;
  static constexpr size_t kIdleClientsMax = 65'536;

  struct Key {
    uint64_t client_id = 0;
    uint64_t request_id = 0;
    friend bool operator==(const Key&, const Key&) = default;
  };
  struct Outcome {
    uint64_t lsn = 0;
    uint64_t affected_rows = 0;
    bool has_rows = true;  // false: they were too large, or too old
    std::string rows;      // encode_rows()
    bool is_part = false;  // of a procedure with COMMIT, which has not come to its end
  };
  enum class Answer : uint8_t { kNew, kCommitted, kForgotten };

  explicit RequestWindow(size_t capacity, size_t row_bytes_max = size_t{64} << 20)
      : capacity_(capacity), row_bytes_max_(row_bytes_max) {}

  Answer find(Key key, Outcome* known) const;
  // It has committed, or a part of it has.
  void finish(Key key, Outcome outcome);
  // What a record of the log says about a request, if it has a client. Damaged ones are the replayer's to refuse.
  void finish(const RecordView& record);

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
  struct Client {
    uint64_t forgotten_id = 0;  // highest forgotten request
    uint64_t last_lsn = 0;
    uint64_t remembered = 0;  // requests
  };
  void insert(Key key, Outcome outcome);
  void forget_oldest();
  void drop_rows();

  const size_t capacity_;
  const size_t row_bytes_max_;
  mutable std::mutex mutex_;
  std::unordered_map<Key, Outcome, Hash> requests_;
  std::map<uint64_t, Key> order_;  // by LSN
  std::unordered_map<uint64_t, Client> clients_;
  std::map<uint64_t, uint64_t> idle_;  // last LSN -> client of which nothing is remembered but forgotten_id
  uint64_t forgotten_client_ = 0;      // highest
  uint64_t rows_from_lsn_ = 0;         // rows of older requests are not kept
  size_t row_bytes_ = 0;
};

}  // namespace scyper::replay
