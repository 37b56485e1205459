#include "rdma/rendezvous.h"

#include <cstring>

namespace scyper::replication {

std::string BulkHello::parse(const void* bytes, size_t size, BulkHello* out) {
  // connection managers hand over more than was sent, filled with zeros
  if (bytes == nullptr || size < sizeof(*out)) return "no greeting of a channel";
  std::memcpy(out, bytes, sizeof(*out));
  if (out->magic != kMagic) return "no greeting of a channel";
  if (out->version != kVersion) return "the peer speaks version " + std::to_string(out->version);
  const bool fits = out->slots >= BulkMemory::kSlotsMin && out->slots <= BulkMemory::kSlotsMax &&
                    out->slot_bytes == BulkMemory::kSlotBytes;
  return fits ? "" : "the peer has other slots";
}

bool BulkHello::has_token(const uint8_t* expected) const {
  unsigned different = 0;
  for (size_t i = 0; i < BulkMemory::kTokenBytes; ++i) different |= static_cast<unsigned>(token[i] ^ expected[i]);
  return different == 0;
}

std::string BulkMessage::parse(const void* bytes, size_t size, BulkMessage* out) {
  if (size != sizeof(*out)) return "a message of another size";
  std::memcpy(out, bytes, sizeof(*out));
  const bool is_known = out->kind == Kind::kOffer || out->kind == Kind::kRelease;
  return out->magic == kMagic && is_known ? "" : "a message that makes no sense";
}

bool BulkSource::can_advance() const {
  return memory_.filled.load(std::memory_order_acquire) != offered_ && offered_ - released_ < window_ &&
         wire_.has_room();
}

std::string BulkSource::advance() {
  while (can_advance()) {
    // the node is ours, and still no number of it leads outside of the slots
    if (memory_.filled.load(std::memory_order_acquire) - released_ > slots_) return "the node has filled slots in use";
    BulkMessage offer;
    offer.number = offered_;
    offer.address = address_ + offered_ % slots_ * BulkMemory::kSlotBytes;
    offer.key = key_;
    offer.bytes = memory_.sizes[offered_ % slots_].load(std::memory_order_relaxed);
    if (offer.bytes == 0 || offer.bytes > BulkMemory::kSlotBytes) return "a slot of an impossible size";
    ++offered_;
    if (std::string error = wire_.send(offer); !error.empty()) return error;
  }
  return "";
}

std::string BulkSource::on_message(const BulkMessage& message) {
  if (message.kind != BulkMessage::Kind::kRelease) return "an offer to a source";
  if (message.number <= released_ || message.number > offered_) return "a release of what was not offered";
  released_ = message.number;
  memory_.released.store(released_, std::memory_order_release);
  return "";
}

bool BulkSink::has_free_slot() const {
  return begun_ - memory_.released.load(std::memory_order_acquire) < slots_;  // more, if the node lies: no
}

bool BulkSink::can_advance() const {
  return wire_.has_room() && (released_ < read_ || (begun_ < offered_ && has_free_slot()));
}

std::string BulkSink::advance() {
  while (begun_ < offered_ && has_free_slot() && wire_.has_room()) {
    const uint64_t number = begun_++;
    if (std::string error = wire_.read(number, offers_[number % window_]); !error.empty()) return error;
  }
  if (released_ == read_ || !wire_.has_room()) return "";
  BulkMessage release;
  release.kind = BulkMessage::Kind::kRelease;
  release.number = released_ = read_;
  return wire_.send(release);
}

std::string BulkSink::on_message(const BulkMessage& message) {
  if (message.kind != BulkMessage::Kind::kOffer) return "a release to a sink";
  if (message.number != offered_) return "an offer out of order";
  if (offered_ - released_ >= window_) return "more offers than there is room for";
  if (message.bytes == 0 || message.bytes > BulkMemory::kSlotBytes) return "an offer of an impossible size";
  offers_[offered_++ % window_] = message;
  return "";
}

std::string BulkSink::on_read() {
  if (read_ == begun_) return "the end of a read that was not begun";
  memory_.sizes[read_ % slots_].store(offers_[read_ % window_].bytes, std::memory_order_relaxed);
  memory_.filled.store(++read_, std::memory_order_release);
  return "";
}

}  // namespace scyper::replication
