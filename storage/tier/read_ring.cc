#include "tier/read_ring.h"

#include <liburing.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/check.h"
#include "base/failpoint.h"

namespace scyper::storage {
namespace {

// What a disk may do to a read that went well.
Failpoint read_fails("page_cache.read_error");
Failpoint read_is_short("page_cache.short_read");

}  // namespace

struct ReadRing::Ring {
  io_uring ring{};
};

ReadRing::ReadRing(std::unique_ptr<Ring> ring) : ring_(std::move(ring)) {}
ReadRing::~ReadRing() { io_uring_queue_exit(&ring_->ring); }

StatusOr<std::unique_ptr<ReadRing>> ReadRing::create(uint32_t reads_max) {
  auto ring = std::make_unique<Ring>();
  const int result = io_uring_queue_init(reads_max, &ring->ring, 0);
  if (result < 0) {
    return with_hint(sql_error("0A000", absl::StrCat("this system gives no io_uring, which the paged tier reads by: ",
                                                     std::strerror(-result))),
                     "See kernel.io_uring_disabled, and the seccomp profile of a container.");
  }
  io_uring_ring_dontfork(&ring->ring);
  return std::unique_ptr<ReadRing>(new ReadRing(std::move(ring)));
}

void ReadRing::add(uint32_t tag, int fd, uint64_t offset, const iovec* parts, size_t part_count) {
  io_uring_sqe* entry = io_uring_get_sqe(&ring_->ring);
  CHECK(entry != nullptr);
  io_uring_prep_readv(entry, fd, parts, static_cast<unsigned>(part_count), offset);
  io_uring_sqe_set_data64(entry, tag);
}

void ReadRing::submit() {
  while (io_uring_sq_ready(&ring_->ring) > 0) {
    const int submitted = io_uring_submit(&ring_->ring);
    CHECK(submitted >= 0 || submitted == -EINTR || submitted == -EAGAIN);
    if (submitted == -EAGAIN) usleep(1000);  // the kernel has no memory for it just now
  }
}

size_t ReadRing::wait(ReadCompletion* completions, size_t completions_max) {
  io_uring_cqe* first;
  int result;
  do {
    result = io_uring_wait_cqe(&ring_->ring, &first);
  } while (result == -EINTR);
  CHECK(result == 0);
  size_t count = 0;
  unsigned head;
  io_uring_cqe* entry;
  io_uring_for_each_cqe(&ring_->ring, head, entry) {
    if (count == completions_max) break;
    completions[count] = {static_cast<uint32_t>(io_uring_cqe_get_data64(entry)), entry->res};
    if (read_fails.fires()) completions[count].result = -EIO;
    if (read_is_short.fires() && completions[count].result > 0) completions[count].result /= 2;
    ++count;
  }
  io_uring_cq_advance(&ring_->ring, static_cast<unsigned>(count));
  return count;
}

}  // namespace scyper::storage
