#pragma once

#include <bit>
#include <cstdint>
#include <cstring>

#include "base/check.h"
#include "key_load.h"
#include "node_pool.h"
#include "storage/index.h"

// The three forms of entries in a HashTable. Each says what a loaded key is, how it hashes, and how a 64-byte line
// holds entries. Entry = what a line stores of a key and its Tid.
namespace scyper::storage {

// The 128-bit product folded to 64 bits: all input bits reach all output bits, also those of sequential integers in
// big-endian form, which differ in their highest bytes only. Source: wyhash (public domain), Wang Yi.
inline uint64_t fold(uint64_t a, uint64_t b) {
  const unsigned __int128 product = static_cast<unsigned __int128>(a) * b;
  return static_cast<uint64_t>(product) ^ static_cast<uint64_t>(product >> 64);
}
constexpr uint64_t kHashSeed0 = 0xa0761d6478bd642full;
constexpr uint64_t kHashSeed1 = 0xe7037ed1a0b428dbull;
constexpr uint64_t kHashSeed2 = 0x8ebc6af09c88c6e3ull;

inline uint64_t hash_word(uint64_t word) { return fold(word ^ kHashSeed0, kHashSeed1); }
// Two rounds: one product of both halves would be 0 for every second half once the first half is the seed.
inline uint64_t hash_pair(uint64_t first, uint64_t second) { return fold(hash_word(first) ^ second, kHashSeed2); }
uint64_t hash_bytes(const char* bytes, uint32_t size) noexcept;

// Four entries of 16 bytes: a word (the key, or the hash of a key kept apart) and a value. Stored value 0 = no entry.
struct WordEntry {
  uint64_t word;
  uint64_t value;  // not 0
};
struct WordLine {
  static constexpr uint32_t kSlots = 4;
  uint64_t words[kSlots];
  uint64_t values[kSlots];

  bool full() const { return values[kSlots - 1] != 0; }
  uint32_t count() const {
    return static_cast<uint32_t>((values[0] != 0) + (values[1] != 0) + (values[2] != 0) + (values[3] != 0));
  }
  WordEntry get(uint32_t slot) const { return {words[slot], values[slot]}; }
  void append(const WordEntry& entry) {
    const uint32_t slot = count();
    words[slot] = entry.word;
    values[slot] = entry.value;
  }
  void remove(uint32_t slot) {
    const uint32_t last = count() - 1;
    words[slot] = words[last];
    values[slot] = values[last];
    words[last] = values[last] = 0;
  }
};

// Fixed keys of 1 to 8 bytes. The value is the Tid + 1.
class WordForm {
 public:
  using Key = uint64_t;
  using Entry = WordEntry;
  using Line = WordLine;
  static constexpr auto kKind = HashIndex::Kind::kWord;
  static constexpr auto kMaxTid = kNoTid - 1;
  explicit WordForm(Arena*) {}

  static Key load(const char* bytes, uint32_t, uint32_t key_bytes) { return load_word(bytes, key_bytes); }
  static Key of_words(uint64_t first, uint64_t) { return first; }
  static uint64_t hash(Key key) { return hash_word(key); }
  static uint64_t hash_of(const Entry& entry) { return hash_word(entry.word); }
  static uint32_t slot_of(const Line& line, Key key) {
    for (uint32_t i = 0; i < Line::kSlots; ++i) {
      if (line.words[i] == key && line.values[i] != 0) return i;
    }
    return Line::kSlots;
  }
  // No branch on where the key lies: a wrong guess would end the overlap of this lookup's cache miss with the next
  // one's. Empty slots hold word 0, value 0, and 0 - 1 is kNoTid.
  static Tid find(const Line& line, Key key) {
    uint64_t value = 0;
    for (uint32_t i = 0; i < Line::kSlots; ++i) value |= line.values[i] & -static_cast<uint64_t>(line.words[i] == key);
    return value - 1;
  }
  static void set_tid(Line* line, uint32_t slot, Tid tid) { line->values[slot] = tid + 1; }
  bool make_entry(Key key, uint64_t, Tid tid, Entry* entry) {
    *entry = {key, tid + 1};
    return true;
  }
  void drop_entry(const Entry&) {}
  size_t bytes() const { return 0; }
};

// Three entries of 16-byte key and 5-byte Tid, and their number.
struct PairKey {
  uint64_t first;
  uint64_t second;
};
struct PairEntry {
  PairKey key;
  Tid tid;
};
struct PairLine {
  static constexpr uint32_t kSlots = 3;
  PairKey keys[kSlots];
  uint8_t tids[kSlots][5];
  uint8_t used;

