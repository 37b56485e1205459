#pragma once

#include <gtest/gtest.h>

#include <chrono>
#include <functional>
#include <string>
#include <thread>

#include "absl/strings/str_cat.h"
#include "cluster.h"

namespace scyper::tests {

constexpr int kWarehouses = 2;

// A primary `p` and secondaries on loopback, by unicast, with CH-benCHmark.
class ClusterFixture : public testing::Test {
 protected:
  void start_primary(const std::string& flags = "") {
    nodes_.start("p", absl::StrCat("--replication --data-directory ", nodes_.directory("p"), " ", flags));
  }
  void start_secondary(const std::string& name, bool keeps_log, const std::string& flags = "") {
    nodes_.start(name, absl::StrCat("--role secondary --primary ", nodes_.target("p"), " ",
                                    keeps_log ? "--voter --data-directory " + nodes_.directory(name) : "", " ", flags));
  }
  void load() {
    ASSERT_NE(nodes_.session("p"), nullptr);
    const Output out = nodes_.scyper("p", absl::StrCat("load ch --scale tiny --warehouses ", kWarehouses));
    ASSERT_EQ(out.code, 0) << out.text;
  }
  void transactions(int count) {
    const Output out = nodes_.scyper(
        "p", absl::StrCat("bench oltp --loaded --scale tiny --crossing 10 --warmup-seconds 0 --warehouses ",
                          kWarehouses, " --transactions ", count));
    ASSERT_EQ(out.code, 0) << out.text;
  }
  // Of one query there.
  Output ask(const std::string& name, const std::string& sql) {
    return nodes_.scyper(name, absl::StrCat("sql -q --receipts -c '", sql, "'"));
  }
  void wait_for(const std::string& what, const std::function<bool()>& is_there) {
    const auto until = std::chrono::steady_clock::now() + std::chrono::seconds(120);  // a busy machine
    while (!is_there()) {
      ASSERT_LT(std::chrono::steady_clock::now(), until) << what << "\n" << nodes_.scyper("p", "status").text;
      std::this_thread::sleep_for(std::chrono::milliseconds(50));
    }
  }
  ClusterProcesses nodes_;
};

}  // namespace scyper::tests
