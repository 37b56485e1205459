#pragma once

#include <cstdint>
#include <string>

#include "bulk_memory.h"

// Bulk data over a reliable connection by the rendezvous of RDMA reads (Sur, Jin, Chai and Panda, PPoPP 2006): the
// source offers a slot of its registered memory, the sink reads it into one of its own when that is free, and releases
// it. So nobody's memory can be written from outside: a source's may be read, a sink's has no remote rights. Credits
// are slots: the source has as many offers open as the sink told that it takes. Here all but verbs: bytes on the wire,
// and what either side believes. Threads: one. Functions give what ends the channel, a text for people; empty =
// nothing.
namespace scyper::replication {

// Within the connection manager's request and its answer, little endian.
struct BulkHello {
  static constexpr uint32_t kMagic = 0x42796353;  // "ScyB"
  static constexpr uint16_t kVersion = 1;
  uint32_t magic = kMagic;
  uint16_t version = kVersion;
  uint16_t slots = 0;  // of who sends it: offers that it takes, or may have open
  uint32_t slot_bytes = BulkMemory::kSlotBytes;
  uint32_t reserved = 0;
  uint8_t token[BulkMemory::kTokenBytes] = {};  // of the sink; zeros in the answer

  // Why it is none; empty: *out is one, with at least kSlotsMin slots.
  static std::string parse(const void* bytes, size_t size, BulkHello* out);
  bool has_token(const uint8_t* expected) const;  // in a time that does not tell how much of it is right
};
static_assert(sizeof(BulkHello) == 32);

// Sent over the connection, little endian.
struct BulkMessage {
  static constexpr uint32_t kMagic = 0x62796353;  // "Scyb"
  enum class Kind : uint32_t {
    kOffer = 1,    // by the source: slot `number` has `bytes` at `address`, to be read with `key`
    kRelease = 2,  // by the sink: it has read all slots below `number`
  };
  uint32_t magic = kMagic;
  Kind kind = Kind::kOffer;
  uint64_t number = 0;
  uint64_t address = 0;
  uint32_t key = 0;
  uint32_t bytes = 0;

  static std::string parse(const void* bytes, size_t size, BulkMessage* out);
};
static_assert(sizeof(BulkMessage) == 32);

// The connection: verbs, or a test's memory.
class BulkWire {
 public:
  virtual ~BulkWire() = default;
  virtual bool has_room() const = 0;  // for another send() or read()
  virtual std::string send(const BulkMessage& message) = 0;
  // Of the peer's memory into slot number `number` here. They end in order, each with on_read().
  virtual std::string read(uint64_t number, const BulkMessage& offer) = 0;
};

class BulkSource {
 public:
  // window: open offers at most, as both sides have slots. address, key: of slot 0, as the peer names them.
  BulkSource(BulkMemory* memory, uint32_t slots, uint32_t window, uint64_t address, uint32_t key, BulkWire* wire)
      : memory_(*memory), slots_(slots), window_(window), address_(address), key_(key), wire_(*wire) {}
  // Offers what the node has filled.
  std::string advance();
  std::string on_message(const BulkMessage& message);
  bool can_advance() const;

 private:
  BulkMemory& memory_;
  const uint32_t slots_, window_;
  const uint64_t address_;
  const uint32_t key_;
  BulkWire& wire_;
  uint64_t offered_ = 0, released_ = 0;
};

class BulkSink {
 public:
  BulkSink(BulkMemory* memory, uint32_t slots, uint32_t window, BulkWire* wire)
      : memory_(*memory), slots_(slots), window_(window), wire_(*wire) {}
  // Reads what is offered into slots that the node has released; releases what has been read.
  std::string advance();
  std::string on_message(const BulkMessage& message);
  // The oldest read has ended.
  std::string on_read();
  bool can_advance() const;

 private:
  bool has_free_slot() const;

  BulkMemory& memory_;
  const uint32_t slots_, window_;
  BulkWire& wire_;
  BulkMessage offers_[BulkMemory::kSlotsMax];
  uint64_t offered_ = 0, begun_ = 0, read_ = 0, released_ = 0;
};

}  // namespace scyper::replication
