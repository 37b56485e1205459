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
// What a part costs beside its bytes.
constexpr size_t kPartOverheadBytes = 1024;
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

DatagramWriter::DatagramWriter(const ClusterId& cluster, uint64_t source, size_t datagram_bytes, const DatagramKey* key,
                               uint32_t channels)
    : cluster_(cluster),
      source_(source),
      piece_bytes_(datagram_bytes - sizeof(DatagramHeader) - (key != nullptr ? kSealOverheadBytes : 0)),
      channels_(channels) {
  CHECK(datagram_bytes > sizeof(DatagramHeader) + kSealOverheadBytes && channels > 0 && channels <= kChannelsMax);
  if (key != nullptr) sealer_ = std::make_unique<DatagramSealer>(*key, cluster, source);
}

void DatagramWriter::emit_one(DatagramHeader header, std::string_view payload, const Emit& emit) {
  header.cluster = cluster_;
  header.source = source_;
  header.payload_bytes = static_cast<uint32_t>(payload.size());
  header.hash = hash_of(header, payload);
  datagram_.assign(reinterpret_cast<const char*>(&header), sizeof(header));
  datagram_.append(payload);
  if (sealer_ == nullptr) return emit(header.channel, datagram_);
  sealer_->seal(datagram_, header.term, &sealed_);
  emit(header.channel, sealed_);
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
  if (channels_ == 1 || bytes.size() <= piece_bytes_) return emit_pieces(header, bytes, emit);
  cut_group(bytes, channels_, &parts_);
  header.kind = DatagramKind::kChannelPiece;
  for (uint32_t channel = 0; channel < channels_; ++channel) {
    header.channel = static_cast<uint16_t>(channel);
    emit_pieces(header, parts_[channel], emit);
  }
}

