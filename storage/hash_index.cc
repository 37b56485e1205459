#include "storage/index.h"

#include "hash_table.h"

namespace scyper::storage {

uint64_t hash_bytes(const char* bytes, uint32_t size) noexcept {
  uint64_t hash = kHashSeed2 ^ size;
  while (size > 16) {
    hash = fold(load64_by_halves(bytes) ^ kHashSeed0 ^ hash, load64_by_halves(bytes + 8) ^ kHashSeed1);
    bytes += 16;
    size -= 16;
  }
  if (size > 8) return hash_pair(load64_by_halves(bytes) ^ hash, load64_by_halves(bytes + size - 8));
  if (size > 0) return hash_pair(hash, load_word(bytes, size));
  return hash_word(hash);
}

namespace {
using WordTable = HashTable<WordForm>;
using PairTable = HashTable<PairForm>;
using ApartTable = HashTable<ApartForm>;

template <typename Table>
std::unique_ptr<HashIndex> make_table(Arena* arena, uint32_t key_bytes) {
  auto table = std::make_unique<Table>(arena, key_bytes);
  if (!table->start()) return nullptr;
  return table;
}
}  // namespace

std::unique_ptr<HashIndex> HashIndex::create(Arena* arena, uint32_t key_bytes) {
  CHECK(key_bytes <= kMaxIndexKeyBytes);
  if (key_bytes == 0 || key_bytes > 16) return make_table<ApartTable>(arena, key_bytes);
  if (key_bytes > 8) return make_table<PairTable>(arena, key_bytes);
  return make_table<WordTable>(arena, key_bytes);
}

namespace {
template <typename Table>
Tid find_in(const Table* table, const char* key, uint32_t size) noexcept {
  return table->find_key(table->load(key, size));
}
template <typename Table>
IndexResult insert_in(Table* table, const char* key, uint32_t size, Tid tid) noexcept {
  return table->insert_key(table->load(key, size), tid);
}
template <typename Table>
void prefetch_in(const Table* table, const char* key, uint32_t size) noexcept {
  table->prefetch_key(table->load(key, size));
}
}  // namespace

Tid HashIndex::find(const char* key, uint32_t size) const noexcept {
  DCHECK(key_bytes_ == 0 || size == key_bytes_);
  if (kind_ == Kind::kWord) return find_in(static_cast<const WordTable*>(this), key, size);
  if (kind_ == Kind::kPair) return find_in(static_cast<const PairTable*>(this), key, size);
  return find_in(static_cast<const ApartTable*>(this), key, size);
}

Tid HashIndex::find_words(uint64_t first, uint64_t second) const noexcept {
  DCHECK(kind_ != Kind::kApart);
  if (kind_ == Kind::kWord) return static_cast<const WordTable*>(this)->find_key(WordForm::of_words(first, second));
  return static_cast<const PairTable*>(this)->find_key(PairForm::of_words(first, second));
}

IndexResult HashIndex::insert_words(uint64_t first, uint64_t second, Tid tid) noexcept {
  DCHECK(kind_ != Kind::kApart);
  if (kind_ == Kind::kWord) return static_cast<WordTable*>(this)->insert_key(WordForm::of_words(first, second), tid);
  return static_cast<PairTable*>(this)->insert_key(PairForm::of_words(first, second), tid);
}

void HashIndex::prefetch_words(uint64_t first, uint64_t second) const noexcept {
  DCHECK(kind_ != Kind::kApart);
  if (kind_ == Kind::kWord) return static_cast<const WordTable*>(this)->prefetch_key(WordForm::of_words(first, second));
  return static_cast<const PairTable*>(this)->prefetch_key(PairForm::of_words(first, second));
}

IndexResult HashIndex::insert(const char* key, uint32_t size, Tid tid) noexcept {
  CHECK(key_bytes_ == 0 || size == key_bytes_);
  if (kind_ == Kind::kWord) return insert_in(static_cast<WordTable*>(this), key, size, tid);
  if (kind_ == Kind::kPair) return insert_in(static_cast<PairTable*>(this), key, size, tid);
  return insert_in(static_cast<ApartTable*>(this), key, size, tid);
}

IndexResult HashIndex::erase(const char* key, uint32_t size) noexcept {
  DCHECK(key_bytes_ == 0 || size == key_bytes_);
  if (kind_ == Kind::kWord) return static_cast<WordTable*>(this)->erase_key(key, size);
  if (kind_ == Kind::kPair) return static_cast<PairTable*>(this)->erase_key(key, size);
  return static_cast<ApartTable*>(this)->erase_key(key, size);
}

IndexResult HashIndex::replace(const char* key, uint32_t size, Tid tid) noexcept {
  DCHECK(key_bytes_ == 0 || size == key_bytes_);
  if (kind_ == Kind::kWord) return static_cast<WordTable*>(this)->replace_key(key, size, tid);
  if (kind_ == Kind::kPair) return static_cast<PairTable*>(this)->replace_key(key, size, tid);
  return static_cast<ApartTable*>(this)->replace_key(key, size, tid);
}

void HashIndex::prefetch(const char* key, uint32_t size) const noexcept {
  DCHECK(key_bytes_ == 0 || size == key_bytes_);
  if (kind_ == Kind::kWord) return prefetch_in(static_cast<const WordTable*>(this), key, size);
  if (kind_ == Kind::kPair) return prefetch_in(static_cast<const PairTable*>(this), key, size);
  return prefetch_in(static_cast<const ApartTable*>(this), key, size);
}

}  // namespace scyper::storage
