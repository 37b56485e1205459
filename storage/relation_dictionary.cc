#include "storage/relation_dictionary.h"

#include <algorithm>
#include <cstring>
#include <iterator>

#include "base/check.h"

namespace scyper::storage {

RelationDictionary::~RelationDictionary() {
  MutexLock lock(&mutex_);
  for (uint32_t key = 0; key < used_; ++key) delete[] entry(key).data;
  for (std::atomic<Entry*>& segment : segments_) delete[] segment.load();
}

uint32_t RelationDictionary::acquire(std::string_view value) {
  MutexLock lock(&mutex_);
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
    const uint32_t segment = segment_of(key);
    if (key == first_of(segment)) segments_[segment].store(new Entry[kFirstEntries << segment]);
    ++used_;
  }
  put(key, value);
  return key;
}

void RelationDictionary::put(uint32_t key, std::string_view value) {
  char* bytes = new char[value.size() + 1];  // one more: no empty allocation
  if (!value.empty()) std::memcpy(bytes, value.data(), value.size());
  entry(key) = {bytes, static_cast<uint32_t>(value.size()), 1};
  keys_.emplace(std::string_view(bytes, value.size()), key);
  text_bytes_ += value.size();
}

bool RelationDictionary::restore(uint32_t key, std::string_view value) {
  MutexLock lock(&mutex_);
  if (key >= kMaxKeys || keys_.contains(value)) return false;
  for (; used_ <= key; ++used_) {
    const uint32_t segment = segment_of(used_);
    if (used_ == first_of(segment)) segments_[segment].store(new Entry[kFirstEntries << segment]);
    free_.push_back(used_);
  }
  // the last one, when they come in order
  const auto free = std::find(free_.rbegin(), free_.rend(), key);
  if (free == free_.rend()) return false;
  free_.erase(std::next(free).base());
  put(key, value);
  return true;
}

void RelationDictionary::hold(uint32_t key) {
  MutexLock lock(&mutex_);
  CHECK(key < used_ && entry(key).references > 0);
  ++entry(key).references;
}

void RelationDictionary::release(uint32_t key) {
  MutexLock lock(&mutex_);
  CHECK(key < used_);
  Entry& gone = entry(key);
  CHECK(gone.references > 0);
  if (--gone.references > 0) return;
  keys_.erase(std::string_view(gone.data, gone.size));
  text_bytes_ -= gone.size;
  delete[] gone.data;
  gone = {};
  free_.push_back(key);
}

uint32_t RelationDictionary::find(std::string_view value) const {
  MutexLock lock(&mutex_);
  const auto known = keys_.find(value);
  return known == keys_.end() ? kNoKey : known->second;
}

uint32_t RelationDictionary::values() const {
  MutexLock lock(&mutex_);
  return static_cast<uint32_t>(keys_.size());
}

uint64_t RelationDictionary::memory_bytes() const {
  MutexLock lock(&mutex_);
  const uint64_t entries = used_ == 0 ? 0 : first_of(segment_of(used_ - 1) + 1);
  return sizeof(*this) + entries * sizeof(Entry) + text_bytes_ +
         keys_.capacity() * (sizeof(std::pair<std::string_view, uint32_t>) + 1) + free_.capacity() * sizeof(uint32_t);
}

}  // namespace scyper::storage
