#include "replication/batch.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>

#include "base/random.h"
#include "base/test_seed.h"

namespace scyper::replication {
namespace {

BatchHeader example_header() {
  BatchHeader header;
  header.stream = 1;
  header.term = 1;
  header.number = 1;
  header.first_lsn = header.last_lsn = header.complete_lsn = 7;
  header.count = 1;
  header.commit_lsn = 6;
  return header;
}

std::string encode(BatchHeader header, std::string_view raw, bool compress) {
  std::string out(batch_bytes_max(raw.size()), '?');
  out.resize(write_batch(&header, raw, compress, out.data()));
  return out;
}

StatusOr<std::string> decode(std::string_view bytes) {
  SCYPER_ASSIGN_OR_RETURN(BatchHeader header, read_batch_header(bytes));
  SCYPER_ASSIGN_OR_RETURN(std::string_view body, read_batch_body(header, bytes));
  std::string raw;
  SCYPER_RETURN_IF_ERROR(unpack_batch(header, body, &raw));
  return raw;
}

// The example of docs/log_format.md.
TEST(Batch, ExampleOfTheFormatPage) {
  std::string record("\x08\0\0\0\x03\0\x01\0\x07", 9);
  record.resize(32, '\0');
  record += "CALL p()";
  const std::string bytes = encode(example_header(), record, true);
  ASSERT_EQ(bytes.size(), 128u + 40u);
  std::string expected("ScyB\1\0\0\0\1\0\0\0\1\0\0\0", 16);
  expected += std::string(16, '\0') + std::string("\1\0\0\0\0\0\0\0", 8);
  expected += std::string("\1\0\0\0\0\0\0\0\7\0\0\0\0\0\0\0\7\0\0\0\0\0\0\0", 24);
  expected += std::string("\1\0\0\0\x28\0\0\0\x28\0\0\0\0\0\0\0", 16);
  expected += std::string("\7\0\0\0\0\0\0\0\6\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0", 24);
  expected += std::string(8, '\0');
  EXPECT_EQ(bytes.substr(0, 112), expected);
  EXPECT_EQ(bytes.substr(128), record);
  uint64_t hashes[2];
  std::memcpy(hashes, bytes.data() + 112, sizeof(hashes));
  EXPECT_EQ(hashes[0], 8409394718014836952u);  // never changes: logs of older versions stay readable
  EXPECT_EQ(hashes[1], 13794167530076586723u);
}

TEST(Batch, ComesBack) {
  for (size_t size : {size_t{0}, size_t{1}, size_t{63}, size_t{64}, size_t{100'000}}) {
    for (bool compress : {false, true}) {
      std::string raw(size, 'r');
      for (size_t i = 0; i < raw.size(); i += 7) raw[i] = static_cast<char>(i / 7);
      const std::string bytes = encode(example_header(), raw, compress);
      EXPECT_EQ(bytes.size() % kBatchAlignment, 0u);
      auto back = decode(bytes);
      ASSERT_TRUE(back.ok()) << back.status();
      EXPECT_EQ(*back, raw);
      if (size == 100'000) EXPECT_EQ(bytes.size() < size, compress);
    }
  }
}

TEST(Batch, EveryFlippedByteIsFound) {
  std::string raw;
  for (int i = 0; i < 500; ++i) raw += "row " + std::to_string(i * 7919);
  for (bool compress : {false, true}) {
    const std::string bytes = encode(example_header(), raw, compress);
    for (size_t i = 0; i < bytes.size(); ++i) {
      for (int mask : {1, 0x80, 0xff}) {
        std::string damaged = bytes;
        damaged[i] = static_cast<char>(damaged[i] ^ mask);
        EXPECT_FALSE(decode(damaged).ok()) << i;
      }
    }
  }
}

TEST(Batch, CutOffAndRubbish) {
  const std::string bytes = encode(example_header(), std::string(1000, 'x'), true);
  for (size_t i = 0; i < bytes.size(); ++i) {
    EXPECT_TRUE(absl::IsOutOfRange(decode(bytes.substr(0, i)).status())) << i;
  }
  Random random(test_seed());
  for (int i = 0; i < 20'000; ++i) {
    std::string rubbish(random.below(400), '\0');
    for (char& c : rubbish) c = static_cast<char>(random.next());
    if (rubbish.size() >= 4) std::memcpy(rubbish.data(), "ScyB", 4);
    EXPECT_FALSE(decode(rubbish).ok());
  }
}

}  // namespace
}  // namespace scyper::replication
