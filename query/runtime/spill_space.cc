#include "runtime/spill_space.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <new>
#include <system_error>
#include <utility>

#include "base/failpoint.h"
#include "runtime/memory.h"
#include "runtime/runtime.h"

namespace scyper::query {

namespace {
// A block per partition is kept in memory while tuples are cut into sixteen of them: an eighth of the memory.
constexpr size_t kBlocksInMemory = 128;
constexpr size_t kBlockBytesMin = 4 << 10;
constexpr size_t kBlockBytesMax = 256 << 10;  // large against the time that a disk needs to find one

Failpoint no_space("spill.no_space");
Failpoint write_error("spill.write_error");
Failpoint read_error("spill.read_error");

int32_t fail_disk(ExecContext* c, const char* what, int error) noexcept {
  bool is_full = error == ENOSPC || error == EDQUOT || error == EFBIG;
  return c->fail(is_full ? "53100" : "58030",
                 std::string("could not ") + what + " temporary file: " + std::generic_category().message(error));
}

int make_file(const std::string& directory) noexcept {
  std::error_code ignored;
  std::string place = directory.empty() ? std::filesystem::temp_directory_path(ignored).string() : directory;
  int file = ::open(place.c_str(), O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
  if (file >= 0 || (errno != EOPNOTSUPP && errno != EISDIR && errno != EINVAL)) return file;
  std::string name = place + "/scyper-spill-XXXXXX";
  file = mkostemp(name.data(), O_CLOEXEC);
  if (file >= 0) unlink(name.c_str());
  return file;
}
}  // namespace

SpillSpace::SpillSpace(SpillLimits* limits, uint32_t threads)
    : limits_(limits),
      memory_bytes_(limits->memory_bytes / std::max<uint32_t>(1, threads)),
      block_bytes_(std::clamp<size_t>(memory_bytes_ / kBlocksInMemory, kBlockBytesMin, kBlockBytesMax) &
                   ~size_t{4095}) {}

SpillSpace::~SpillSpace() {
  limits_->disk_bytes.fetch_sub(end_ - free_blocks_.size() * block_bytes_, std::memory_order_relaxed);
  if (file_ >= 0) close(file_);
}

TupleStore::Chunk* SpillSpace::take_buffer(ExecContext* c) noexcept {
  if (!buffers_.empty()) {
    TupleStore::Chunk* buffer = buffers_.back();
    buffers_.pop_back();
    return buffer;
  }
  char* memory = c->scratch->allocate(block_bytes_ + sizeof(TupleStore::Chunk));
  if (memory == nullptr) return nullptr;
  hold(block_bytes_);
  return new (memory) TupleStore::Chunk{nullptr, nullptr, nullptr};
}

int32_t SpillSpace::open(ExecContext* c) noexcept {
  file_ = make_file(limits_->directory);
  return file_ < 0 ? fail_disk(c, "create", errno) : 0;
}

int32_t SpillSpace::write(ExecContext* c, const char* from, size_t bytes, uint64_t* offset) noexcept {
  if (int32_t outcome = poll_interrupt(c); outcome != 0) return outcome;
  if (file_ < 0)
    if (int32_t outcome = open(c); outcome != 0) return outcome;
  if (limits_->disk_bytes.fetch_add(block_bytes_, std::memory_order_relaxed) + block_bytes_ > limits_->disk_bytes_max) {
    limits_->disk_bytes.fetch_sub(block_bytes_, std::memory_order_relaxed);
    int32_t outcome = fail_memory(c);
    c->error.detail = "The query needs more memory and temporary files than its limits allow.";
    return outcome;
  }
  if (free_blocks_.empty()) {
    *offset = end_;
    end_ += block_bytes_;
  } else {
    *offset = free_blocks_.back();
    free_blocks_.pop_back();
  }
  limits_->written_bytes.fetch_add(bytes, std::memory_order_relaxed);
  for (size_t done = 0; done < bytes;) {
    ssize_t n = pwrite(file_, from + done, bytes - done, static_cast<off_t>(*offset + done));
    if (no_space.fires()) n = -1, errno = ENOSPC;
    if (write_error.fires()) n = -1, errno = EIO;
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return fail_disk(c, "write to", n == 0 ? EIO : errno);
    done += static_cast<size_t>(n);
  }
  return 0;
}

int32_t SpillSpace::read(ExecContext* c, uint64_t offset, char* to, size_t bytes) const noexcept {
  if (int32_t outcome = poll_interrupt(c); outcome != 0) return outcome;
  for (size_t done = 0; done < bytes;) {
    ssize_t n = pread(file_, to + done, bytes - done, static_cast<off_t>(offset + done));
    if (read_error.fires()) n = -1, errno = EIO;
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return fail_disk(c, "read", n == 0 ? EIO : errno);
    done += static_cast<size_t>(n);
  }
  return 0;
}

void SpillSpace::free(uint64_t offset) noexcept {
  free_blocks_.push_back(offset);
  limits_->disk_bytes.fetch_sub(block_bytes_, std::memory_order_relaxed);
}

// --- parts ---

int32_t SpillPart::append(ExecContext* c, const char* tuple, size_t width) noexcept {
  if (buffer != nullptr) {
    auto used = static_cast<size_t>(buffer->end - reinterpret_cast<char*>(buffer + 1));
    if (used + width > c->spill->block_bytes())
      if (int32_t outcome = flush(c); outcome != 0) return outcome;
  }
  if (buffer == nullptr) {
    buffer = c->spill->take_buffer(c);
    if (buffer == nullptr) return fail_memory(c);
    buffer->end = reinterpret_cast<char*>(buffer + 1);
  }
  std::memcpy(buffer->end, tuple, width);
  buffer->end += width;
  bytes += width;
  return 0;
}

int32_t SpillPart::flush(ExecContext* c) noexcept {
  if (buffer == nullptr) return 0;
  auto* from = reinterpret_cast<char*>(buffer + 1);
  Block block{c->spill, 0, static_cast<size_t>(buffer->end - from)};
  int32_t outcome = c->spill->write(c, from, block.bytes, &block.offset);
  if (outcome == 0) blocks.push_back(block);
  c->spill->give_buffer(buffer);
  buffer = nullptr;
  return outcome;
}

void SpillPart::clear(ExecContext* c) noexcept {
  for (const Block& block : blocks)
    if (block.space == c->spill) c->spill->free(block.offset);
  blocks.clear();
  if (buffer != nullptr) c->spill->give_buffer(buffer);
  buffer = nullptr;
  bytes = 0;
}

int32_t SpillReader::next(ExecContext* c, TupleStore::Chunk** chunk) noexcept {
  *chunk = nullptr;
  while (part_ < parts_.size() && block_ == parts_[part_]->blocks.size()) {
    parts_[part_]->blocks.clear();
    part_++;
    block_ = 0;
  }
  if (part_ == parts_.size()) return close(c), 0;
  if (buffer_ == nullptr) buffer_ = c->spill->take_buffer(c);
  if (buffer_ == nullptr) return fail_memory(c);
  const SpillPart::Block& block = parts_[part_]->blocks[block_++];
  auto* to = reinterpret_cast<char*>(buffer_ + 1);
  if (int32_t outcome = block.space->read(c, block.offset, to, block.bytes); outcome != 0) return outcome;
  if (block.space == c->spill) c->spill->free(block.offset);
  buffer_->next = nullptr;
  buffer_->end = to + block.bytes;
  *chunk = buffer_;
  return 0;
}

void SpillReader::close(ExecContext* c) noexcept {
  if (buffer_ != nullptr) c->spill->give_buffer(buffer_);
  buffer_ = nullptr;
}

int32_t poll_interrupt(ExecContext* c) noexcept {
  if (c->interrupt.load(std::memory_order_relaxed) == 0) [[likely]]
    return 0;
  return reinterpret_cast<int32_t (*)(ExecContext*) noexcept>(k_rt_interrupted.address)(c);
}

}  // namespace scyper::query