void DatagramWriter::emit_pieces(DatagramHeader header, std::string_view bytes, const Emit& emit) {
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

DatagramReader::DatagramReader(const ClusterId& cluster, const Options& options)
    : cluster_(cluster), options_(options), joined_(channels_of(options.partitions, options.channels)) {
  CHECK(options.channels > 0 && options.channels <= kChannelsMax);
  if (options.key != nullptr) opener_ = std::make_unique<DatagramOpener>(*options.key, cluster);
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

bool DatagramReader::decode(std::string_view datagram, DatagramHeader* header, std::string_view* payload) const {
  if (datagram.size() < sizeof(*header)) return false;
  std::memcpy(header, datagram.data(), sizeof(*header));
  *payload = datagram.substr(sizeof(*header));
  if (header->magic != kDatagramMagic || header->version != kDatagramVersion) return false;
  if (header->payload_bytes != payload->size() || header->hash != hash_of(*header, *payload)) return false;
  if (header->kind == DatagramKind::kWatermark) return payload->empty();
  const bool is_part = header->kind == DatagramKind::kChannelPiece;
  if (is_part ? header->channel >= options_.channels : header->kind != DatagramKind::kPiece) return false;
  const uint64_t rest = uint64_t{header->parcel_bytes} - header->offset;
  return header->parcel_bytes > 0 && header->parcel_bytes <= kParcelBytesMax && header->piece_bytes >= kPieceBytesMin &&
         header->offset < header->parcel_bytes && header->offset % header->piece_bytes == 0 &&
         header->payload_bytes == std::min<uint64_t>(header->piece_bytes, rest) &&
         header->base_lsn < header->complete_lsn;
}

DatagramReader::Received DatagramReader::read(std::string_view datagram, uint64_t term) {
  ++counters_.datagrams;
  counters_.bytes += datagram.size();
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
  } else if (header.kind == DatagramKind::kChannelPiece && !has_channel(joined_, header.channel)) {
    ++counters_.unwanted;
  } else if (header.kind == DatagramKind::kWatermark) {
    received.watermark =
        Watermark{header.term, header.term_lsn, header.complete_lsn, header.commit_lsn, header.time_us};
  } else {
    // what follows the parcel may not be known yet, what came before it is
    received.watermark = Watermark{header.term, header.term_lsn, header.base_lsn, header.commit_lsn, header.time_us};
    received.parcel = add(header, payload);
    received.channel = header.channel;
  }
  return received;
}

std::optional<Parcel> DatagramReader::add(const DatagramHeader& header, std::string_view payload) {
  const Key key{header.term, header.complete_lsn, header.base_lsn, header.source};
  const uint32_t number = header.kind == DatagramKind::kPiece ? kWhole : header.channel;
  Part* part = find_part(key, header, number);
  if (part == nullptr) return std::nullopt;
  const size_t piece = header.offset / header.piece_bytes;
  if (part->has[piece]) {
    ++counters_.duplicates;
    return std::nullopt;
  }
  part->has[piece] = true;
  std::memcpy(part->bytes.data() + header.offset, payload.data(), payload.size());
  if (--part->missing > 0) return std::nullopt;
  const auto found = unfinished_.find(key);
  bool is_wrong = false;
  auto bytes = number == kWhole ? take_whole(part, &is_wrong) : try_join(&found->second, &is_wrong);
  if (is_wrong) ++counters_.malformed;
  if (is_wrong) erase(found);
  if (!bytes.has_value()) return std::nullopt;
  finish(found);
  Parcel parcel;
  parcel.term = header.term;
  parcel.base_lsn = header.base_lsn;
  parcel.complete_lsn = header.complete_lsn;
  parcel.bytes = std::make_shared<const std::string>(*std::move(bytes));
  return parcel;
}

// Null: counted, and dropped.
DatagramReader::Part* DatagramReader::find_part(const Key& key, const DatagramHeader& header, uint32_t number) {
  if (const auto parcel = unfinished_.find(key); parcel != unfinished_.end()) {
    const auto& layout = parcel->second.layout;
    if (layout.has_value() && number != kWhole && number != 0 && !has_channel(layout->needed(), number)) {
      ++counters_.unwanted;
      return nullptr;
    }
    const auto found = parcel->second.parts.find(number);
    if (found != parcel->second.parts.end()) {
      Part& part = found->second;
      if (part.piece_bytes == header.piece_bytes && part.bytes.size() == header.parcel_bytes) return &part;
      ++counters_.malformed;
      return nullptr;
    }
  } else if (is_there(key)) {
    ++counters_.duplicates;
    return nullptr;
  }
  Part made;
  made.piece_bytes = header.piece_bytes;
  made.missing = static_cast<uint32_t>((uint64_t{header.parcel_bytes} + header.piece_bytes - 1) / header.piece_bytes);
  made.memory_bytes = header.parcel_bytes + made.missing / 8 + kPartOverheadBytes;
  if (made.memory_bytes > options_.memory_bytes_max) {
    ++counters_.forgotten;
    return nullptr;
  }
  make_room(made.memory_bytes);
  made.has.resize(made.missing);
  made.bytes.resize(header.parcel_bytes);
  memory_bytes_ += made.memory_bytes;
  return &unfinished_[key].parts.emplace(number, std::move(made)).first->second;
}

// Pieces that come late, or that the parcel did not need: room for a part, for each of them, would cost its square.
bool DatagramReader::is_there(const Key& key) const {
  const auto [term, complete_lsn, base_lsn, source] = key;
  return std::pair(term, complete_lsn) <= received_ ||
         std::find(finished_.begin(), finished_.end(), key) != finished_.end();
}

std::optional<std::string> DatagramReader::take_whole(Part* part, bool* is_wrong) const {
  if (options_.partitions.is_all()) return std::move(part->bytes);
  const auto layout = GroupLayout::read(part->bytes, 1, options_.partitions, kParcelBytesMax);
  *is_wrong = !layout.has_value();
  if (*is_wrong) return std::nullopt;
  return layout->join(part->bytes, {});
}

// Nothing: there is more to come, or what came does not fit together.
std::optional<std::string> DatagramReader::try_join(Unfinished* parcel, bool* is_wrong) const {
  const auto base = parcel->parts.find(0);
  if (base == parcel->parts.end() || base->second.missing > 0) return std::nullopt;
  if (!parcel->layout.has_value()) {
    parcel->layout = GroupLayout::read(base->second.bytes, options_.channels, options_.partitions, kParcelBytesMax);
    *is_wrong = !parcel->layout.has_value();
    if (*is_wrong) return std::nullopt;
  }
  const GroupLayout& layout = *parcel->layout;
  std::array<std::string_view, kChannelsMax> parts;
  uint64_t there = 0;
  for (const auto& [channel, part] : parcel->parts) {
    if (channel >= kChannelsMax || !has_channel(layout.needed(), channel)) continue;
    if (part.bytes.size() != layout.part_bytes(channel)) {
      *is_wrong = true;
      return std::nullopt;
    }
    if (part.missing > 0) continue;
    parts[channel] = part.bytes;
    there |= uint64_t{1} << channel;
  }
  if (there != layout.needed()) return std::nullopt;
  return layout.join(base->second.bytes, parts);
}

void DatagramReader::make_room(size_t bytes) {
  while (!unfinished_.empty() &&
         (memory_bytes_ + bytes > options_.memory_bytes_max || unfinished_.size() >= kUnfinishedMax)) {
    erase(unfinished_.begin());
    ++counters_.forgotten;
  }
}

void DatagramReader::forget(uint64_t term, uint64_t complete_lsn) {
  received_ = {term, complete_lsn};
  while (!unfinished_.empty()) {
    const auto oldest = unfinished_.begin();
    const auto [its_term, its_lsn, base_lsn, source] = oldest->first;
    if (std::pair(its_term, its_lsn) > received_) return;
    erase(oldest);
  }
}

void DatagramReader::finish(Parcels::iterator parcel) {
  finished_[finished_count_++ % kFinishedKept] = parcel->first;
  erase(parcel);
}

void DatagramReader::erase(Parcels::iterator parcel) {
  for (const auto& [channel, part] : parcel->second.parts) memory_bytes_ -= part.memory_bytes;
  unfinished_.erase(parcel);
}

}  // namespace scyper::replication
