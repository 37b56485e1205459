#include "log_buffer.h"

#include <unistd.h>

#include <new>
#include <utility>

#include "base/check.h"

namespace scyper::primary {

LogBuffer::LogBuffer() : filling_(make_chunk(kChunkBytes)), taking_(filling_) {
  cursor_ = filling_->data();
  end_ = cursor_ + filling_->capacity;
}

LogBuffer::~LogBuffer() {
  while (taking_ != nullptr) {
    Chunk* next = taking_->next.load();
    free_chunk(taking_);
    taking_ = next;
  }
  if (aside_ != nullptr) free_chunk(aside_);
  if (Chunk* spare = spare_.load(); spare != nullptr) free_chunk(spare);
}

LogBuffer::Chunk* LogBuffer::make_chunk(size_t capacity) {
  void* memory = ::operator new(sizeof(Chunk) + capacity);
  Chunk* chunk = new (memory) Chunk;
  chunk->capacity = capacity;
  return chunk;
}

void LogBuffer::free_chunk(Chunk* chunk) {
  chunk->~Chunk();
  ::operator delete(chunk);
}

char* LogBuffer::reserve_slow(size_t bytes) {
  // the writer is behind by more than half a second of its disk's time: waiting is what bounds memory
  while (appended_bytes_ - taken_bytes_.load(std::memory_order_relaxed) > kWaitingBytesMax &&
         waits_.load(std::memory_order_relaxed)) {
    ::usleep(100);
  }
  Chunk* chunk = bytes <= kChunkBytes ? spare_.exchange(nullptr, std::memory_order_acquire) : nullptr;
  if (chunk == nullptr) chunk = make_chunk(bytes <= kChunkBytes ? kChunkBytes : bytes);
  CHECK(chunk->capacity >= bytes);
  return use(chunk);
}

char* LogBuffer::use(Chunk* chunk) {
  filling_->next.store(chunk, std::memory_order_release);
  filling_ = chunk;
  cursor_ = chunk->data();
  end_ = cursor_ + chunk->capacity;
  return cursor_;
}

char* LogBuffer::make_aside(size_t bytes) {
  CHECK(aside_ == nullptr);
  aside_ = make_chunk(bytes);
  return aside_->data();
}

char* LogBuffer::reserve_aside() { return use(std::exchange(aside_, nullptr)); }

// Goes on to the chunk behind, when the current one has been left by the other side and read to its end.
bool LogBuffer::next_chunk() {
  Chunk* next = taking_->next.load(std::memory_order_acquire);
  if (next == nullptr) return false;
  if (taking_->published.load(std::memory_order_relaxed) != taken_) return true;  // grew in between: read on
  Chunk* done = taking_;
  taking_ = next;
  taken_ = 0;
  if (done->capacity == kChunkBytes) {
    done->next.store(nullptr, std::memory_order_relaxed);
    done->published.store(0, std::memory_order_relaxed);
    done = spare_.exchange(done, std::memory_order_acq_rel);
  }
  if (done != nullptr) free_chunk(done);
  return true;
}

}  // namespace scyper::primary