  bool full() const { return used == kSlots; }
  uint32_t count() const { return used; }
  // Reads the 8 bytes that end with the Tid (within the line: at worst 3 bytes of keys come before it).
  Tid tid(uint32_t slot) const {
    uint64_t bytes;
    std::memcpy(&bytes, reinterpret_cast<const char*>(this) + sizeof(keys) + slot * 5 - 3, 8);
    return bytes >> 24;
  }
  PairEntry get(uint32_t slot) const { return {keys[slot], tid(slot)}; }
  void put(uint32_t slot, const PairEntry& entry) {
    keys[slot] = entry.key;
    std::memcpy(tids[slot], &entry.tid, 5);
  }
  void append(const PairEntry& entry) { put(used++, entry); }
  void remove(uint32_t slot) {
    --used;
    if (slot != used) put(slot, get(used));
  }
};
static_assert(std::endian::native == std::endian::little, "Tids of 5 bytes are cut from words");

// Fixed keys of 9 to 16 bytes.
class PairForm {
 public:
  using Key = PairKey;
  using Entry = PairEntry;
  using Line = PairLine;
  static constexpr auto kKind = HashIndex::Kind::kPair;
  static constexpr auto kMaxTid = kMaxHashedTid;
  explicit PairForm(Arena*) {}

  static Key load(const char* bytes, uint32_t, uint32_t key_bytes) {
    return {load64_by_halves(bytes), load_word(bytes + 8, key_bytes - 8)};
  }
  static Key of_words(uint64_t first, uint64_t second) { return {first, second}; }
  static uint64_t hash(const Key& key) { return hash_pair(key.first, key.second); }
  static uint64_t hash_of(const Entry& entry) { return hash(entry.key); }
  static bool equal(const Key& a, const Key& b) { return ((a.first ^ b.first) | (a.second ^ b.second)) == 0; }
  static uint32_t slot_of(const Line& line, const Key& key) {
    uint32_t found = 0;
    for (uint32_t i = 0; i < Line::kSlots; ++i) found |= static_cast<uint32_t>(equal(line.keys[i], key)) << i;
    found = (found & ((1u << line.used) - 1)) | (1u << Line::kSlots);
    return static_cast<uint32_t>(std::countr_zero(found));
  }
  static Tid find(const Line& line, const Key& key) {
    const uint32_t slot = slot_of(line, key);
    return slot < Line::kSlots ? line.tid(slot) : kNoTid;
  }
  static void set_tid(Line* line, uint32_t slot, Tid tid) { line->put(slot, {line->keys[slot], tid}); }
  bool make_entry(const Key& key, uint64_t, Tid tid, Entry* entry) {
    *entry = {key, tid};
    return true;
  }
  void drop_entry(const Entry&) {}
  size_t bytes() const { return 0; }
};

// Longer or variable keys: the line holds the 64-bit hash and the address of a record with key and Tid.
class ApartForm {
 public:
  struct Record {
    Tid tid;
    uint32_t size;
    char key[4];  // `size` bytes in truth
  };
  static constexpr uint32_t kRecordHead = 12;
  struct Key {
    const char* bytes;
    uint32_t size;
    uint64_t hash;
  };
  using Entry = WordEntry;
  using Line = WordLine;
  static constexpr auto kKind = HashIndex::Kind::kApart;
  static constexpr auto kMaxTid = kNoTid - 1;
  static_assert(kRecordHead + kMaxIndexKeyBytes <= PiecePool::kMaxPieceBytes);
  explicit ApartForm(Arena* arena) : records_(arena) {}

  static Key load(const char* bytes, uint32_t size, uint32_t) { return {bytes, size, hash_bytes(bytes, size)}; }
  static uint64_t hash(const Key& key) { return key.hash; }
  static uint64_t hash_of(const Entry& entry) { return entry.word; }
  static const Record* record_of(uint64_t value) { return reinterpret_cast<const Record*>(value); }
  static bool equal(const Record* record, const Key& key) {
    return record->size == key.size && std::memcmp(record->key, key.bytes, key.size) == 0;
  }
  static uint32_t slot_of(const Line& line, const Key& key) {
    uint32_t candidates = 0;
    for (uint32_t i = 0; i < Line::kSlots; ++i) {
      candidates |= static_cast<uint32_t>(line.words[i] == key.hash && line.values[i] != 0) << i;
    }
    for (; candidates != 0; candidates &= candidates - 1) {
      const auto slot = static_cast<uint32_t>(std::countr_zero(candidates));
      if (equal(record_of(line.values[slot]), key)) return slot;
    }
    return Line::kSlots;
  }
  static Tid find(const Line& line, const Key& key) {
    const uint32_t slot = slot_of(line, key);
    return slot < Line::kSlots ? record_of(line.values[slot])->tid : kNoTid;
  }
  static void set_tid(Line* line, uint32_t slot, Tid tid) {
    const_cast<Record*>(record_of(line->values[slot]))->tid = tid;
  }
  bool make_entry(const Key& key, uint64_t hash, Tid tid, Entry* entry) {
    CHECK(key.size <= kMaxIndexKeyBytes);
    auto* record = static_cast<Record*>(records_.take(kRecordHead + key.size));
    if (record == nullptr) return false;
    record->tid = tid;
    record->size = key.size;
    std::memcpy(record->key, key.bytes, key.size);
    *entry = {hash, reinterpret_cast<uint64_t>(record)};
    return true;
  }
  void drop_entry(const Entry& entry) {
    const Record* record = record_of(entry.value);
    records_.give(const_cast<Record*>(record), kRecordHead + record->size);
  }
  size_t bytes() const { return records_.bytes(); }

 private:
  PiecePool records_;
};

}  // namespace scyper::storage
