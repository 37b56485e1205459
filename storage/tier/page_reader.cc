#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/check.h"
#include "storage/page_cache.h"
#include "tier/cache_layout.h"
#include "tier/cache_state.h"

namespace scyper::storage {
namespace {

// A longer way is one that has left its chain: chains have one frame on average.
constexpr uint32_t kChainMax = 64;
// Pieces of what is read ahead: the reader asks for more whenever it has passed one. Twice as many as a window has.
constexpr uint32_t kBatchesMax = 16;

Status describe(const TierFile& file, uint64_t page, PageError error, int32_t detail) {
  const std::string place = absl::StrCat(file.path(), ": page ", page, ": ");
  switch (error) {
    case PageError::kNone:
      break;
    case PageError::kNoSuchPage:
      return sql_error("XX001", absl::StrCat(place, "the file has no such page, or is no longer open"));
    case PageError::kNoFrame:
      return sql_error("53200", absl::StrCat(place, "all pages of the page cache are in use"));
    case PageError::kReadError: {
      char text[128];
      return sql_error("XX001",
                       absl::StrCat(place, "the disk cannot read it: ", ::strerror_r(detail, text, sizeof text)));
    }
    case PageError::kShortRead:
      return sql_error("XX001", absl::StrCat(place, "only ", detail, " bytes of it could be read"));
    case PageError::kChecksum:
      return sql_error("XX001", absl::StrCat(place, "its checksum does not match"));
  }
  return sql_error("XX001", absl::StrCat(place, "cannot be read"));
}

}  // namespace

class PageReader::Way {
 public:
  static inline constinit thread_local Uses uses;

  explicit Way(PageCache::State* cache) : cache_(cache) {}
  ~Way() {
    if (number_ == kReadersMax) return;
    for (std::atomic<uint32_t>& pin : reader().pins) pin.store(0, std::memory_order_release);
    slot().readers.fetch_and(~(uint64_t{1} << number_));
  }

  bool claim() {
    uint64_t used = slot().readers.load();
    do {
      if (~used == 0) return false;
      number_ = static_cast<uint32_t>(std::countr_one(used));
    } while (!slot().readers.compare_exchange_weak(used, used | uint64_t{1} << number_));
    return true;
  }

  const char* find(const TierFile& file, uint64_t page, uint32_t pin) noexcept {
    unpin(pin);
    if (page >= file.pages()) return nullptr;
    const uint64_t id = page_id(file.number(), page);
    const uint32_t frame = find_and_pin(id, pin);
    if (frame == kNoFrame) return nullptr;
    if (id != last_ + 1 && id != last_) forget_way();
    note_hit();
    last_ = id;
    cache_->note_use(frame);
    return cache_->page_at(frame);
  }

  // pages: from this one on that the reader is known to want.
  StatusOr<const char*> pin(const TierFile& file, uint64_t page, uint32_t pin, uint64_t pages = 1) noexcept {
    unpin(pin);
    if (page >= file.pages()) return describe(file, page, PageError::kNoSuchPage, 0);
    const uint64_t id = page_id(file.number(), page);
    uint32_t frame = find_and_pin(id, pin);
    const bool is_hit = frame != kNoFrame;
    const bool is_next = id == last_ + 1;
    if (!is_next && id != last_) forget_way();
    is_hit ? note_hit() : static_cast<void>(++uses.pages);
    // before the wait for a page that was asked for, so that the disk has enough to do meanwhile
    if (is_next && id >= trigger_ && (is_hit || id < ahead_end_)) go_ahead(file, id);
    if (!is_hit) {
      SCYPER_ASSIGN_OR_RETURN(frame, read_missing(file, page, pin, pages));
    }
    last_ = id;
    cache_->note_use(frame);
    return cache_->page_at(frame);
  }

  size_t ask(std::span<const Range> ranges) noexcept {
    if (reader().ahead.state.load(std::memory_order_acquire) != kIdle) return 0;
    std::array<PageRange, kRangesMax> missing;
    size_t count = 0;
    size_t taken = 0;
    uint64_t pages = 0;
    for (; taken < std::min(ranges.size(), kRangesMax); ++taken) {
      const Range& range = ranges[taken];
      if (range.first >= range.file->pages()) continue;
      const uint64_t first = page_id(range.file->number(), range.first);
      const uint64_t wanted = std::min(range.pages, range.file->pages() - range.first);
      const uint64_t lacks = count_missing(first, first + wanted);
      if (lacks == 0) continue;
      const uint64_t room = cache_->options().read_ahead_pages_max - pages;
      if (room == 0) break;
      missing[count++] = {first, lacks > room ? room : wanted};
      pages += std::min(lacks, room);
      if (lacks > room) break;
    }
    if (pages > 0) post_ahead(std::span(missing).first(count), pages);
    return taken;
  }

