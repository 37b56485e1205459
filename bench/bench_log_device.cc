// bench_log_device: the ways to get a group of commits onto a disk, one group in flight as the log writer has it.

#include <fcntl.h>
#include <linux/io_uring.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/histogram.h"

namespace scyper::bench {
namespace {

constexpr size_t kFileBytes = size_t{64} << 20;

// The least of io_uring that writes with: one submission, one completion at a time.
class Ring {
 public:
  ~Ring() {
    if (fd_ >= 0) ::close(fd_);
  }
  bool open() {
    io_uring_params params{};
    fd_ = static_cast<int>(::syscall(SYS_io_uring_setup, 4, &params));
    if (fd_ < 0 || (params.features & IORING_FEAT_SINGLE_MMAP) == 0) return false;
    const size_t bytes = std::max<size_t>(params.sq_off.array + params.sq_entries * sizeof(unsigned),
                                          params.cq_off.cqes + params.cq_entries * sizeof(io_uring_cqe));
    char* rings = map(bytes, IORING_OFF_SQ_RING);
    entries_ = reinterpret_cast<io_uring_sqe*>(map(params.sq_entries * sizeof(io_uring_sqe), IORING_OFF_SQES));
    if (rings == nullptr || entries_ == nullptr) return false;
    tail_ = reinterpret_cast<unsigned*>(rings + params.sq_off.tail);
    mask_ = *reinterpret_cast<unsigned*>(rings + params.sq_off.ring_mask);
    array_ = reinterpret_cast<unsigned*>(rings + params.sq_off.array);
    done_head_ = reinterpret_cast<unsigned*>(rings + params.cq_off.head);
    done_mask_ = *reinterpret_cast<unsigned*>(rings + params.cq_off.ring_mask);
    done_ = reinterpret_cast<io_uring_cqe*>(rings + params.cq_off.cqes);
    return true;
  }
  // Bytes written and, with RWF_DSYNC, synced; or -errno.
  int write(int file, const char* bytes, size_t size, uint64_t offset, int flags) {
    const unsigned at = *tail_ & mask_;
    io_uring_sqe& entry = entries_[at];
    std::memset(&entry, 0, sizeof(entry));
    entry.opcode = IORING_OP_WRITE;
    entry.fd = file;
    entry.addr = reinterpret_cast<uintptr_t>(bytes);
    entry.len = static_cast<unsigned>(size);
    entry.off = offset;
    entry.rw_flags = flags;
    array_[at] = at;
    __atomic_store_n(tail_, *tail_ + 1, __ATOMIC_RELEASE);
    if (::syscall(SYS_io_uring_enter, fd_, 1, 1, IORING_ENTER_GETEVENTS, nullptr, 0) < 0) return -1;
    const int result = done_[*done_head_ & done_mask_].res;
    __atomic_store_n(done_head_, *done_head_ + 1, __ATOMIC_RELEASE);
    return result;
  }

 private:
  char* map(size_t bytes, off_t what) const {
    void* made = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, fd_, what);
    return made == MAP_FAILED ? nullptr : static_cast<char*>(made);
  }

  int fd_ = -1;
  io_uring_sqe* entries_ = nullptr;
  unsigned *tail_ = nullptr, *array_ = nullptr, *done_head_ = nullptr;
  unsigned mask_ = 0, done_mask_ = 0;
  io_uring_cqe* done_ = nullptr;
};

using Write = std::function<bool(int file, const char* bytes, size_t size, uint64_t offset)>;

// Microseconds at 50 and 99 %; the file is filled with zeros before.
bool measure(const char* name, const std::string& path, int flags, size_t size, double seconds, const Write& write) {
  const int made = ::open(path.c_str(), O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0640);
  const std::vector<char> zeros(size_t{1} << 20);
  for (size_t at = 0; at < kFileBytes; at += zeros.size()) {
    if (::pwrite(made, zeros.data(), zeros.size(), static_cast<off_t>(at)) < 0) return false;
  }
  ::fsync(made);
  ::close(made);
  const int file = ::open(path.c_str(), O_RDWR | O_CLOEXEC | flags);
  if (file < 0) return false;
  char* bytes = static_cast<char*>(std::aligned_alloc(4096, size));
  std::memset(bytes, 'x', size);
  Histogram latency;
  const auto start = std::chrono::steady_clock::now();
  uint64_t offset = 0, count = 0;
  bool is_fine = true;
  while (is_fine && std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count() < seconds) {
    const auto before = std::chrono::steady_clock::now();
    is_fine = write(file, bytes, size, offset);
    latency.record(static_cast<uint64_t>((std::chrono::steady_clock::now() - before) / std::chrono::nanoseconds(1)));
    offset = (offset + size) % kFileBytes;
    ++count;
  }
  ::close(file);
  std::free(bytes);
  if (!is_fine) return false;
  std::printf("{\"way\": \"%s\", \"bytes\": %zu, \"writes\": %llu, \"p50_us\": %.1f, \"p99_us\": %.1f}\n", name, size,
              static_cast<unsigned long long>(count), static_cast<double>(latency.percentile(50)) / 1000,
              static_cast<double>(latency.percentile(99)) / 1000);
  std::fflush(stdout);
  return true;
}

int main_with(int argc, char** argv) {
  std::string directory = ".";
  double seconds = 1;
  int rounds = 3;
  std::vector<size_t> sizes = {4096, 65536};
  CLI::App app("Durable writes, one at a time: O_DIRECT | O_DSYNC, fdatasync, io_uring. A line of JSON each");
  app.add_option("--directory", directory, "on the disk to measure")->capture_default_str();
  app.add_option("--seconds", seconds, "per way and size")->capture_default_str();
  app.add_option("--rounds", rounds)->capture_default_str();
  app.add_option("--bytes", sizes, "multiples of 4,096")->capture_default_str();
  CLI11_PARSE(app, argc, argv);
  Ring ring;
  const bool has_ring = ring.open();
  if (!has_ring) std::fprintf(stderr, "bench_log_device: this kernel gives no io_uring\n");
  const Write plain = [](int file, const char* bytes, size_t size, uint64_t offset) {
    return ::pwrite(file, bytes, size, static_cast<off_t>(offset)) == static_cast<ssize_t>(size);
  };
  const Write synced = [&](int file, const char* bytes, size_t size, uint64_t offset) {
    return plain(file, bytes, size, offset) && ::fdatasync(file) == 0;
  };
  const Write ringed = [&](int file, const char* bytes, size_t size, uint64_t offset) {
    return ring.write(file, bytes, size, offset, RWF_DSYNC) == static_cast<int>(size);
  };
  const std::string path = directory + "/bench_log_device.tmp";
  bool is_fine = true;
  for (int round = 0; round < rounds && is_fine; ++round) {
    for (size_t size : sizes) {
      is_fine = measure("pwrite, O_DIRECT | O_DSYNC", path, O_DIRECT | O_DSYNC, size, seconds, plain) &&
                measure("pwrite, fdatasync", path, 0, size, seconds, synced) &&
                (!has_ring || measure("io_uring, O_DIRECT, RWF_DSYNC", path, O_DIRECT, size, seconds, ringed));
    }
  }
  ::unlink(path.c_str());
  if (!is_fine) std::fprintf(stderr, "bench_log_device: a write has failed\n");
  return is_fine ? 0 : 1;
}

}  // namespace
}  // namespace scyper::bench

int main(int argc, char** argv) { return scyper::bench::main_with(argc, argv); }
