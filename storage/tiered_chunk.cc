#include "storage/tiered_chunk.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <new>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/check.h"
#include "frozen_format.h"
#include "frozen_gather.h"
#include "row_plan.h"
#include "tuple_place.h"

namespace scyper::storage {

namespace {

// Of a section of which it is not known which pages will be read: with more of them, none is asked for.
constexpr uint64_t kSectionPagesMax = 4;

// Longest way that a column of a scan is read ahead; at most doubled with each vector that follows the one before.
constexpr uint64_t kAheadBytesMax = uint64_t{512} << 10;

Status damaged_vector(const TierPlace& place) {
  return sql_error("XX001", absl::StrCat(place.file->path(), ": offset ", place.offset, ": not a frozen vector"));
}

PageReader::Range pages_of(const TierFile& file, uint64_t begin, uint64_t end) {
  const uint64_t first = begin / FrozenTier::kPageBytes;
  return {&file, first, (end - 1) / FrozenTier::kPageBytes + 1 - first};
}

// Pages that will be read one after the other.
class PageRanges {
 public:
  // What has no place is left out.
  void add(const TierFile& file, uint64_t offset, uint64_t bytes) noexcept {
    if (bytes == 0) return;
    const PageReader::Range range = pages_of(file, offset, offset + bytes);
    if (count_ > 0) {
      PageReader::Range& before = ranges_[count_ - 1];
      const uint64_t end = before.first + before.pages;
      if (before.file == &file && range.first >= before.first && range.first <= end) {
        before.pages = std::max(end, range.first + range.pages) - before.first;
        return;
      }
    }
    if (count_ < ranges_.size()) ranges_[count_++] = range;
  }
  std::span<const PageReader::Range> get() const noexcept { return std::span(ranges_).first(count_); }

 private:
  std::array<PageReader::Range, PageReader::kRangesMax> ranges_;
  size_t count_ = 0;
};

}  // namespace

void VectorReader::open(const TablePartition* partition, const FrozenSlot& slot) noexcept {
  FrozenStore* store = partition->table->frozen_store();
  chunk_ = FrozenChunk(slot.image, &store->dictionaries);
  tier_ = store->tier;
  marks_ = slot.marks;
  tiered_ = slot.tiered.get();
  status_ = Status();
  counted_ = 0;
  if (tiered_ == nullptr || tiered_->id == id_) return;
  id_ = tiered_->id;
  brought_.resize(std::max(brought_.size(), tiered_->places.size()));
  for (Brought& brought : brought_) brought.is_there = false;
}

// Once, until another chunk is opened.
uint32_t VectorReader::cost_of_bringing(uint32_t column) noexcept {
  const uint64_t bit = uint64_t{1} << column % 64;
  if ((std::exchange(counted_, counted_ | bit) & bit) != 0) return 0;
  return read_cost(chunk_.header_of(column).bytes);
}

bool VectorReader::bring(std::span<const uint32_t> columns) noexcept {
  if (marks_ == nullptr && tiered_ == nullptr) return true;
  if (tiered_ != nullptr) ask(columns);
  const uint32_t now = tier_->now();
  for (const uint32_t column : columns) {
    if (marks_ != nullptr) mark_use(marks_, now, column, cost_of_bringing(column));
    if (chunk_.has_data(column) || brought_[column].is_there) continue;
    status_.Update(read(column));
    if (!status_.ok()) return false;
    brought_[column].is_there = true;
  }
  return true;
}

// First the vectors themselves, then what follows them: a way that cannot be asked for, as there are too many, does not
// grow.
void VectorReader::ask(std::span<const uint32_t> columns) noexcept {
  struct Asked {
    Brought* way;
    uint64_t ahead_bytes;  // 0: for the vector itself
    uint64_t end;
  };
  std::array<PageReader::Range, PageReader::kRangesMax> ranges;
  std::array<Asked, PageReader::kRangesMax> asked;
  size_t count = 0;
  const auto add = [&](Brought* way, uint64_t begin, uint64_t end, uint64_t ahead_bytes) {
    if (begin >= end || count == ranges.size()) return;
    ranges[count] = pages_of(*way->file, begin, end);
    asked[count++] = {way, ahead_bytes, end};
  };
  const auto for_each_way = [&](auto visit) {
    for (const uint32_t column : columns) {
      if (!chunk_.has_data(column) && !brought_[column].is_there) visit(&brought_[column], tiered_->places[column]);
    }
  };
  for_each_way([&](Brought* way, const TierPlace& place) {
    way->is_next =
        way->file == place.file.get() && place.offset >= way->end && place.offset - way->end < FrozenTier::kPageBytes;
    if (!way->is_next) way->ahead_bytes = way->asked_end = 0;
    way->file = place.file.get();
    way->end = place.offset + place.bytes;
    add(way, std::max(place.offset, way->asked_end), way->end, 0);
  });
  for_each_way([&](Brought* way, const TierPlace& place) {
    if (!way->is_next || way->asked_end >= way->end + way->ahead_bytes / 2) return;
    const uint64_t ahead = std::min(std::max<uint64_t>(2 * way->ahead_bytes, place.bytes), kAheadBytesMax);
    add(way, std::max(way->end, way->asked_end), way->end + ahead, ahead);
  });
  if (count == 0) return;
  const size_t taken = tier_->ask(std::span(ranges).first(count));
  for (const Asked& one : std::span(asked).first(taken)) {
    one.way->asked_end = one.end;
    if (one.ahead_bytes != 0) one.way->ahead_bytes = one.ahead_bytes;
  }
}

Status VectorReader::read(uint32_t column) noexcept {
  const TierPlace& place = tiered_->places[column];
  Brought& brought = brought_[column];
  if (brought.capacity < place.bytes) {
    brought.bytes.reset(new (std::nothrow) char[place.bytes]);
    brought.capacity = brought.bytes == nullptr ? 0 : place.bytes;
    if (brought.bytes == nullptr) return sql_error("53200", "out of memory");
  }
  SCYPER_RETURN_IF_ERROR(tier_->read(*place.file, place.offset, place.bytes, brought.bytes.get()));
  const auto& head = *reinterpret_cast<const FrozenHeader*>(brought.bytes.get());
  return head.bytes == place.bytes ? Status() : damaged_vector(place);
}

bool VectorReader::can_skip(uint32_t column, const FrozenPredicate& predicate) noexcept {
  const FrozenVector head = chunk_.head(column);
  const bool is_value =
      predicate.kind == FrozenPredicate::Kind::kRange || predicate.kind == FrozenPredicate::Kind::kPrefix;
  const bool needs_data = is_value && holds_text(head.header().kind) && head.header().has_shared_text == 0;
  if (chunk_.has_data(column) || !needs_data) return head.can_skip(predicate);
  return bring(column) && this->column(column).can_skip(predicate);
}

// Reads for the values of one row.
class RowReads {
 public:
  RowReads(FrozenTier* tier, const FrozenSlot& slot, const FrozenChunk& chunk, uint32_t offset,
           std::span<const uint32_t> columns)
      : tier_(tier), slot_(slot), chunk_(chunk), offset_(offset), columns_(columns), cached_(tier) {}

