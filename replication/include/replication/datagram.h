#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "base/partition_set.h"
#include "replication/channels.h"
#include "replication/datagram_cipher.h"
#include "replication/parcel.h"

// Parcels in pieces that fit one packet each, and watermarks: docs/replication.md, "Datagram".
namespace scyper::replication {

constexpr uint32_t kDatagramMagic = 0x44796353;  // "ScyD"
constexpr uint8_t kDatagramVersion = 1;
enum class DatagramKind : uint8_t {
  kPiece = 1,  // of a whole parcel
  kWatermark = 2,
  kChannelPiece = 3,  // of a channel's part of a parcel: replication/channels.h
};

// As it lies on the wire, little endian; `payload_bytes` follow.
struct DatagramHeader {
  uint32_t magic = kDatagramMagic;
  uint8_t version = kDatagramVersion;
  DatagramKind kind = DatagramKind::kPiece;
  uint16_t channel = 0;  // multicast group that it is sent to
  ClusterId cluster;
  uint64_t term = 0;
  uint64_t term_lsn = 0;
  uint64_t source = 0;        // drawn by each sender when it starts
  uint64_t base_lsn = 0;      // of the parcel; of a watermark: 0
  uint64_t complete_lsn = 0;  // of the parcel; of a watermark: sent up to there
  uint64_t commit_lsn = 0;    // of the watermark that goes with it
  int64_t time_us = 0;
  uint32_t parcel_bytes = 0;  // of the parcel, or of the channel's part
  uint32_t piece_bytes = 0;   // of all pieces but the last
  uint32_t offset = 0;        // a multiple of piece_bytes
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
  // datagram_bytes: largest datagram, headers included. key: seals them; null = not. channels: 1 = one for all streams.
  DatagramWriter(const ClusterId& cluster, uint64_t source, size_t datagram_bytes, const DatagramKey* key = nullptr,
                 uint32_t channels = 1);
  using Emit = std::function<void(uint32_t channel, std::string_view datagram)>;
  // A parcel that fits one datagram travels whole, by channel 0; by several channels, one without a body has nothing.
  void write(const Parcel& parcel, const Watermark& watermark, const Emit& emit);
  void write(const Watermark& watermark, const Emit& emit);

 private:
  void emit_pieces(DatagramHeader header, std::string_view bytes, const Emit& emit);
  void emit_one(DatagramHeader header, std::string_view payload, const Emit& emit);

  const ClusterId cluster_;
  const uint64_t source_;
  const size_t piece_bytes_;
  const uint32_t channels_;
  std::unique_ptr<DatagramSealer> sealer_;  // null: in the clear. One for all channels: its counter is one, too
  std::string datagram_, sealed_;
  ChannelParts parts_;
};

// Puts parcels together again from datagrams in any order, doubled and with gaps, by one channel or several. Bounded:
// over memory_bytes_max or kUnfinishedMax the oldest unfinished parcels are forgotten. Threads: one.
class DatagramReader {
 public:
  static constexpr size_t kUnfinishedMax = 4096;
  struct Counters {
    uint64_t datagrams = 0;
    uint64_t malformed = 0;  // damaged, of an unknown version; without a key forged ones, too
    uint64_t forged = 0;     // with a key: not sealed by who has it
    uint64_t replayed = 0;   // with a key: seen before
    uint64_t foreign = 0;    // of another cluster
    uint64_t old_term = 0;
    uint64_t duplicates = 0;  // of pieces, and what comes of parcels that are there already
    uint64_t unwanted = 0;    // of channels that are not joined, or that a parcel does not need
    uint64_t forgotten = 0;   // unfinished parcels
    uint64_t bytes = 0;       // of all datagrams
  };
  struct Received {
    std::optional<Parcel> parcel;
    std::optional<Watermark> watermark;
    uint32_t channel = 0;  // of a datagram that has a watermark
  };
  struct Options {
    size_t memory_bytes_max = 0;
    const DatagramKey* key = nullptr;  // only what was sealed with it is read; null = only what was not sealed is
    uint32_t channels = 1;             // that the primary sends by
    PartitionSet partitions = PartitionSet::all();  // that are subscribed: parcels have the bodies of no others
  };
  DatagramReader(const ClusterId& cluster, const Options& options);
  DatagramReader(const ClusterId& cluster, size_t memory_bytes_max, const DatagramKey* key = nullptr)
      : DatagramReader(cluster, Options{memory_bytes_max, key, 1, PartitionSet::all()}) {}

  // Whatever the bytes are, nothing outside of them is read. Terms below `term` do not count.
  Received read(std::string_view datagram, uint64_t term);
  // What was received in another way, up to an LSN of a term, is not waited for any more: pieces of that, and of lower
  // terms, cost nothing. The last call counts: an LSN may be lower than before, as when a new term has cut the log.
  void forget(uint64_t term, uint64_t complete_lsn);
  const Counters& counters() const { return counters_; }
  size_t memory_bytes() const { return memory_bytes_; }
  size_t unfinished() const { return unfinished_.size(); }

 private:
  // Of a parcel, what is sent as one: all of it, or a channel's.
  struct Part {
    uint32_t piece_bytes = 0;
    uint32_t missing = 0;
    std::string bytes;
    std::vector<bool> has;
    size_t memory_bytes = 0;
  };
  struct Unfinished {
    std::map<uint32_t, Part> parts;     // by channel; kWhole: the parcel
    std::optional<GroupLayout> layout;  // once channel 0's part is there
  };
  static constexpr uint32_t kWhole = kChannelsMax;
  static constexpr size_t kFinishedKept = 64;
  using Key = std::tuple<uint64_t, uint64_t, uint64_t, uint64_t>;  // term, complete_lsn, base_lsn, source
  using Parcels = std::map<Key, Unfinished>;

  bool unseal(std::string_view* datagram, uint64_t term, SealedHeader* seal);
  bool decode(std::string_view datagram, DatagramHeader* header, std::string_view* payload) const;
  std::optional<Parcel> add(const DatagramHeader& header, std::string_view payload);
  Part* find_part(const Key& key, const DatagramHeader& header, uint32_t number);
  bool is_there(const Key& key) const;
  std::optional<std::string> take_whole(Part* part, bool* is_wrong) const;
  std::optional<std::string> try_join(Unfinished* parcel, bool* is_wrong) const;
  void make_room(size_t bytes);
  void finish(Parcels::iterator parcel);
  void erase(Parcels::iterator parcel);

  const ClusterId cluster_;
  const Options options_;
  const uint64_t joined_;                   // channels, a bit each
  std::unique_ptr<DatagramOpener> opener_;  // null: in the clear
  std::string opened_;
  Parcels unfinished_;
  std::pair<uint64_t, uint64_t> received_;        // term and LSN of the last forget()
  std::array<Key, kFinishedKept> finished_ = {};  // the newest parcels that were given
  size_t finished_count_ = 0;                     // ever
  size_t memory_bytes_ = 0;
  Counters counters_;
};

}  // namespace scyper::replication
