#include "replication/datagram.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <random>
#include <set>

#include "base/mutate.h"
#include "base/random.h"
#include "base/test_seed.h"
#include "datagram_fuzz.h"

namespace scyper::replication {
namespace {

constexpr ClusterId kCluster{{7, 9}};
constexpr ClusterId kOther{{7, 8}};

DatagramKey key_of(uint8_t filling) {
  std::array<uint8_t, DatagramKey::kBytes> bytes;
  bytes.fill(filling);
  return DatagramKey(bytes);
}

std::vector<std::string> datagrams_of(DatagramWriter* writer, uint64_t term, const std::string& bytes) {
  std::vector<std::string> all;
  Parcel parcel;
  parcel.term = term;
  parcel.base_lsn = 10;
  parcel.complete_lsn = 20;
  parcel.bytes = std::make_shared<const std::string>(bytes);
  Watermark watermark{term, 0, 20, 10, 0};
  writer->write(parcel, watermark, [&](uint32_t, std::string_view datagram) { all.emplace_back(datagram); });
  writer->write(watermark, [&](uint32_t, std::string_view datagram) { all.emplace_back(datagram); });
  return all;
}

TEST(Datagram, SealedParcelsComeBack) {
  const DatagramKey key = key_of(1);
  const std::string bytes(5000, 'p');
  for (const DatagramKey* used : {static_cast<const DatagramKey*>(nullptr), &key}) {
    DatagramWriter writer(kCluster, 5, 1448, used);
    DatagramReader reader(kCluster, 1 << 20, used);
    int parcels = 0;
    for (const std::string& datagram : datagrams_of(&writer, 3, bytes)) {
      EXPECT_LE(datagram.size(), 1448u);
      if (used != nullptr) EXPECT_EQ(datagram.find("ppppp"), std::string::npos);
      auto received = reader.read(datagram, 1);
      ASSERT_TRUE(received.watermark.has_value());
      if (!received.parcel.has_value()) continue;
      EXPECT_EQ(*received.parcel->bytes, bytes);
      ++parcels;
    }
    EXPECT_EQ(parcels, 1);
    EXPECT_EQ(reader.counters().forged + reader.counters().malformed + reader.counters().replayed, 0u);
  }
}

// Whatever has not been sealed with the key is dropped and counted; nothing of it reaches the inbox.
TEST(Datagram, ForgedOnesAreDropped) {
  const DatagramKey key = key_of(1), wrong = key_of(2);
  DatagramReader reader(kCluster, 1 << 20, &key);
  uint64_t forged = 0;
  auto expect_forged = [&](const std::string& datagram) {
    auto received = reader.read(datagram, 1);
    EXPECT_FALSE(received.watermark.has_value() || received.parcel.has_value());
    EXPECT_EQ(reader.counters().forged, ++forged);
  };
  const DatagramKey* none = nullptr;
  for (const DatagramKey* used : {none, &wrong}) {
    DatagramWriter writer(kCluster, 5, 1448, used);
    for (const std::string& datagram : datagrams_of(&writer, 1000, "x")) expect_forged(datagram);
  }
  DatagramWriter foreign(kOther, 5, 1448, &key);
  for (const std::string& datagram : datagrams_of(&foreign, 3, "x")) expect_forged(datagram);
  DatagramWriter writer(kCluster, 5, 1448, &key);
  const std::vector<std::string> good = datagrams_of(&writer, 3, "some bytes of a parcel");
  for (const std::string& datagram : good) {
    for (size_t i = 0; i < datagram.size(); ++i) {
      std::string flipped = datagram;
      flipped[i] = static_cast<char>(flipped[i] ^ (1 << i % 8));
      expect_forged(flipped);
      expect_forged(datagram.substr(0, i));
    }
    EXPECT_TRUE(reader.read(datagram, 1).watermark.has_value());  // it was not spent by the others
  }
}

TEST(Datagram, ReplayedOnesAreDropped) {
  const DatagramKey key = key_of(1);
  DatagramWriter writer(kCluster, 5, 600, &key);
  DatagramReader reader(kCluster, 1 << 20, &key);
  std::vector<std::string> all = datagrams_of(&writer, 3, std::string(100'000, 'p'));
  std::shuffle(all.begin(), all.end(), std::mt19937_64(test_seed()));
  for (const std::string& datagram : all) EXPECT_TRUE(reader.read(datagram, 1).watermark.has_value());
  for (const std::string& datagram : all) EXPECT_FALSE(reader.read(datagram, 1).watermark.has_value());
  EXPECT_EQ(reader.counters().replayed, all.size());
  // of a term that is over
  DatagramWriter before(kCluster, 4, 600, &key);
  for (const std::string& datagram : datagrams_of(&before, 2, "x")) EXPECT_FALSE(reader.read(datagram, 3).watermark);
  EXPECT_EQ(reader.counters().old_term, 2u);
}

// Without a key sealed datagrams are rubbish.
TEST(Datagram, SealedOnesNeedTheKey) {
  const DatagramKey key = key_of(1);
  DatagramWriter writer(kCluster, 5, 1448, &key);
  DatagramReader reader(kCluster, 1 << 20);
  for (const std::string& datagram : datagrams_of(&writer, 3, "x")) {
    EXPECT_FALSE(reader.read(datagram, 1).watermark.has_value());
  }
  EXPECT_EQ(reader.counters().malformed, 2u);
}

TEST(Datagram, EachTermAndSourceHasItsKey) {
  std::set<std::string> keys;
  for (uint8_t filling : {1, 2}) {
    for (uint64_t term : {1, 2}) {
      for (uint64_t source : {1, 2}) {
        for (const ClusterId& cluster : {kCluster, kOther}) {
          const auto derived = key_of(filling).derive(cluster, term, source);
          keys.emplace(reinterpret_cast<const char*>(derived.data()), derived.size());
        }
      }
    }
  }
  EXPECT_EQ(keys.size(), 16u);
  EXPECT_NE(key_of(1).fingerprint(kCluster), key_of(2).fingerprint(kCluster));
  EXPECT_NE(key_of(1).fingerprint(kCluster), key_of(1).fingerprint(kOther));
}

// RFC 5869: what other implementations derive from the same secret (openssl kdf -kdfopt digest:SHA256 ... HKDF).
TEST(Datagram, DerivedKeyNeverChanges) {
  const auto derived = key_of(1).derive(kCluster, 2, 3);
  std::string hex;
  for (uint8_t byte : derived) {
    char digits[3];
    std::snprintf(digits, sizeof(digits), "%02x", byte);
    hex += digits;
  }
  EXPECT_EQ(hex, "f14af27416f71c63b528f0cb08b6335f88b7e5a5cc24cb85c409b32b9077653e");
}

TEST(ReplayWindow, AgainstASet) {
  Random random(test_seed());
  ReplayWindow window;
  std::set<uint64_t> seen;
  uint64_t highest = 0;
  EXPECT_TRUE(window.has_seen(0));
  for (int i = 0; i < 200'000; ++i) {
    const uint64_t reach = random.below(1000) == 0 ? 3 * ReplayWindow::kCounters : 200;
    const uint64_t low = highest > reach ? highest - reach : 1;
    const uint64_t counter = low + random.below(reach + reach / 8);
    const bool is_too_late = counter + ReplayWindow::kCounters <= highest;
    ASSERT_EQ(window.has_seen(counter), is_too_late || seen.contains(counter)) << counter << " of " << highest;
    if (is_too_late) continue;
    window.note(counter);
    seen.insert(counter);
    highest = std::max(highest, counter);
  }
}

TEST(DatagramKey, ComesFromAFile) {
  char name[] = "/tmp/scyper_key_XXXXXX";
  ::close(mkstemp(name));
  const std::string digits = "000102030405060708090a0b0c0d0e0f101112131415161718191A1B1C1D1E1F";
  auto read = [&](const std::string& text, mode_t mode) {
    std::ofstream(name, std::ios::trunc) << text;
    ::chmod(name, mode);
    return DatagramKey::read(name);
  };
  EXPECT_TRUE(read(digits + "\n", 0600).ok());
  EXPECT_TRUE(read(digits, 0440).ok());
  EXPECT_EQ(sqlstate_of(read(digits, 0644).status()), "42501");
  for (const std::string& wrong : {std::string(), digits.substr(1), digits + "00", "x" + digits.substr(1)}) {
    EXPECT_EQ(sqlstate_of(read(wrong, 0600).status()), "22023") << wrong;
  }
  ::unlink(name);
  EXPECT_EQ(sqlstate_of(DatagramKey::read(name).status()), "58030");
}

// A fixed slice of what the fuzzer does for hours: seeds, and what small changes make of them.
TEST(DatagramFuzz, ChangedBytes) {
  Random random(test_seed());
  const std::vector<std::string> seeds = datagram_seeds();
  // SCYPER_TEST_WRITE_SEEDS=FOLDER: the seeds as files, to begin the fuzzer's kept inputs with after the format has
  // changed
  const char* folder = std::getenv("SCYPER_TEST_WRITE_SEEDS");
  for (size_t i = 0; i < seeds.size(); ++i) {
    EXPECT_LE(seeds[i].size(), 4096u);  // -max_len of tools/fuzz
    if (folder != nullptr) std::ofstream(std::string(folder) + "/datagram_seed" + std::to_string(i + 1)) << seeds[i];
  }
  const auto take = [](const std::string& input) {
    return fuzz_datagrams(reinterpret_cast<const uint8_t*>(input.data()), input.size());
  };
  for (const std::string& seed : seeds) EXPECT_EQ(take(seed), 1u);
  std::string other_body = seeds.back();  // made fit: the hashes of the batches inside, too
  other_body[other_body.find("aaaa")] = 'b';
  EXPECT_EQ(take(other_body), 1u);
  for (int i = 0; i < 20'000; ++i) {
    std::string input = seeds[random.below(seeds.size())];
    mutate(&input, random.below(5), &random);
    take(input);
  }
}

}  // namespace
}  // namespace scyper::replication