  Status read(const TierFile& file, uint64_t offset, uint64_t bytes, char* out) noexcept {
    if (cached_.read(file, offset, bytes, out)) return Status();
    cached_.end();
    if (!std::exchange(has_asked_, true)) ask();
    return tier_->read(file, offset, bytes, out);
  }

 private:
  void ask() noexcept;

  FrozenTier* const tier_;
  const FrozenSlot& slot_;
  const FrozenChunk& chunk_;
  const uint32_t offset_;
  const std::span<const uint32_t> columns_;
  FrozenTier::CachedReads cached_;
  bool has_asked_ = false;
};

// Brings what one value of a vector needs to where it would be in the vector's whole image; the rest of that memory has
// anything. Of a NULL: only that it is one.
class ValueFetch {
 public:
  ValueFetch(RowReads* reads, const TierPlace& place, char* image) : reads_(reads), place_(place), image_(image) {}

  // The pages that it will read, as far as the head tells.
  static void add_pages(const FrozenHeader& header, const TierPlace& place, uint32_t position, PageRanges* ranges) {
    const auto add = [&](uint64_t at, uint64_t bytes) { ranges->add(*place.file, place.offset + at, bytes); };
    if (header.null_form == NullForm::kBits) add(header.nulls_at + position / 64 * 8, 8);
    if (header.null_form == NullForm::kRanges) add(header.nulls_at, header.null_ranges * 2 * sizeof(uint16_t));
    if (header.null_form == NullForm::kAll) return;
    if (header.has_runs != 0) {
      add(header.run_ends_at, header.entries * sizeof(uint16_t));
    } else if (has_codes(header)) {
      add(header.codes_at + uint64_t{position} * header.code_bits / 8, 8);
    } else if (header.scheme == FrozenScheme::kPlain) {
      add(place.values_at + position * value_bytes(header), value_bytes(header));
    }
  }
  // And those of which it will read some: all, where they are few. Rows that are read together, as lines of an order,
  // read several of them, and each alone would be waited for.
  static void add_likely_pages(const FrozenHeader& header, const TierPlace& place, PageRanges* ranges) {
    const auto add = [&](uint64_t at, uint64_t bytes) {
      if (bytes <= kSectionPagesMax * FrozenTier::kPageBytes) ranges->add(*place.file, place.offset + at, bytes);
    };
    if (header.null_form == NullForm::kAll) return;
    if (header.has_runs != 0 && has_codes(header)) {
      add(header.codes_at, packed_bytes(header.entries, header.code_bits));
    }
    if (header.scheme != FrozenScheme::kDictionary || header.has_shared_text != 0) return;
    // texts lie behind their borders, to the end
    add(place.values_at, holds_text(header.kind) ? place.bytes - place.values_at : header.values * value_bytes(header));
  }

