// What a page cache reads, for whom, and who waits for it.
#include <algorithm>
#include <bit>
#include <cerrno>
#include <utility>

#include "base/check.h"
#include "base/failpoint.h"
#include "storage/tier_file.h"
#include "tier/cache_state.h"

namespace scyper::storage {
namespace {

Failpoint bit_flips("page_cache.bit_flip");

constexpr size_t kReapedMax = 16;

}  // namespace

void PageCache::State::ring_bell() noexcept {
  bell_->bell.fetch_add(1, std::memory_order_seq_cst);
  if (bell_->sleepers.load(std::memory_order_seq_cst) != 0) futex_wake(&bell_->bell, 1);
}

void PageCache::State::answer(const Waiter& waiter, uint32_t frame, Outcome outcome) {
  const Process& process = processes_[waiter.process];
  if (!process.is_used || process.birth != waiter.birth) return;  // it is gone
  Reader& reader = slots_[waiter.process].all[waiter.reader];
  // on its behalf: so that the page cannot go before it looks
  if (frame != kNoFrame) reader.pins[waiter.pin].store(frame + 1, std::memory_order_seq_cst);
  Wish& wish = reader.demand;
  wish.frame = frame;
  wish.error = outcome.error;
  wish.detail = outcome.detail;
  wish.state.store(kDone, std::memory_order_release);
  futex_wake(&wish.state, 1);
}

// The waiter's page: answered, or on its way, or parked until a frame or a read is free.
void PageCache::State::demand(const Waiter& waiter, uint32_t pages) {
  OpenFile* file = file_at(file_of(waiter.page));
  if (file == nullptr || number_of(waiter.page) >= file->checksums.size()) {
    answer(waiter, kNoFrame, {PageError::kNoSuchPage, 0});
    return;
  }
  const uint32_t frame = find(waiter.page, frame_count_);
  if (frame != kNoFrame) {
    answer(waiter, frame, {PageError::kNone, 0});
    return;
  }
  const auto loading = loading_.find(waiter.page);
  if (loading != loading_.end()) {
    reads_[loading->second].waiters.push_back(waiter);
    return;
  }
  uint64_t left = ahead_pages_max();
  if (start_reads(file, waiter.page, pages, &left, &waiter)) return;
  if (under_way_ == 0) {
    answer(waiter, kNoFrame, {PageError::kNoFrame, 0});
  } else {
    parked_.push_back({waiter, pages});
  }
}

// All together up to the most that is read ahead.
void PageCache::State::read_ahead(std::span<const PageRange> ranges) {
  uint64_t left = ahead_pages_max();
  uint64_t looked_at = kSpanMax * left;  // a child may ask for anything
  for (const PageRange& range : ranges) {
    OpenFile* file = file_at(file_of(range.first));
    if (file == nullptr || number_of(range.first) >= file->checksums.size()) continue;
    const uint64_t pages = std::min(range.pages, looked_at);
    looked_at -= pages;
    start_reads(file, range.first, pages, &left, nullptr);
  }
}

// Those of the pages that are missing, in pieces, up to *left, which becomes less. True: with a waiter, its page (the
// first) is on its way.
bool PageCache::State::start_reads(OpenFile* file, uint64_t id, uint64_t pages, uint64_t* left, const Waiter* waiter) {
  const uint64_t end = id + std::min(std::min(pages, kSpanMax * *left), file->checksums.size() - number_of(id));
  uint64_t at = id;
  while (at < end && *left > 0) {
    if (loading_.contains(at) || find(at, frame_count_) != kNoFrame) {
      ++at;
      continue;
    }
    if (free_reads_.empty()) break;
    const uint32_t read = free_reads_.back();
    const uint64_t next = start_read(file, at, std::min(end, at + *left));
    if (next == at) break;
    if (at == id && waiter != nullptr) reads_[read].waiters.push_back(*waiter);
    counts_.read_ahead_pages += next - at - (at == id && waiter != nullptr ? 1 : 0);
    *left -= next - at;
    at = next;
  }
  return at > id;
}

// One read of missing pages in a row; returns the page behind it, `id` when there is no frame.
uint64_t PageCache::State::start_read(OpenFile* file, uint64_t id, uint64_t end) {
  const uint32_t number = free_reads_.back();
  Read& read = reads_[number];
  read.file = file;
  read.first = id;
  read.frames.clear();
  read.parts.clear();
  uint64_t at = id;
  const uint64_t pages_max = std::max<uint64_t>(1, kReadBytesMax / options_.page_bytes);
  while (at < end && at - id < pages_max && !loading_.contains(at) && find(at, frame_count_) == kNoFrame) {
    const uint32_t frame = take_frame();
    if (frame == kNoFrame) break;
    states_[frame].page = at;
    loading_.emplace(at, number);
    read.frames.push_back(frame);
    char* memory = pages_->write() + frame * options_.page_bytes;
    if (!read.parts.empty() && static_cast<char*>(read.parts.back().iov_base) + read.parts.back().iov_len == memory) {
      read.parts.back().iov_len += options_.page_bytes;
    } else {
      read.parts.push_back({memory, options_.page_bytes});
    }
    ++at;
  }
  if (at == id) return id;
  free_reads_.pop_back();
  ++file->reads;
  ++under_way_;
  add_read(number);
  return at;
}

// Begins with the next ReadRing::submit(), which whoever holds the lock calls before it gives it back.
void PageCache::State::add_read(uint32_t number) {
  Read& read = reads_[number];
  read.is_to_repeat = false;
  ++counts_.reads;
  ring_->add(number, read.file->descriptor, number_of(read.first) * options_.page_bytes, read.parts.data(),
             read.parts.size());
}

// What has come of a read: by page, whether it is whole and right.
void PageCache::State::judge(uint32_t number, int32_t result) {
  Read& read = reads_[number];
  const size_t page_bytes = options_.page_bytes;
  read.is_to_repeat = result == -EINTR || result == -EAGAIN;
  read.outcomes.assign(read.frames.size(), {PageError::kNone, 0});
  if (read.is_to_repeat) return;
  if (bit_flips.fires()) pages_->write()[read.frames[0] * page_bytes + number_of(read.first) % page_bytes] ^= 0x10;
  for (size_t i = 0; i < read.frames.size(); ++i) {
    const uint64_t page = number_of(read.first) + i;
    if (result < 0) {
      read.outcomes[i] = {PageError::kReadError, -result};
    } else if (static_cast<size_t>(result) < (i + 1) * page_bytes) {
      const size_t got = std::max<size_t>(static_cast<size_t>(result), i * page_bytes) - i * page_bytes;
      read.outcomes[i] = {PageError::kShortRead, static_cast<int32_t>(got)};
    } else if (page_checksum(page_at(read.frames[i]), page_bytes, read.file->stamp, page) !=
               read.file->checksums[page]) {
      read.outcomes[i] = {PageError::kChecksum, 0};
    }
  }
}

// A page of a read that has ended; its waiters are answered, or stay to ask for it alone: what one page of several
// lacks is not the others' business.
void PageCache::State::finish_page(const Read& read, size_t page, std::vector<Waiter>* waiters) {
  const uint64_t id = read.first + page;
  const uint32_t frame = read.frames[page];
  const Outcome outcome = read.outcomes[page];
  const auto is_waiter = [&](const Waiter& waiter) { return waiter.page == id; };
  loading_.erase(id);
  if (outcome.error == PageError::kNone) {
    ++counts_.pages_read;
    publish(read.file, id, frame, std::none_of(waiters->begin(), waiters->end(), is_waiter));
  } else {
    counts_.read_errors += outcome.error == PageError::kReadError ? 1 : 0;
    counts_.short_reads += outcome.error == PageError::kShortRead ? 1 : 0;
    counts_.checksum_errors += outcome.error == PageError::kChecksum ? 1 : 0;
    states_[frame] = {};
    free_.push_back(frame);
    if (read.frames.size() > 1) return;
  }
  for (const Waiter& waiter : *waiters) {
    if (is_waiter(waiter)) answer(waiter, outcome.error == PageError::kNone ? frame : kNoFrame, outcome);
  }
  std::erase_if(*waiters, is_waiter);
}

void PageCache::State::finish(uint32_t number) {
  Read& read = reads_[number];
  if (read.is_to_repeat) {
    add_read(number);
    return;
  }
  std::vector<Waiter> waiters = std::exchange(read.waiters, {});
  for (size_t i = 0; i < read.frames.size(); ++i) finish_page(read, i, &waiters);
  --read.file->reads;
  --under_way_;
  free_reads_.push_back(number);
  for (const Waiter& waiter : waiters) demand(waiter, 1);
}

void PageCache::State::retry_parked() {
  // those that are parked again come behind
  for (size_t count = parked_.size(); count > 0; --count) {
    const Parked parked = parked_.front();
    parked_.pop_front();
    demand(parked.waiter, parked.pages);
  }
}

// Waits until something has been read, if nobody else does. False: somebody does, or nothing is under way.
bool PageCache::State::reap() {
  {
    MutexLock lock(&mutex_);
    if (is_reaping_ || under_way_ == 0) return false;
    is_reaping_ = true;
  }
  ReadCompletion completions[kReapedMax];
  const size_t count = ring_->wait(completions, kReapedMax);
  {
    MutexLock lock(&mutex_);
  }  // who has submitted them has left them
  for (size_t i = 0; i < count; ++i) judge(completions[i].tag, completions[i].result);
  MutexLock lock(&mutex_);
  for (size_t i = 0; i < count; ++i) finish(completions[i].tag);
  if (!parked_.empty()) retry_parked();
  ring_->submit();
  close_retired();
  is_reaping_ = false;
  return true;
}

// Somebody who waited for the disk has what it wanted.
void PageCache::State::hand_over() {
  bool is_needed;
  {
    MutexLock lock(&mutex_);
    const auto is_wanted = [](const Read& read) { return !read.waiters.empty(); };
    is_needed =
        under_way_ > 0 && !is_reaping_ && (!parked_.empty() || std::any_of(reads_.begin(), reads_.end(), is_wanted));
  }
  if (is_needed) ring_bell();
}

void PageCache::State::fault(uint32_t number) noexcept {
  Wish& wish = own_slot().all[number].demand;
  {
    MutexLock lock(&mutex_);
    ++counts_.faults;
    demand({process_, number, processes_[process_].birth, wish.page, wish.pin}, wish.pages);
    ring_->submit();
  }
  while (wish.state.load(std::memory_order_acquire) != kDone) {
    if (!reap()) futex_wait(&wish.state, kTaken);
  }
  hand_over();
}

void PageCache::State::ask_ahead(std::span<const PageRange> ranges) noexcept {
  MutexLock lock(&mutex_);
  read_ahead(ranges);
  ring_->submit();
}

// True: there were some.
bool PageCache::State::take_wishes() {
  bool is_any = false;
  MutexLock lock(&mutex_);
  for (uint32_t i = 0; i < processes_.size(); ++i) {
    if (!processes_[i].is_used) continue;
    uint64_t posted = slots_[i].posted.exchange(0, std::memory_order_acquire);
    for (; posted != 0; posted &= posted - 1) {
      const auto number = static_cast<uint32_t>(std::countr_zero(posted));
      Reader& reader = slots_[i].all[number];
      uint32_t expected = kPosted;
      if (reader.ahead.state.compare_exchange_strong(expected, kTaken, std::memory_order_acquire)) {
        const auto ranges = reader.ahead.ranges;
        const size_t count = std::min<size_t>(reader.ahead.count, ranges.size());
        reader.ahead.state.store(kIdle, std::memory_order_release);
        read_ahead(std::span(ranges).first(count));
        is_any = true;
      }
      expected = kPosted;
      if (reader.demand.state.compare_exchange_strong(expected, kTaken, std::memory_order_acquire)) {
        ++counts_.faults;
        const uint32_t pin = reader.demand.pin % PageReader::kPins;
        demand({i, number, processes_[i].birth, reader.demand.page, pin}, reader.demand.pages);
        is_any = true;
      }
    }
  }
  ring_->submit();
  return is_any;
}

// A service thread: one waits for the disk while another listens to the bell.
void PageCache::State::serve() {
  while (!stops_.load()) {
    const uint32_t bell = bell_->bell.load(std::memory_order_seq_cst);
    const bool was_wanted = take_wishes();
    if (reap() || was_wanted) continue;
    bell_->sleepers.fetch_add(1, std::memory_order_seq_cst);
    if (!stops_.load()) futex_wait(&bell_->bell, bell);
    bell_->sleepers.fetch_sub(1, std::memory_order_seq_cst);
  }
}

}  // namespace scyper::storage
