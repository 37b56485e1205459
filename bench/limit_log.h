#pragma once

#include <cstdint>
#include <cstring>
#include <string_view>
#include <vector>

#include "base/check.h"

namespace scyper::bench {

// The before-images of the running transaction, in one buffer, newest at the end.
// Caveat: an image is put back to the address it came from, so rows must not move within a transaction.
class UndoLog {
 public:
  enum class Kind : uint32_t { kImage, kOrder, kNewOrder, kLine, kHistory };

  UndoLog() : buffer_(kBytes) {}

  void clear() { end_ = 0; }

  void image(void* address, uint32_t size) {
    DCHECK(end_ + size + sizeof(Entry) <= kBytes);
    std::memcpy(&buffer_[end_], address, size);
    end_ += size;
    finish({reinterpret_cast<uint64_t>(address), Kind::kImage, size});
  }
  // A row was added (or, for `removed` of new_order, taken away): what has to be undone is named by its key.
  void inserted(Kind kind, uint64_t key) { finish({key, kind, 0}); }
  void removed(Kind kind, uint64_t key) { finish({key, kind, kRemoved}); }

  // Undoes from the newest to the oldest change: images here, the rest by insert_undone(kind, key) and
  // remove_undone(kind, key).
  template <typename InsertUndone, typename RemoveUndone>
  void roll_back(InsertUndone insert_undone, RemoveUndone remove_undone) {
    while (end_ > 0) {
      Entry entry;
      end_ -= sizeof(Entry);
      std::memcpy(&entry, &buffer_[end_], sizeof(Entry));
      if (entry.kind == Kind::kImage) {
        end_ -= entry.size;
        std::memcpy(reinterpret_cast<void*>(entry.subject), &buffer_[end_], entry.size);
      } else if (entry.size == kRemoved) {
        remove_undone(entry.kind, entry.subject);
      } else {
        insert_undone(entry.kind, entry.subject);
      }
    }
  }

 private:
  struct Entry {
    uint64_t subject;  // an address or a key
    Kind kind;
    uint32_t size;
  };
  static constexpr size_t kBytes = size_t{1} << 16;  // a Delivery, the largest, needs 10 * (15 * 24 + 100)
  static constexpr uint32_t kRemoved = ~uint32_t{0};

  void finish(const Entry& entry) {
    std::memcpy(&buffer_[end_], &entry, sizeof(Entry));
    end_ += sizeof(Entry);
  }

  std::vector<char> buffer_;
  size_t end_ = 0;
};

// Physical redo: the row changes of a transaction by key, encoded into a buffer that is used again for the next one.
// A record is: time (8), then changes: table (1), operation (1), key (8), columns (1 number each) with their values.
class RedoLog {
 public:
  enum class Operation : uint8_t { kInsert, kUpdate, kDelete };

  RedoLog() : buffer_(kBytes) {}

  void begin(int64_t time) {
    end_ = buffer_.data();
    put(time);
    empty_ = true;
  }
  void change(uint8_t table, Operation operation, uint64_t key) {
    put(table);
    put(operation);
    put(key);
    empty_ = false;
  }
  template <typename T>
  void column(uint8_t number, T value) {
    static_assert(std::is_arithmetic_v<T>);
    put(number);
    put(value);
  }
  void column(uint8_t number, std::string_view text) {
    put(number);
    put(static_cast<uint16_t>(text.size()));
    std::memcpy(end_, text.data(), text.size());
    end_ += text.size();
  }

  // Read-only and aborted transactions log nothing.
  void commit() {
    DCHECK(end_ <= buffer_.data() + kBytes);
    if (empty_) return;
    bytes_ += static_cast<uint64_t>(end_ - buffer_.data());
    ++records_;
  }
  uint64_t bytes() const { return bytes_; }
  uint64_t records() const { return records_; }

 private:
  static constexpr size_t kBytes = size_t{1} << 16;

  template <typename T>
  void put(T value) {
    std::memcpy(end_, &value, sizeof(T));
    end_ += sizeof(T);
  }

  std::vector<char> buffer_;
  char* end_ = nullptr;
  bool empty_ = true;
  uint64_t bytes_ = 0;
  uint64_t records_ = 0;
};

}  // namespace scyper::bench
