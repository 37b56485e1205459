#pragma once

#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <memory>
#include <random>
#include <string>
#include <thread>
#include <utility>

#include "base/event_fd.h"
#include "bulk_memory.h"
#include "rdma/rendezvous.h"
#include "replication/bulk.h"

namespace scyper::replication {

struct FreeMemory {
  void operator()(BulkMemory* memory) const { std::free(memory); }
};
inline std::unique_ptr<BulkMemory, FreeMemory> make_bulk_memory(uint32_t slots) {
  return std::unique_ptr<BulkMemory, FreeMemory>(static_cast<BulkMemory*>(
      std::calloc(1, BulkMemory::bytes(slots))));  // as a new memfd: zeros are its initial state
}

// A source's memory, a sink's, and in place of verbs a connection that moves bytes between them: in any order that a
// reliable connection allows, a step at a time. Threads: one.
class MemoryBulkConnection {
 public:
  static constexpr uint32_t kKey = 77;
  static constexpr uint64_t kAddress = 0x1000;  // of the source's slot 0, as it tells it

  MemoryBulkConnection(uint32_t source_slots, uint32_t sink_slots, uint64_t seed)
      : source_slots_(source_slots),
        sink_slots_(sink_slots),
        window_(std::min(source_slots, sink_slots)),
        source_memory_(make_bulk_memory(source_slots)),
        sink_memory_(make_bulk_memory(sink_slots)),
        source_wire_(this, /*is_source=*/true),
        sink_wire_(this, /*is_source=*/false),
        source_(source_memory_.get(), source_slots, window_, kAddress, kKey, &source_wire_),
        sink_(sink_memory_.get(), sink_slots, window_, &sink_wire_),
        random_(seed) {}

  BulkMemory* source_memory() { return source_memory_.get(); }
  BulkMemory* sink_memory() { return sink_memory_.get(); }
  uint32_t window() const { return window_; }
  size_t open_offers() const { return offers_max_; }  // at most, until now

  // Something that may happen now; *moved: whether anything did. What ends the connection, or empty.
  std::string step(bool* moved) {
    *moved = true;
    source_memory_->beats.fetch_add(1);
    sink_memory_->beats.fetch_add(1);
    for (int tried = 0, what = static_cast<int>(random_() % 5); tried < 5; ++tried, what = (what + 1) % 5) {
      if (what == 0 && source_.can_advance()) return source_.advance();
      if (what == 1 && sink_.can_advance()) return sink_.advance();
      if (what == 2 && !to_sink_.empty()) return sink_.on_message(pop(&to_sink_));
      if (what == 3 && !to_source_.empty()) return source_.on_message(pop(&to_source_));
      if (what == 4 && !reads_.empty()) return end_read();
    }
    *moved = false;
    return "";
  }

 private:
  class Wire final : public BulkWire {
   public:
    Wire(MemoryBulkConnection* owner, bool is_source) : owner_(*owner), is_source_(is_source) {}
    bool has_room() const override { return (is_source_ ? owner_.to_sink_ : owner_.to_source_).size() < 8; }
    std::string send(const BulkMessage& message) override {
      (is_source_ ? owner_.to_sink_ : owner_.to_source_).push_back(message);
      return owner_.note(message);
    }
    std::string read(uint64_t number, const BulkMessage& offer) override {
      owner_.reads_.emplace_back(number, offer);
      return "";
    }

   private:
    MemoryBulkConnection& owner_;
    const bool is_source_;
  };

  static BulkMessage pop(std::deque<BulkMessage>* from) {
    const BulkMessage message = from->front();
    from->pop_front();
    return message;
  }
  std::string note(const BulkMessage& message) {
    if (message.kind == BulkMessage::Kind::kOffer) offered_ = message.number + 1;
    if (message.kind == BulkMessage::Kind::kRelease) released_ = message.number;
    offers_max_ = std::max<size_t>(offers_max_, offered_ - released_);
    return offered_ - released_ > window_ ? "more offers are open than there are slots" : "";
  }
  // As a device does: nothing but what the peer has registered, with its key.
  std::string end_read() {
    const auto [number, offer] = reads_.front();
    reads_.pop_front();
    const uint64_t offset = offer.address - kAddress;
    if (offer.key != kKey || offset + offer.bytes > uint64_t{source_slots_} * BulkMemory::kSlotBytes) {
      return "a read outside of what is registered";
    }
    std::memcpy(sink_memory_->slot(number, sink_slots_), source_memory_->slot(0, source_slots_) + offset, offer.bytes);
    return sink_.on_read();
  }

  const uint32_t source_slots_, sink_slots_, window_;
  std::unique_ptr<BulkMemory, FreeMemory> source_memory_, sink_memory_;
  std::deque<BulkMessage> to_sink_, to_source_;
  std::deque<std::pair<uint64_t, BulkMessage>> reads_;
  Wire source_wire_, sink_wire_;
  BulkSource source_;
  BulkSink sink_;
  std::mt19937_64 random_;
  uint64_t offered_ = 0, released_ = 0;
  size_t offers_max_ = 0;
};

// Both ends of a channel as nodes have them, over such a connection with a thread of its own.
class MemoryBulkPair {
 public:
  MemoryBulkPair(uint32_t slots, uint64_t seed) : connection_(slots, slots, seed), slots_(slots) {
    thread_ = std::thread([this] { run(); });
  }
  ~MemoryBulkPair() {
    is_over_ = true;
    thread_.join();
  }
  // Both are broken from now on.
  void cut() { is_cut_ = true; }
  MemoryBulkConnection& connection() { return connection_; }

  class End final : public BulkChannel {
   public:
    End(std::shared_ptr<MemoryBulkPair> pair, bool is_source, const ClusterId& cluster, const DatagramKey* key)
        : pair_(std::move(pair)) {
      Shared made;
      made.memory = is_source ? pair_->connection_.source_memory() : pair_->connection_.sink_memory();
      made.slots = pair_->slots_;
      for (int* each : {&made.node_event, &made.wire_event}) *each = make_event();
      open(made, cluster, key);
    }
    ~End() override {
      for (int each : {shared().node_event, shared().wire_event}) ::close(each);
      pair_->cut();  // as the end of a process does
    }

   protected:
    bool is_there() const override { return !pair_->is_cut_; }

   private:
    const std::shared_ptr<MemoryBulkPair> pair_;
  };

 private:
  // Nobody is rung: ends look again after some ms.
  void run() {
    while (!is_over_) {
      bool moved = false;
      if (!is_cut_ && !connection_.step(&moved).empty()) is_cut_ = true;
      if (!moved || is_cut_) std::this_thread::sleep_for(std::chrono::microseconds(200));
    }
  }

  MemoryBulkConnection connection_;
  const uint32_t slots_;
  std::atomic<bool> is_over_{false}, is_cut_{false};
  std::thread thread_;
};

}  // namespace scyper::replication
