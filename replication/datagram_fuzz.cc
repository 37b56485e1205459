#include "datagram_fuzz.h"

#include <algorithm>
#include <cstring>
#include <string_view>

#include "base/check.h"
#include "replication/datagram.h"
#include "replication/inbox.h"
#define XXH_INLINE_ALL
#include <xxhash.h>

namespace scyper::replication {

namespace {

constexpr ClusterId kCluster{{7, 9}};
constexpr size_t kMemoryBytesMax = 1 << 20;
constexpr uint8_t kSealed = 1;        // the input has sealed datagrams
constexpr uint8_t kMadeFit = 2;       // hashes are made right, so that all other fields are looked at
constexpr uint8_t kSeveral = 4;       // by several channels
constexpr uint8_t kSubscribed = 128;  // the node has some of the partitions: bodies of others are left out
constexpr uint32_t kChannels = 3;

DatagramKey key() {
  std::array<uint8_t, DatagramKey::kBytes> bytes;
  bytes.fill(3);
  return DatagramKey(bytes);
}

// Those that lie in it whole.
void make_batches_fit(std::string* datagram) {
  for (size_t at = sizeof(DatagramHeader); at + sizeof(BatchHeader) <= datagram->size();) {
    BatchHeader header;
    std::memcpy(&header, datagram->data() + at, sizeof(header));
    const size_t body = at + sizeof(header);
    if (header.magic != kBatchMagic || header.body_bytes > datagram->size() - body) return;
    header.body_hash = XXH3_64bits(datagram->data() + body, header.body_bytes);
    header.header_hash = XXH3_64bits(&header, offsetof(BatchHeader, header_hash));
    std::memcpy(datagram->data() + at, &header, sizeof(header));
    at += header.total_bytes();
  }
}

void make_fit(std::string* datagram) {
  if (datagram->size() < sizeof(DatagramHeader)) return;
  make_batches_fit(datagram);
  DatagramHeader header;
  std::memcpy(&header, datagram->data(), sizeof(header));
  header.magic = kDatagramMagic;
  header.version = kDatagramVersion;
  header.cluster = kCluster;
  header.payload_bytes = static_cast<uint32_t>(datagram->size() - sizeof(header));
  header.hash = XXH3_64bits_withSeed(datagram->data() + sizeof(header), header.payload_bytes,
                                     XXH3_64bits(&header, offsetof(DatagramHeader, hash)));
  std::memcpy(datagram->data(), &header, sizeof(header));
}

void append(std::string_view datagram, std::string* input) {
  input->push_back(static_cast<char>(datagram.size() & 0xff));
  input->push_back(static_cast<char>(datagram.size() >> 8));
  input->append(datagram);
}

std::string parcel_bytes() {
  std::string bytes;
  for (uint16_t i = 0; i < 2; ++i) {
    BatchHeader header;
    header.group_index = i;
    header.group_batches = 2;
    header.stream = i;
    header.cluster = kCluster;
    header.term = 1;
    header.number = 1;
    header.first_lsn = header.last_lsn = i + 1u;
    header.complete_lsn = 2;
    header.count = 1;
    const std::string raw(700, static_cast<char>('a' + i));
    std::string out(batch_bytes_max(raw.size()), '\0');
    out.resize(write_batch(&header, raw, false, out.data()));
    bytes += out;
  }
  return bytes;
}

}  // namespace

size_t fuzz_datagrams(const uint8_t* data, size_t size) {
  if (size == 0) return 0;
  const uint8_t how = data[0];
  std::string_view rest(reinterpret_cast<const char*>(data) + 1, size - 1);
  const DatagramKey secret = key();
  DatagramReader::Options reader_options{kMemoryBytesMax, (how & kSealed) != 0 ? &secret : nullptr};
  if ((how & kSeveral) != 0) reader_options.channels = kChannels;
  Inbox::Options options{1 << 20, false};
  if ((how & kSubscribed) != 0) options.partitions = *PartitionSet::parse("1");
  reader_options.partitions = options.partitions;
  DatagramReader reader(kCluster, reader_options);
  Inbox inbox(kCluster, {}, options);
  size_t taken = 0;
  while (rest.size() > 2) {
    const size_t wanted = static_cast<uint8_t>(rest[0]) | size_t{static_cast<uint8_t>(rest[1])} << 8;
    // its own memory, so that a step outside is noticed
    std::string datagram(rest.substr(2, wanted));
    rest.remove_prefix(std::min(rest.size(), 2 + wanted));
    if ((how & kMadeFit) != 0) make_fit(&datagram);
    auto received = reader.read(datagram, inbox.term());
    if (received.watermark.has_value()) inbox.note(*received.watermark);
    if (received.parcel.has_value()) {
      taken += inbox.offer(*std::move(received.parcel)) == Inbox::Verdict::kNew ? 1 : 0;
    }
    CHECK(reader.memory_bytes() <= kMemoryBytesMax && reader.unfinished() <= DatagramReader::kUnfinishedMax);
  }
  return taken;
}

std::vector<std::string> datagram_seeds() {
  std::vector<std::string> seeds;
  // the last: its batches lie in one datagram, so that they are made fit, too
  constexpr uint8_t kAll = kSealed | kSeveral | kSubscribed;
  for (uint8_t how : {uint8_t{0}, kSealed, kSubscribed, kSeveral, kAll, kMadeFit}) {
    const size_t datagram_bytes = how == kMadeFit ? 2048 : 600;
    const DatagramKey secret = key();
    DatagramWriter writer(kCluster, 5, datagram_bytes, (how & kSealed) != 0 ? &secret : nullptr,
                          (how & kSeveral) != 0 ? kChannels : 1);
    std::string input(1, static_cast<char>(how));
    Parcel parcel;
    parcel.term = 1;
    parcel.complete_lsn = 2;
    parcel.bytes = std::make_shared<const std::string>(parcel_bytes());
    const Watermark watermark{1, 0, 2, 2, 0};
    writer.write(parcel, watermark, [&](uint32_t, std::string_view datagram) { append(datagram, &input); });
    writer.write(watermark, [&](uint32_t, std::string_view datagram) { append(datagram, &input); });
    seeds.push_back(std::move(input));
  }
  return seeds;
}

}  // namespace scyper::replication