  Status fetch(const FrozenVector& head, const RelationDictionary* dictionary, uint32_t position, bool* is_null) {
    FrozenHeader header = head.header();
    header.values_at = place_.values_at;
    std::memcpy(image_, &header, sizeof(header));
    const FrozenVector vector(image_, dictionary);
    if (header.null_form == NullForm::kBits) {
      SCYPER_RETURN_IF_ERROR(read(header.nulls_at + position / 64 * 8, 8));
    } else if (header.null_form == NullForm::kRanges) {
      SCYPER_RETURN_IF_ERROR(read(header.nulls_at, header.null_ranges * 2 * sizeof(uint16_t)));
    }
    *is_null = vector.is_null(position);
    if (*is_null) return Status();
    if (header.has_runs != 0) SCYPER_RETURN_IF_ERROR(read(header.run_ends_at, header.entries * sizeof(uint16_t)));
    const uint32_t entry = vector.entry_of(position);
    if (has_codes(header)) {
      SCYPER_RETURN_IF_ERROR(read(header.codes_at + uint64_t{entry} * header.code_bits / 8, 8));
    }
    const uint32_t value = vector.value_of(entry);
    if (holds_text(header.kind)) return fetch_text(header, head, value);
    const bool has_cell = header.scheme == FrozenScheme::kPlain || header.scheme == FrozenScheme::kDictionary;
    return has_cell ? read(header.values_at + uint64_t{value} * header.cell_bytes, header.cell_bytes) : Status();
  }

 private:
  Status fetch_text(const FrozenHeader& header, const FrozenVector& head, uint32_t value) {
    const uint64_t number = header.values_at + uint64_t{value} * sizeof(uint32_t);
    if (value >= header.values || number + sizeof(uint32_t) > place_.bytes) return damaged_vector(place_);
    if (header.has_shared_text != 0) {  // the head has the keys
      std::memcpy(image_ + number, head.at(head.header().values_at) + uint64_t{value} * sizeof(uint32_t),
                  sizeof(uint32_t));
      return Status();
    }
    SCYPER_RETURN_IF_ERROR(read(number, 2 * sizeof(uint32_t)));
    uint32_t borders[2];
    std::memcpy(borders, image_ + number, sizeof(borders));
    if (borders[1] < borders[0]) return damaged_vector(place_);
    const uint64_t bytes_at = header.values_at + (uint64_t{header.values} + 1) * sizeof(uint32_t);
    return read(bytes_at + borders[0], borders[1] - borders[0]);
  }

  Status read(uint64_t at, uint64_t bytes) {
    if (at + bytes > place_.bytes) return damaged_vector(place_);
    return reads_->read(*place_.file, place_.offset + at, bytes, image_ + at);
  }

