#include "base/free_port.h"

#include <gtest/gtest.h>

#include <set>

namespace scyper {
namespace {

// Nobody listens at them yet, and yet none is drawn twice. So many of so few ports would meet by chance.
TEST(FreePort, IsDrawnOnce) {
  constexpr int kPorts = 500;
  std::set<uint16_t> ports;
  for (int i = 0; i < kPorts; ++i) ports.insert(free_port());
  EXPECT_EQ(ports.size(), static_cast<size_t>(kPorts));
  EXPECT_FALSE(ports.contains(0));
}

}  // namespace
}  // namespace scyper
