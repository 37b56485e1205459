#include "storage/child_process.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstring>
#include <thread>
#include <vector>

#include "absl/synchronization/mutex.h"
#include "storage/arena.h"

namespace scyper::storage {
namespace {

std::string read_all(int socket) {
  std::string text;
  char buffer[4096];
  for (ssize_t n; (n = read(socket, buffer, sizeof buffer)) > 0;) text.append(buffer, static_cast<size_t>(n));
  return text;
}

bool write_all(int socket, const std::string& text) {
  return write(socket, text.data(), text.size()) == static_cast<ssize_t>(text.size());
}

TEST(ChildProcessTest, SeesMemoryAsItWas) {
  std::string value = "before";
  auto child = ChildProcess::fork({}, [&](int socket) {
    char go;
    if (read(socket, &go, 1) != 1) return 1;
    return write_all(socket, value) ? 7 : 1;
  });
  ASSERT_TRUE(child.ok()) << child.status();
  value = "after";
  ASSERT_TRUE(write_all((*child)->socket(), "g"));
  EXPECT_EQ(read_all((*child)->socket()), "before");
  const int status = (*child)->wait();
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 7) << describe_wait_status(status);
  EXPECT_TRUE((*child)->is_over());
  EXPECT_EQ((*child)->wait(), status);
  (*child)->kill();
}

TEST(ChildProcessTest, HasNoDescriptorButItsSocket) {
  int pipes[2];
  ASSERT_EQ(pipe(pipes), 0);
  auto child = ChildProcess::fork({}, [](int socket) {
    std::string open;
    for (int fd = 0; fd < 1024; ++fd) {
      if (fcntl(fd, F_GETFD) >= 0) open += std::to_string(fd) + " ";
    }
    return write_all(socket, open) ? 0 : 1;
  });
  ASSERT_TRUE(child.ok()) << child.status();
  EXPECT_EQ(read_all((*child)->socket()), "0 1 2 3 ");
  // its copy of the pipe's end is closed: the reader sees the end of file as soon as ours is
  close(pipes[1]);
  EXPECT_EQ(read_all(pipes[0]), "");
  close(pipes[0]);
}

// Other threads are inside locks at any moment: the arena's, and Abseil's own.
TEST(ChildProcessTest, FindsLocksFreeWhateverOthersDo) {
  constexpr size_t kBytes = kArenaGranuleBytes;
  constexpr int kChildren = 200;
  auto arena = *Arena::create(size_t{64} << 20, size_t{64} << 20, PageMode::kSmall);
  ChildOptions options;
  options.arena = arena.get();
  std::atomic<bool> stop{false};
  std::vector<std::thread> others;
  for (int i = 0; i < 3; ++i) {
    others.emplace_back([&] {
      absl::Mutex own;
      while (!stop) {
        absl::MutexLock lock(&own);
        void* block = arena->allocate(kBytes);
        if (block != nullptr) arena->free(block, kBytes);
      }
    });
  }
  for (int i = 0; i < kChildren; ++i) {
    auto child = ChildProcess::fork(options, [&](int) {
      absl::Mutex own;
      absl::MutexLock lock(&own);
      void* block = arena->allocate(kBytes);
      return block == nullptr ? 1 : 0;
    });
    ASSERT_TRUE(child.ok()) << child.status();
    // a stuck one is ended, so that the test ends
    std::atomic<bool> is_over{false};
    std::thread watch([&] {
      for (int tick = 0; tick < 60'000 && !is_over; ++tick) std::this_thread::sleep_for(std::chrono::milliseconds(1));
      (*child)->kill();
    });
    const int status = (*child)->wait();
    is_over = true;
    watch.join();
    EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << i << ": " << describe_wait_status(status);
    if (::testing::Test::HasFailure()) break;
  }
  stop = true;
  for (std::thread& other : others) other.join();
}

TEST(ChildProcessTest, EndsWithTheThreadThatForkedIt) {
  std::unique_ptr<ChildProcess> child;
  std::thread([&] {
    auto forked = ChildProcess::fork({}, [](int) { return pause(); });
    ASSERT_TRUE(forked.ok());
    child = *std::move(forked);
    child->wait_until_watched();
  }).join();
  const int status = child->wait();
  EXPECT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL) << describe_wait_status(status);
}

TEST(ChildProcessTest, TellsWhatItHasCopied) {
  constexpr size_t kBytes = size_t{32} << 20;
  std::vector<char> data(kBytes, 'a');
  auto child = ChildProcess::fork({}, [&](int socket) {
    char go;
    while (read(socket, &go, 1) == 1) {
      std::memset(data.data(), 'b', kBytes);
      if (!write_all(socket, "d")) return 1;
    }
    return 0;
  });
  ASSERT_TRUE(child.ok()) << child.status();
  auto before = (*child)->memory();
  ASSERT_TRUE(before.ok()) << before.status();
  char done;
  ASSERT_TRUE(write_all((*child)->socket(), "g"));
  ASSERT_EQ(read((*child)->socket(), &done, 1), 1);
  auto after = (*child)->memory();
  ASSERT_TRUE(after.ok()) << after.status();
  EXPECT_GE(after->copied_bytes, before->copied_bytes + kBytes * 9 / 10);
  EXPECT_EQ(data[0], 'a');
  (*child)->kill();
  (*child)->wait();
  EXPECT_EQ(sqlstate_of((*child)->memory().status()), "58030");
}

// Threads that allocate all the time: the child must never find malloc locked.
TEST(ChildProcessTest, AllocatesWhateverOtherThreadsDid) {
  std::atomic<bool> is_over{false};
  std::vector<std::thread> threads;
  for (int i = 0; i < 3; ++i) {
    threads.emplace_back([&] {
      while (!is_over) std::vector<std::string> made(64, std::string(100, 'x'));
    });
  }
  for (int i = 0; i < 100; ++i) {
    auto child = ChildProcess::fork({}, [](int) {
      std::vector<std::string> made(1000, std::string(1000, 'y'));
      std::thread([&made] { made.resize(2000, std::string(1000, 'z')); }).join();
      return made.size() == 2000 ? 0 : 1;
    });
    ASSERT_TRUE(child.ok()) << child.status();
    EXPECT_EQ((*child)->wait(), 0);
  }
  is_over = true;
  for (auto& thread : threads) thread.join();
}

}  // namespace
}  // namespace scyper::storage
