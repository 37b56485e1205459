#include "replace_process.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <string>
#include <thread>
#include <vector>

#include "base/test_slice.h"

namespace scyper::server {
namespace {

const char kReplaced[] = "SCYPER_TEST_REPLACED";

// Threads that start threads all the time, as gRPC's and snapshots' do.
[[noreturn]] void replace_while_threads_start() {
  std::atomic<uint64_t> started{0};
  std::vector<std::thread> starters;
  for (int i = 0; i < 8; ++i) {
    starters.emplace_back([&] {
      while (true) std::thread([&] { started.fetch_add(1); }).join();
    });
  }
  while (started.load() < 100) std::this_thread::yield();
  ::setenv(kReplaced, "1", 1);
  std::string name = "replace_process_test", filter = "--gtest_filter=ReplaceProcess.WhateverOtherThreadsDo";
  char* command_line[] = {name.data(), filter.data(), nullptr};
  replace_process(command_line);
  ::_exit(1);
}

TEST(ReplaceProcess, WhateverOtherThreadsDo) {
  if (std::getenv(kReplaced) != nullptr) return;  // this is what it was replaced by
  const int rounds = test_slice(200, 20);
  for (int i = 0; i < rounds; ++i) {
    const pid_t child = ::fork();
    ASSERT_GE(child, 0);
    if (child == 0) replace_while_threads_start();
    int status = 0;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    ASSERT_TRUE(WIFEXITED(status)) << "signal " << WTERMSIG(status) << " in round " << i;
    ASSERT_EQ(WEXITSTATUS(status), 0);
  }
}

}  // namespace
}  // namespace scyper::server
