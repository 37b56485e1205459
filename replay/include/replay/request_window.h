#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <map>
#include <mutex>
#include <span>
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
  uint32_t flags = 0;
  uint32_t role_id = 0;  // from here on only with kHasOrigin
  uint32_t unused = 0;
  uint64_t fingerprint = 0;

  static constexpr uint32_t kLacksRows = 1;  // the result was too large to be kept
  static constexpr uint32_t kPartOnly = 2;   // COMMIT within a procedure that goes on
  static constexpr uint32_t kHasOrigin = 4;  // older logs do not say whose request it is
};
static_assert(sizeof(RedoClient) == 40 && offsetof(RedoClient, role_id) == 24);

// Takes client and rows from the front of a record's body. False: cut off.
inline bool take_client(std::string_view* body, RedoClient* client, std::string_view* rows) {
  constexpr size_t kWithoutOrigin = offsetof(RedoClient, role_id);
  *client = RedoClient();
  if (body->size() < kWithoutOrigin) return false;
  std::memcpy(client, body->data(), kWithoutOrigin);
  const size_t size = (client->flags & RedoClient::kHasOrigin) != 0 ? sizeof(*client) : kWithoutOrigin;
  if (body->size() < size || body->size() - size < client->row_bytes) return false;
  std::memcpy(client, body->data(), size);
  *rows = body->substr(size, client->row_bytes);
  body->remove_prefix(size + client->row_bytes);
  return true;
}

// What tells a request that is sent again from another one with its id: never 0. arguments: of the text's parameters.
uint64_t request_fingerprint(std::string_view text, const std::vector<SqlType>& types,
                             std::span<const Datum> arguments);

// A result's rows as records and archives keep them: per row its length and its values as arguments.
std::string encode_rows(const query::ResultSet& result);
// Into a result that has its columns. XX001 when the bytes do not fit them.
Status decode_rows(std::string_view bytes, query::ResultSet* result);

struct RequestInput;

// The last requests that clients named and that have committed, so that one that is sent again is answered and not
// repeated, and one that is too old to be known is refused (design section 5, rule 10). State that is a function of the
// history: rebuilt from the log, kept in archives.
// Bounds: `capacity` requests; their rows up to `row_bytes_max` in all and kRowBytesMax each, the newest; of each
// role's clients whose requests are all forgotten, the last kIdleClientsMax. What is kept are always the highest LSNs,
// whatever the order in which finish() comes. Request ids of a client grow, and so do client ids with time: what is not
// known and not above all that was forgotten of its role may have committed.
// A client belongs to a role: the same id in another role's hands is another client, which sees no answers of this one
// and makes it forget nothing but by `capacity`. Threads: any.
class RequestWindow {
 public:
  static constexpr size_t kRowBytesMax = 4096;
  static constexpr size_t kIdleClientsMax = 65'536;
  static constexpr uint32_t kUnknownRole = 0;  // of requests in logs that do not say whose they are

  struct Key {
    uint64_t client_id = 0;
    uint64_t request_id = 0;
    uint32_t role_id = kUnknownRole;
    friend bool operator==(const Key&, const Key&) = default;
  };
  struct Outcome {
    uint64_t lsn = 0;
    uint64_t affected_rows = 0;
    bool has_rows = true;  // false: they were too large, or too old
    std::string rows;      // encode_rows()
    bool is_part = false;  // of a procedure with COMMIT, which has not come to its end
    uint64_t fingerprint = 0;
  };
  enum class Answer : uint8_t {
    kNew,
    kCommitted,
    kForgotten,
    kAnother,  // a request with this id has committed that had another statement or other arguments
  };

  explicit RequestWindow(size_t capacity, size_t row_bytes_max = size_t{64} << 20)
      : capacity_(capacity), row_bytes_max_(row_bytes_max) {}

  // Only kCommitted sets *known.
  Answer find(const Key& key, uint64_t fingerprint, Outcome* known) const;
  // It has committed, or a part of it has.
  void finish(const Key& key, Outcome outcome);
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
      return (key.client_id * 0x9E3779B97F4A7C15ull) ^ (key.request_id * 0xC2B2AE3D27D4EB4Full) ^ key.role_id;
    }
  };
  struct Client {
    uint64_t forgotten_id = 0;  // highest forgotten request
    uint64_t last_lsn = 0;
    uint64_t remembered = 0;  // requests
  };
  struct Role {
    std::unordered_map<uint64_t, Client> clients;
    std::map<uint64_t, uint64_t> idle;  // last LSN -> client of which nothing is remembered but forgotten_id
    uint64_t forgotten_client = 0;      // highest
  };
  void clear();
  bool decode_roles(RequestInput* in, bool has_roles);
  bool is_forgotten(const Key& key) const;
  void insert(const Key& key, Outcome outcome);
  void forget_oldest();
  void drop_rows();

  const size_t capacity_;
  const size_t row_bytes_max_;
  mutable std::mutex mutex_;
  std::unordered_map<Key, Outcome, Hash> requests_;
  std::map<uint64_t, Key> order_;  // by LSN
  std::map<uint32_t, Role> roles_;
  uint64_t rows_from_lsn_ = 0;  // rows of older requests are not kept
  size_t row_bytes_ = 0;
};

}  // namespace scyper::replay
