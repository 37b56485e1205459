#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/status.h"
#include "replication/batch.h"

struct evp_cipher_ctx_st;

// Authenticated encryption of datagrams: docs/replication.md, "Encryption".
namespace scyper::replication {

constexpr uint32_t kSealedMagic = 0x45796353;  // "ScyE"
constexpr uint8_t kSealedVersion = 1;

// In front of each sealed datagram, in the clear but authenticated, little endian. The sealed datagram and a tag of 16
// bytes follow.
struct SealedHeader {
  uint32_t magic = kSealedMagic;
  uint8_t version = kSealedVersion;
  uint8_t reserved[3] = {};
  uint64_t term = 0;
  uint64_t source = 0;
  uint64_t counter = 0;  // of this source, from 1: with the source it is the nonce
};
static_assert(sizeof(SealedHeader) == 32);
constexpr size_t kSealTagBytes = 16;
constexpr size_t kSealOverheadBytes = sizeof(SealedHeader) + kSealTagBytes;

// The secret that all nodes of a cluster share. Whoever has it can send as the primary.
class DatagramKey {
 public:
  static constexpr size_t kBytes = 32;
  explicit DatagramKey(const std::array<uint8_t, kBytes>& bytes) : bytes_(bytes) {}
  // A file with 64 hexadecimal digits. 22023 when it has others, 42501 when others than its owner and group can read
  // it.
  static StatusOr<DatagramKey> read(const std::string& path);

  // Tells whether two nodes have the same key, and nothing about it.
  uint64_t fingerprint(const ClusterId& cluster) const;
  // HKDF-SHA256 over the secret: another key for each cluster, term and source.
  std::array<uint8_t, kBytes> derive(const ClusterId& cluster, uint64_t term, uint64_t source) const;

 private:
  std::array<uint8_t, kBytes> bytes_;
};

struct CipherContextDeleter {
  void operator()(evp_cipher_ctx_st* context) const;
};
using CipherContext = std::unique_ptr<evp_cipher_ctx_st, CipherContextDeleter>;

// Seals what one sender sends (AES-256-GCM). A key serves one term of one source, and its counter never goes back: no
// nonce is used twice. Threads: one.
class DatagramSealer {
 public:
  // source: drawn at random by each sender when it starts.
  DatagramSealer(const DatagramKey& key, const ClusterId& cluster, uint64_t source)
      : key_(key), cluster_(cluster), source_(source) {}
  void seal(std::string_view datagram, uint64_t term, std::string* out);

 private:
  const DatagramKey key_;
  const ClusterId cluster_;
  const uint64_t source_;
  uint64_t term_ = 0;
  uint64_t counter_ = 0;
  CipherContext context_;  // of term_
};

// Which counters of one source were seen: a window behind the highest.
class ReplayWindow {
 public:
  // Datagrams that come later than so many others do not count: more than PGM's own window reorders.
  static constexpr uint64_t kCounters = 1 << 16;
  bool has_seen(uint64_t counter) const;
  void note(uint64_t counter);

 private:
  uint64_t highest_ = 0;
  std::vector<uint64_t> seen_ = std::vector<uint64_t>(kCounters / 64);
};

// Opens what others have sealed with the same key, each datagram once. Bounded memory; only senders that have the key
// take some. Threads: one.
class DatagramOpener {
 public:
  DatagramOpener(const DatagramKey& key, const ClusterId& cluster) : key_(key), cluster_(cluster) {}
  enum class Verdict : uint8_t {
    kOpened,
    kForged,    // not sealed, damaged, or with another key
    kReplayed,  // was opened before, or is too late to know
  };
  // Whatever the bytes are, nothing outside of them is read. *datagram is what was sealed.
  Verdict open(std::string_view sealed, SealedHeader* header, std::string* datagram);

 private:
  struct Sender {
    CipherContext context;
    ReplayWindow window;
    uint64_t last_use = 0;
  };
  using Name = std::pair<uint64_t, uint64_t>;  // term, source

  Sender* find(const Name& name);
  void keep(const Name& name, Sender sender);

  const DatagramKey key_;
  const ClusterId cluster_;
  std::vector<std::pair<Name, Sender>> senders_;  // few
  uint64_t uses_ = 0;
};

}  // namespace scyper::replication
