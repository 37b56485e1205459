#include "replication/datagram.h"

#include <sys/random.h>

#include <algorithm>
#include <cstring>

#include "base/check.h"
#define XXH_INLINE_ALL
#include <xxhash.h>

namespace scyper::replication {

namespace {
// Packets carry more (576 bytes at least): bounds what is kept about a parcel's pieces.
constexpr uint32_t kPieceBytesMin = 128;
constexpr size_t kHashedBytes = offsetof(DatagramHeader, hash);

uint64_t hash_of(const DatagramHeader& header, std::string_view payload) {
  const uint64_t seed = XXH3_64bits(&header, kHashedBytes);
  return XXH3_64bits_withSeed(payload.data(), payload.size(), seed);
}
}  // namespace

uint64_t draw_source() {
  uint64_t source = 0;
  CHECK(::getrandom(&source, sizeof(source), 0) == sizeof(source));
  return source;
}

DatagramWriter::DatagramWriter(const ClusterId& cluster, uint64_t source, size_t datagram_bytes, const DatagramKey* key)
    : cluster_(cluster),
      source_(source),
      piece_bytes_(datagram_bytes - sizeof(DatagramHeader) - (key != nullptr ? kSealOverheadBytes : 0)) {
  CHECK(datagram_bytes > sizeof(DatagramHeader) + kSealOverheadBytes);
  if (key != nullptr) sealer_ = std::make_unique<DatagramSealer>(*key, cluster, source);
}

void DatagramWriter::emit_one(DatagramHeader header, std::string_view payload, const Emit& emit) {
  header.cluster = cluster_;
  header.source = source_;
  header.payload_bytes = static_cast<uint32_t>(payload.size());
  header.hash = hash_of(header, payload);
  datagram_.assign(reinterpret_cast<const char*>(&header), sizeof(header));
  datagram_.append(payload);
  if (sealer_ == nullptr) return emit(datagram_);
  sealer_->seal(datagram_, header.term, &sealed_);
  emit(sealed_);
}

void DatagramWriter::write(const Parcel& parcel, const Watermark& watermark, const Emit& emit) {
  const std::string_view bytes = *parcel.bytes;
  DatagramHeader header;
  header.term = parcel.term;
  header.term_lsn = watermark.term_lsn;
  header.base_lsn = parcel.base_lsn;
  header.complete_lsn = parcel.complete_lsn;
  header.commit_lsn = watermark.commit_lsn;
  header.time_us = watermark.time_us;
  header.parcel_bytes = static_cast<uint32_t>(bytes.size());
  header.piece_bytes = static_cast<uint32_t>(piece_bytes_);
  for (size_t offset = 0; offset < bytes.size(); offset += piece_bytes_) {
    header.offset = static_cast<uint32_t>(offset);
    emit_one(header, bytes.substr(offset, piece_bytes_), emit);
  }
}

void DatagramWriter::write(const Watermark& watermark, const Emit& emit) {
  DatagramHeader header;
  header.kind = DatagramKind::kWatermark;
  header.term = watermark.term;
  header.term_lsn = watermark.term_lsn;
  header.complete_lsn = watermark.complete_lsn;
  header.commit_lsn = watermark.commit_lsn;
  header.time_us = watermark.time_us;
  emit_one(header, {}, emit);
}

DatagramReader::DatagramReader(const ClusterId& cluster, size_t memory_bytes_max, const DatagramKey* key)
    : cluster_(cluster), memory_bytes_max_(memory_bytes_max) {
  if (key != nullptr) opener_ = std::make_unique<DatagramOpener>(*key, cluster);
}

// False: counted, and dropped.
bool DatagramReader::unseal(std::string_view* datagram, uint64_t term, SealedHeader* seal) {
  switch (opener_->open(*datagram, seal, &opened_)) {
    case DatagramOpener::Verdict::kForged:
      ++counters_.forged;
      return false;
    case DatagramOpener::Verdict::kReplayed:
      ++counters_.replayed;
      return false;
    case DatagramOpener::Verdict::kOpened:
      break;
  }
  if (seal->term < term) ++counters_.old_term;
  *datagram = opened_;
  return seal->term >= term;
}

bool DatagramReader::decode(std::string_view datagram, DatagramHeader* header, std::string_view* payload) {
  if (datagram.size() < sizeof(*header)) return false;
  std::memcpy(header, datagram.data(), sizeof(*header));
  *payload = datagram.substr(sizeof(*header));
  if (header->magic != kDatagramMagic || header->version != kDatagramVersion) return false;
  if (header->payload_bytes != payload->size() || header->hash != hash_of(*header, *payload)) return false;
  if (header->kind == DatagramKind::kWatermark) return payload->empty();
  if (header->kind != DatagramKind::kPiece) return false;
  const uint64_t rest = uint64_t{header->parcel_bytes} - header->offset;
  return header->parcel_bytes > 0 && header->parcel_bytes <= kParcelBytesMax && header->piece_bytes >= kPieceBytesMin &&
         header->offset < header->parcel_bytes && header->offset % header->piece_bytes == 0 &&
         header->payload_bytes == std::min<uint64_t>(header->piece_bytes, rest) &&
         header->base_lsn < header->complete_lsn;
}

DatagramReader::Received DatagramReader::read(std::string_view datagram, uint64_t term) {
  ++counters_.datagrams;
  Received received;
  DatagramHeader header;
  std::string_view payload;
  SealedHeader seal;
  if (opener_ != nullptr && !unseal(&datagram, term, &seal)) return received;
  const bool fits = decode(datagram, &header, &payload) &&
                    (opener_ == nullptr || (header.term == seal.term && header.source == seal.source));
  if (!fits) {
    ++counters_.malformed;
  } else if (!(header.cluster == cluster_)) {
    ++counters_.foreign;
  } else if (header.term < term) {
    ++counters_.old_term;
  } else if (header.kind == DatagramKind::kWatermark) {
    received.watermark =
        Watermark{header.term, header.term_lsn, header.complete_lsn, header.commit_lsn, header.time_us};
  } else {
    // what follows the parcel may not be known yet, what came before it is
    received.watermark = Watermark{header.term, header.term_lsn, header.base_lsn, header.commit_lsn, header.time_us};
    received.parcel = add(header, payload);
  }
  return received;
}

std::optional<Parcel> DatagramReader::add(const DatagramHeader& header, std::string_view payload) {
  const Key key{header.term, header.complete_lsn};
  auto found = unfinished_.find(key);
  if (found == unfinished_.end()) {
    if (header.parcel_bytes > memory_bytes_max_) {
      ++counters_.forgotten;
      return std::nullopt;
    }
    make_room(header.parcel_bytes);
    Unfinished made;
    made.base_lsn = header.base_lsn;
    made.piece_bytes = header.piece_bytes;
    made.missing = static_cast<uint32_t>((uint64_t{header.parcel_bytes} + header.piece_bytes - 1) / header.piece_bytes);
    made.has.resize(made.missing);
    made.bytes.resize(header.parcel_bytes);
    memory_bytes_ += header.parcel_bytes;
    found = unfinished_.emplace(key, std::move(made)).first;
  }
  Unfinished& parcel = found->second;
  if (parcel.base_lsn != header.base_lsn || parcel.piece_bytes != header.piece_bytes ||
      parcel.bytes.size() != header.parcel_bytes) {
    ++counters_.malformed;  // two senders in one term: the log's hashes will say which is right
    return std::nullopt;
  }
  const size_t piece = header.offset / header.piece_bytes;
  if (parcel.has[piece]) {
    ++counters_.duplicates;
    return std::nullopt;
  }
  parcel.has[piece] = true;
  std::memcpy(parcel.bytes.data() + header.offset, payload.data(), payload.size());
  if (--parcel.missing > 0) return std::nullopt;
  Parcel whole;
  whole.term = header.term;
  whole.base_lsn = header.base_lsn;
  whole.complete_lsn = header.complete_lsn;
  memory_bytes_ -= parcel.bytes.size();
  whole.bytes = std::make_shared<const std::string>(std::move(parcel.bytes));
  unfinished_.erase(found);
  return whole;
}

void DatagramReader::make_room(size_t bytes) {
  while (!unfinished_.empty() && memory_bytes_ + bytes > memory_bytes_max_) {
    memory_bytes_ -= unfinished_.begin()->second.bytes.size();
    unfinished_.erase(unfinished_.begin());
    ++counters_.forgotten;
  }
}

}  // namespace scyper::replication
