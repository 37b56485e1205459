#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "replication/datagram_cipher.h"
#include "replication/parcel.h"

// Parcels in pieces that fit one packet each, and watermarks: docs/replication.md, "Datagram".
namespace scyper::replication {

constexpr uint32_t kDatagramMagic = 0x44796353;  // "ScyD"
constexpr uint8_t kDatagramVersion = 1;
enum class DatagramKind : uint8_t { kPiece = 1, kWatermark = 2 };

// As it lies on the wire, little endian; `payload_bytes` follow.
struct DatagramHeader {
  uint32_t magic = kDatagramMagic;
  uint8_t version = kDatagramVersion;
  DatagramKind kind = DatagramKind::kPiece;
  uint16_t channel = 0;  // multicast group; today one has all streams
  ClusterId cluster;
  uint64_t term = 0;
  uint64_t term_lsn = 0;
  uint64_t source = 0;        // drawn by each sender when it starts
  uint64_t base_lsn = 0;      // of the parcel; of a watermark: 0
  uint64_t complete_lsn = 0;  // of the parcel; of a watermark: sent up to there
  uint64_t commit_lsn = 0;    // of the watermark that goes with it
  int64_t time_us = 0;
  uint32_t parcel_bytes = 0;
  uint32_t piece_bytes = 0;  // of all pieces but the last
  uint32_t offset = 0;       // a multiple of piece_bytes
  uint32_t payload_bytes = 0;
  uint64_t hash = 0;  // XXH3-64 of the header up to here and the payload
};
static_assert(sizeof(DatagramHeader) == 104);
constexpr size_t kDatagramBytesMin = sizeof(DatagramHeader);

// Most bytes of a parcel that a receiver puts together; larger ones are fetched.
constexpr uint32_t kParcelBytesMax = uint32_t{64} << 20;

// For a sender that starts: unlike all others, so that with a key no nonce comes twice.
uint64_t draw_source();

// What one sender puts on the wire. Threads: one.
class DatagramWriter {
 public:
  // datagram_bytes: largest datagram, headers included. key: seals them; null = not.
  DatagramWriter(const ClusterId& cluster, uint64_t source, size_t datagram_bytes, const DatagramKey* key = nullptr);
  using Emit = std::function<void(std::string_view datagram)>;
  void write(const Parcel& parcel, const Watermark& watermark, const Emit& emit);
  void write(const Watermark& watermark, const Emit& emit);

 private:
  void emit_one(DatagramHeader header, std::string_view payload, const Emit& emit);

  const ClusterId cluster_;
  const uint64_t source_;
  const size_t piece_bytes_;
  std::unique_ptr<DatagramSealer> sealer_;  // null: in the clear
  std::string datagram_, sealed_;
};

// Puts parcels together again from datagrams in any order, doubled and with gaps. Bounded: over memory_bytes_max the
// oldest unfinished parcels are forgotten. Threads: one.
class DatagramReader {
 public:
  struct Counters {
    uint64_t datagrams = 0;
    uint64_t malformed = 0;  // damaged, of an unknown version; without a key forged ones, too
    uint64_t forged = 0;     // with a key: not sealed by who has it
    uint64_t replayed = 0;   // with a key: seen before
    uint64_t foreign = 0;    // of another cluster
    uint64_t old_term = 0;
    uint64_t duplicates = 0;
    uint64_t forgotten = 0;  // unfinished parcels
  };
  struct Received {
    std::optional<Parcel> parcel;
    std::optional<Watermark> watermark;
  };
  // key: only what was sealed with it is read; null = only what was not sealed is.
  DatagramReader(const ClusterId& cluster, size_t memory_bytes_max, const DatagramKey* key = nullptr);

  // Whatever the bytes are, nothing outside of them is read. Terms below `term` do not count.
  Received read(std::string_view datagram, uint64_t term);
  const Counters& counters() const { return counters_; }
  size_t memory_bytes() const { return memory_bytes_; }

 private:
  struct Unfinished {
    uint64_t base_lsn = 0;
    uint32_t piece_bytes = 0;
    uint32_t missing = 0;
    std::string bytes;
    std::vector<bool> has;
  };
  using Key = std::pair<uint64_t, uint64_t>;  // term, complete_lsn

  bool unseal(std::string_view* datagram, uint64_t term, SealedHeader* seal);
  bool decode(std::string_view datagram, DatagramHeader* header, std::string_view* payload);
  std::optional<Parcel> add(const DatagramHeader& header, std::string_view payload);
  void make_room(size_t bytes);

  const ClusterId cluster_;
  const size_t memory_bytes_max_;
  std::unique_ptr<DatagramOpener> opener_;  // null: in the clear
  std::string opened_;
  std::map<Key, Unfinished> unfinished_;
  size_t memory_bytes_ = 0;
  Counters counters_;
};

}  // namespace scyper::replication
