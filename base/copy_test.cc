#include "base/copy.h"

#include <gtest/gtest.h>

#include <string>

namespace scyper {
namespace {

TEST(CopyBytes, EverySizeAndNothingBehind) {
  std::string from(200, '\0');
  for (size_t i = 0; i < from.size(); ++i) from[i] = static_cast<char>(i * 7 + 1);
  for (size_t size = 0; size <= 150; ++size) {
    std::string to(160, '#');
    copy_bytes(to.data() + 3, from.data() + 1, size);
    EXPECT_EQ(to.substr(3, size), from.substr(1, size));
    EXPECT_EQ(to.substr(0, 3) + to.substr(3 + size), std::string(160 - size, '#'));
  }
  copy_bytes(nullptr, nullptr, 0);
}

}  // namespace
}  // namespace scyper