  void unpin(uint32_t pin) noexcept {
    CHECK(pin < kPins);
    reader().pins[pin].store(0, std::memory_order_release);
  }

  size_t page_bytes() const { return cache_->options().page_bytes; }

 private:
  ProcessSlot& slot() noexcept { return cache_->own_slot(); }
  Reader& reader() noexcept { return slot().all[number_]; }

  uint32_t find_and_pin(uint64_t id, uint32_t pin) noexcept {
    const uint32_t frame = cache_->find(id, kChainMax);
    if (frame == kNoFrame) return kNoFrame;
    reader().pins[pin].store(frame + 1, std::memory_order_seq_cst);
    if (cache_->has_name(frame, id)) return frame;
    reader().pins[pin].store(0, std::memory_order_release);
    return kNoFrame;
  }

  void note_hit() noexcept {
    ++uses.pages;
    reader().hits.store(reader().hits.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
  }

  void forget_way() noexcept {
    window_ = cache_->options().read_ahead_pages_min;
    trigger_ = kNoPage;
    ahead_end_ = 0;
    batch_count_ = 0;
  }
  // A window and the next are under way.
  uint32_t window_max() const noexcept { return 2 * cache_->options().read_ahead_pages_max; }
  void widen() noexcept { window_ = std::min(2 * window_, window_max()); }

  uint64_t batch_pages() const noexcept {
    const uint64_t of_read = kReadBytesMax / page_bytes();
    return std::max<uint64_t>({1, std::min<uint64_t>(of_read, window_ / 2), 2 * window_max() / kBatchesMax});
  }

  // Waits for a page: one on its way, or with it as many as the window has.
  StatusOr<uint32_t> read_missing(const TierFile& file, uint64_t page, uint32_t pin, uint64_t pages) noexcept {
    const uint64_t id = page_id(file.number(), page);
    ++uses.waits;
    if (id < ahead_end_) {
      return demand(file, page, pin, static_cast<uint32_t>(std::min(ahead_end_ - id, batch_pages())));
    }
    if (id == last_ + 1) widen();
    const auto asked = static_cast<uint32_t>(std::clamp<uint64_t>(pages, window_, window_max()));
    const uint64_t end = std::min(id + asked, page_id(file.number(), file.pages()));
    const uint64_t missing = count_missing(id, end);
    if (!was_asked(id)) uses.read += missing;
    SCYPER_ASSIGN_OR_RETURN(const uint32_t frame, demand(file, page, pin, asked));
    batches_[0] = {end, missing};
    batch_count_ = 1;
    ahead_end_ = end;
    trigger_ = id + 1;
    return frame;
  }

  StatusOr<uint32_t> demand(const TierFile& file, uint64_t page, uint32_t pin, uint32_t pages) noexcept {
    Wish& wish = reader().demand;
    wish.page = page_id(file.number(), page);
    wish.pages = pages;
    wish.pin = pin;
    if (cache_->is_child()) {
      wish.state.store(kPosted, std::memory_order_release);
      slot().posted.fetch_or(uint64_t{1} << number_, std::memory_order_seq_cst);
      cache_->ring_bell();
      for (uint32_t state; (state = wish.state.load(std::memory_order_acquire)) != kDone;) {
        futex_wait(&wish.state, state);
      }
    } else {
      wish.state.store(kTaken, std::memory_order_release);
      cache_->fault(number_);
    }
    wish.state.store(kIdle, std::memory_order_release);
    if (wish.error != PageError::kNone) return describe(file, page, wish.error, wish.detail);
    return wish.frame;
  }

  uint64_t count_missing(uint64_t begin, uint64_t end) noexcept {
    uint64_t missing = 0;
    for (; begin < end; ++begin) missing += cache_->find(begin, kChainMax) == kNoFrame ? 1 : 0;
    return missing;
  }

  // Asks for what the window lacks: as many pages that are missing as it has are to lie before the reader; between
  // those that are there, too, the disk has enough to do. Batches that the reader has passed count no more.
  void go_ahead(const TierFile& file, uint64_t id) noexcept {
    const uint64_t file_end = page_id(file.number(), file.pages());
    if (ahead_end_ >= file_end || reader().ahead.state.load(std::memory_order_acquire) != kIdle) return;
    widen();
    uint32_t passed = 0;
    while (passed < batch_count_ && batches_[passed].end <= id) ++passed;
    batch_count_ -= passed;
    std::copy_n(batches_.begin() + passed, batch_count_, batches_.begin());
    uint64_t ahead = 0;
    for (uint32_t i = 0; i < batch_count_; ++i) ahead += batches_[i].missing;
    const uint64_t before = ahead;
    const uint64_t begin = std::max(ahead_end_, id);
    const uint64_t end_max = std::min(begin + kSpanMax * window_max(), file_end);
    for (ahead_end_ = begin; ahead_end_ < end_max && ahead < window_ && batch_count_ < kBatchesMax;) {
      const uint64_t wanted = std::min<uint64_t>(window_ - ahead, batch_pages());
      uint64_t missing = 0;
      for (; ahead_end_ < end_max && missing < wanted; ++ahead_end_) {
        missing += cache_->find(ahead_end_, kChainMax) == kNoFrame ? 1 : 0;
      }
      batches_[batch_count_++] = {ahead_end_, missing};
      ahead += missing;
    }
    trigger_ = batch_count_ == 0 ? begin : batches_[0].end;
    const PageRange range{begin, ahead_end_ - begin};
    if (ahead != before) post_ahead({&range, 1}, ahead - before);
  }

  // missing: how many of the pages are. The wish is idle.
  void post_ahead(std::span<const PageRange> ranges, uint64_t missing) noexcept {
    uses.read += missing;
    std::copy(ranges.begin(), ranges.end(), asked_.begin());
    asked_count_ = ranges.size();
    if (!cache_->is_child()) {
      cache_->ask_ahead(ranges);
      return;
    }
    AheadWish& wish = reader().ahead;
    std::copy(ranges.begin(), ranges.end(), wish.ranges.begin());
    wish.count = static_cast<uint32_t>(ranges.size());
    wish.state.store(kPosted, std::memory_order_release);
    slot().posted.fetch_or(uint64_t{1} << number_, std::memory_order_seq_cst);
    cache_->ring_bell();
  }

  // Of what was asked for last: so that no page is counted twice.
  bool was_asked(uint64_t id) const noexcept {
    const auto* end = asked_.begin() + asked_count_;
    return std::any_of(asked_.begin(), end, [&](const PageRange& range) { return id - range.first < range.pages; });
  }

  // What was asked for behind the batch before, up to `end`.
  struct Batch {
    uint64_t end;
    uint64_t missing;  // pages when it was asked for
  };

  PageCache::State* const cache_;
  uint32_t number_ = kReadersMax;
  uint64_t last_ = kNoPage - 1;
  uint32_t window_ = 1;
  // While pages follow each other and one was missing: what was asked for, where that ends, and the page (else kNoPage)
  // that it is time at to ask for more.
  std::array<Batch, kBatchesMax> batches_;
  uint32_t batch_count_ = 0;
  uint64_t ahead_end_ = 0;
  uint64_t trigger_ = kNoPage;
  std::array<PageRange, kRangesMax> asked_;
  size_t asked_count_ = 0;
};

PageReader::Uses PageReader::uses_of_thread() noexcept { return Way::uses; }

PageReader::PageReader(std::unique_ptr<Way> way) : way_(std::move(way)) {}
PageReader::~PageReader() = default;

StatusOr<std::unique_ptr<PageReader>> PageReader::create(PageCache* cache) {
  auto way = std::make_unique<Way>(cache->state_.get());
  if (!way->claim()) {
    return sql_error("53400", absl::StrCat("a process has ", kReadersMax, " readers of a page cache at most"));
  }
  return std::unique_ptr<PageReader>(new PageReader(std::move(way)));
}

StatusOr<const char*> PageReader::pin(const TierFile& file, uint64_t page, uint32_t pin) noexcept {
  return way_->pin(file, page, pin);
}
const char* PageReader::find(const TierFile& file, uint64_t page, uint32_t pin) noexcept {
  return way_->find(file, page, pin);
}
void PageReader::unpin(uint32_t pin) noexcept { way_->unpin(pin); }
size_t PageReader::ask(std::span<const Range> ranges) noexcept { return way_->ask(ranges); }

Status PageReader::read(const TierFile& file, uint64_t offset, size_t bytes, char* out) noexcept {
  const size_t page_bytes = way_->page_bytes();
  const uint64_t end_page = bytes == 0 ? 0 : (offset + bytes - 1) / page_bytes + 1;
  while (bytes > 0) {
    const uint64_t number = offset / page_bytes;
    SCYPER_ASSIGN_OR_RETURN(const char* page, way_->pin(file, number, 0, end_page - number));
    const size_t begin = offset % page_bytes;
    const size_t piece = std::min(bytes, page_bytes - begin);
    std::memcpy(out, page + begin, piece);
    offset += piece;
    out += piece;
    bytes -= piece;
  }
  unpin();
  return Status();
}

}  // namespace scyper::storage
