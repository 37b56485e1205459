#pragma once

#include <gtest/gtest.h>
#include <unistd.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/failpoint.h"
#include "compactor_fixture.h"
#include "storage/frozen_tier.h"

// A table of which all frozen data goes to files, unless a test gives it memory.
namespace scyper::storage {

class TieredFixture : public testing::Test {
 protected:
  void SetUp() override {
    std::string name = testing::TempDir() + "tier_XXXXXX";
    ASSERT_NE(mkdtemp(name.data()), nullptr);
    options_.directory = name;
    options_.cache_bytes = 16 * FrozenTier::kPageBytes;
    options_.memory_bytes = 0;
    if (!start()) GTEST_SKIP() << "no io_uring";
  }
  void TearDown() override {
    disarm_failpoints();
    fixture_.reset();
    tier_.reset();
    EXPECT_EQ(rmdir(options_.directory.c_str()), 0) << options_.directory << " has files";
  }

  bool start() {
    fixture_.reset();
    tier_.reset();
    auto made = FrozenTier::create(options_);
    if (sqlstate_of(made.status()) == "0A000") return false;  // containers often forbid io_uring
    EXPECT_TRUE(made.ok()) << made.status();
    tier_ = *std::move(made);
    Compactor::Options compactor = forced();
    compactor.tier = tier_.get();
    fixture_ = std::make_unique<Fixture>(partitions_, Layout::kColumn, compactor);
    return true;
  }
  std::vector<std::string> files() { return *make_real_disk()->list(options_.directory); }

  uint32_t partitions_ = 1;
  FrozenTierOptions options_;
  std::unique_ptr<FrozenTier> tier_;
  std::unique_ptr<Fixture> fixture_;
};

}  // namespace scyper::storage