  RowReads* const reads_;
  const TierPlace& place_;
  char* const image_;
};

// Has all pages read at once that would be read one after the other.
void RowReads::ask() noexcept {
  PageRanges ranges;
  for (const uint32_t column : columns_) {
    if (chunk_.has_data(column)) continue;
    ValueFetch::add_pages(chunk_.header_of(column), slot_.tiered->places[column], offset_, &ranges);
  }
  for (const uint32_t column : columns_) {
    if (chunk_.has_data(column)) continue;
    ValueFetch::add_likely_pages(chunk_.header_of(column), slot_.tiered->places[column], &ranges);
  }
  if (!ranges.get().empty()) tier_->ask(ranges.get());
}

namespace {

// Texts that the cell finds in `image` are copied.
void keep_text(CellKind kind, const char* image, size_t bytes, uint32_t column, TupleTexts* texts, char* cell) {
  const StringRef text = payload_of(kind, cell);
  if (text.size == 0 || text.data < image || text.data >= image + bytes) return;
  save_cell(cell + 8, texts->keep(column, text));  // where both kinds have it
}

}  // namespace

Status open_tiered_tuple(const TablePartition* partition, Tid tid, std::span<const uint32_t> columns, char* window,
                         uint32_t place, TupleTexts* texts) noexcept {
  thread_local ChunkWindow image;
  const FrozenSlot& slot = *slot_of(partition, tid);
  FrozenStore* store = partition->table->frozen_store();
  const FrozenChunk chunk(slot.image, &store->dictionaries);
  const uint32_t offset = offset_of(tid);
  const uint32_t now = store->tier->now();
  const uint32_t cost = sampled_cost();
  window[partition->plan->live_offset + place] = slot.invalid.contains(offset) ? 0 : 1;
  texts->begin(partition->plan->columns.size());
  RowReads reads(store->tier, slot, chunk, offset, columns);
  for (const uint32_t column : columns) {
    if (slot.marks != nullptr) mark_use(slot.marks, now, column, cost);
    const ColumnAccess& access = partition->plan->columns[column].access;
    if (chunk.has_data(column)) {
      gather_column(chunk.column(column), access, {&offset, 1}, offset - place, window);
      continue;
    }
    const TierPlace& where = slot.tiered->places[column];
    char* scratch = image.get(where.bytes);
    if (scratch == nullptr) return sql_error("53200", "out of memory");
    const RelationDictionary* dictionary = store->dictionaries.column(column);
    bool is_null = false;
    ValueFetch fetch(&reads, where, scratch);
    SCYPER_RETURN_IF_ERROR(fetch.fetch(chunk.head(column), dictionary, offset, &is_null));
    if (is_null) {
      window[access.null_offset + uint64_t{place} * access.null_stride] = 1;
      write_empty_cell(access.kind, cell_of(access, window, place), access.cell_bytes);
      continue;
    }
    gather_column(FrozenVector(scratch, dictionary), access, {&offset, 1}, offset - place, window);
    if (may_have_payload(access.kind)) {
      keep_text(access.kind, scratch, where.bytes, column, texts, cell_of(access, window, place));
    }
  }
  return Status();
}

namespace {

// The tuple that this thread opened last by open_in_own_window() or bring_tuple().
struct OwnTuple {
  ChunkWindow window;
  TupleTexts texts;
  uint64_t chunk = 0;  // TieredColumns::id; 0: of none
  uint32_t offset = 0;
  std::vector<bool> columns;
  std::vector<uint32_t> missing;  // of those that are wanted now
};

Status open_own(OwnTuple* own, const TablePartition* partition, Tid tid, std::span<const uint32_t> columns) noexcept {
  char* window = own->window.get(partition->plan->chunk_bytes);
  if (window == nullptr) return sql_error("53200", "out of memory");
  if (!is_tiered(partition, tid)) {
    own->chunk = 0;
    return Status();
  }
  const FrozenSlot& slot = *slot_of(partition, tid);
  if (own->chunk != slot.tiered->id || own->offset != offset_of(tid)) {
    own->chunk = slot.tiered->id;
    own->offset = offset_of(tid);
    own->columns.assign(partition->plan->columns.size(), false);
  }
  window[partition->plan->live_offset] = slot.invalid.contains(own->offset) ? 0 : 1;
  own->missing.clear();
  for (const uint32_t column : columns) {
    if (!own->columns[column]) own->missing.push_back(column);
  }
  if (own->missing.empty()) return Status();
  SCYPER_RETURN_IF_ERROR(open_tiered_tuple(partition, tid, own->missing, window, 0, &own->texts));
  for (const uint32_t column : own->missing) own->columns[column] = true;
  return Status();
}

OwnTuple* own_tuple() noexcept {
  thread_local OwnTuple own;
  return &own;
}

}  // namespace

TuplePlace open_in_own_window(const TablePartition* partition, Tid tid, std::span<const uint32_t> columns) noexcept {
  OwnTuple* own = own_tuple();
  const Status status = open_own(own, partition, tid, columns);
  CHECK(status.ok());  // a tiered tuple has been brought
  char* window = own->window.get(partition->plan->chunk_bytes);
  if (is_tiered(partition, tid)) return {window, 0};
  return open_tuple(partition, tid, columns, window, 0);
}

Status bring_tuple(const TablePartition* partition, Tid tid, std::span<const uint32_t> columns) noexcept {
  if (!is_tiered(partition, tid)) return Status();
  return open_own(own_tuple(), partition, tid, columns.empty() ? partition->plan->all_columns : columns);
}

}  // namespace scyper::storage
