#include "storage/relation_dictionary.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "base/check.h"

namespace scyper::storage {

RelationDictionary::~RelationDictionary() {
  MutexLock lock(&mutex_);
  for (uint32_t key = 0; key < used_; ++key) {
    if (entry(key).is_restored == 0) delete[] entry(key).data;
  }
  for (std::atomic<Entry*>& segment : segments_) delete[] segment.load();
}

uint32_t RelationDictionary::acquire(std::string_view value) {
  MutexLock lock(&mutex_);
  CHECK(!is_restoring_);
  index_restored();
  if (auto known = keys_.find(value); known != keys_.end()) {
    ++entry(known->second).references;
    return known->second;
  }
  uint32_t key = used_;
  if (!free_.empty()) {
    key = free_.back();
    free_.pop_back();
  } else {
    if (key == kMaxKeys) return kNoKey;
    grow(key + 1);
  }
  put(key, value);
  return key;
}

void RelationDictionary::put(uint32_t key, std::string_view value) {
  char* bytes = new char[value.size() + 1];  // one more: no empty allocation
  if (!value.empty()) std::memcpy(bytes, value.data(), value.size());
  Entry& made = entry(key);
  made.data = bytes;
  made.size = static_cast<uint32_t>(value.size());
  made.references = 1;
  keys_.emplace(std::string_view(bytes, value.size()), key);
  text_bytes_ += value.size();
  ++values_;
}

void RelationDictionary::grow(uint32_t used) {
  for (uint32_t segment = used_ == 0 ? 0 : segment_of(used_ - 1); segment <= segment_of(used - 1); ++segment) {
    if (segments_[segment].load() == nullptr) segments_[segment].store(new Entry[kFirstEntries << segment]);
  }
  used_ = used;
}

bool RelationDictionary::restore(std::unique_ptr<char[]> block, size_t block_bytes,
                                 std::span<const RestoredText> texts) {
  MutexLock lock(&mutex_);
  if (texts.empty()) return true;
  uint32_t used = used_;
  for (const RestoredText& text : texts) {
    CHECK(text.begin <= block_bytes && text.size <= block_bytes - text.begin);
    if (text.key >= kMaxKeys) return false;
    used = std::max(used, text.key + 1);
  }
  CHECK(is_restoring_ || used_ == 0);
  is_restoring_ = true;
  is_indexed_ = false;
  keys_.clear();
  free_.clear();
  grow(used);
  for (size_t i = 0; i < texts.size(); ++i) {
    Entry& made = entry(texts[i].key);
    if (made.data != nullptr) {
      while (i-- > 0) entry(texts[i].key) = {};
      return false;
    }
    made.data = block.get() + texts[i].begin;
    made.size = texts[i].size;
    made.is_restored = 1;
  }
  values_ += static_cast<uint32_t>(texts.size());
  restored_ += static_cast<uint32_t>(texts.size());
  block_bytes_ += block_bytes;
  blocks_.push_back(std::move(block));
  return true;
}

void RelationDictionary::end_restore() {
  MutexLock lock(&mutex_);
  is_restoring_ = false;
  for (uint32_t key = 0; key < used_; ++key) {
    if (entry(key).data != nullptr && entry(key).references == 0) drop(key);
  }
}

void RelationDictionary::index_restored() const {
  if (is_indexed_) return;
  is_indexed_ = true;
  keys_.reserve(values_);
  for (uint32_t key = used_; key-- > 0;) {
    const Entry& known = entry(key);
    if (known.data == nullptr) {
      free_.push_back(key);
    } else {
      CHECK(keys_.emplace(std::string_view(known.data, known.size), key).second);
    }
  }
}

bool RelationDictionary::hold(std::span<const uint32_t> keys) {
  MutexLock lock(&mutex_);
  for (const uint32_t key : keys) {
    if (key >= used_ || entry(key).data == nullptr) return false;
  }
  for (const uint32_t key : keys) ++entry(key).references;
  return true;
}

void RelationDictionary::release(uint32_t key) {
  MutexLock lock(&mutex_);
  CHECK(key < used_);
  Entry& gone = entry(key);
  CHECK(gone.references > 0);
  if (--gone.references == 0 && !is_restoring_) drop(key);
}

void RelationDictionary::drop(uint32_t key) {
  Entry& gone = entry(key);
  if (is_indexed_) {
    keys_.erase(std::string_view(gone.data, gone.size));
    free_.push_back(key);
  }
  --values_;
  if (gone.is_restored == 0) {
    text_bytes_ -= gone.size;
    delete[] gone.data;
  } else if (--restored_ == 0) {
    blocks_.clear();
    block_bytes_ = 0;
  }
  gone = {};
}

uint32_t RelationDictionary::find(std::string_view value) const {
  MutexLock lock(&mutex_);
  index_restored();
  const auto known = keys_.find(value);
  return known == keys_.end() ? kNoKey : known->second;
}

uint32_t RelationDictionary::values() const {
  MutexLock lock(&mutex_);
  return values_;
}

uint64_t RelationDictionary::memory_bytes() const {
  MutexLock lock(&mutex_);
  const uint64_t entries = used_ == 0 ? 0 : first_of(segment_of(used_ - 1) + 1);
  return sizeof(*this) + entries * sizeof(Entry) + text_bytes_ + block_bytes_ +
         keys_.capacity() * (sizeof(std::pair<std::string_view, uint32_t>) + 1) + free_.capacity() * sizeof(uint32_t);
}

}  // namespace scyper::storage
