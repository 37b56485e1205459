#include "archive_places.h"

#include <algorithm>
#include <cstring>
#include <map>
#include <set>
#include <string_view>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "archive_format.h"
#include "base/failpoint.h"
#include "frozen_format.h"
#include "row_plan.h"
#include "slots.h"
#include "storage/frozen_tier.h"
#define XXH_INLINE_ALL
#include <xxhash.h>

namespace scyper::storage {

namespace {

Failpoint before_places("archive.before_places");
Failpoint after_places("archive.after_places");
Failpoint before_place("recovery.before_place");

constexpr uint32_t kPlacesMagic = 0x50796353;  // "ScyP"
constexpr uint32_t kPlacesVersion = 4;         // of others the rows are read
constexpr uint32_t kNoFile = UINT32_MAX;
constexpr uint32_t kReturns = uint32_t{1} << 31;  // with the number of a file: it was in memory
constexpr size_t kTextsBytes = size_t{1} << 20;   // of a record of texts, roughly
constexpr uint64_t kPlaceRecordMax = uint64_t{1} << 31;

enum PlaceKind : uint32_t { kPlaceFiles = 1, kPlaceTexts = 2, kPlaceChunk = 3, kPlaceEnd = 4 };

struct PlaceHeader {
  uint32_t magic;
  uint32_t kind;
  uint64_t bytes;  // of the body, which follows
  uint64_t hash;   // of it, with the record's number and kind
};
static_assert(sizeof(PlaceHeader) == 24);

uint64_t place_hash(std::string_view body, uint64_t number, uint32_t kind) {
  return XXH3_64bits_withSeed(body.data(), body.size(), number * 8 + kind);
}

Status places_damaged(const std::string& what) { return sql_error("XX001", what); }

// The slot of a frozen chunk, else null.
const FrozenSlot* frozen_slot(const Table& table, const ArchiveChunk& chunk) {
  const FrozenSlot* slot = slot_of(table.partition(chunk.partition), Tid{chunk.chunk} << kChunkShift);
  return slot != nullptr && slot->state == ChunkState::kFrozen && slot->image != nullptr ? slot : nullptr;
}

bool visit_keys(const FrozenHeader& head, uint32_t bytes, const std::function<bool(uint32_t)>& visit) {
  if (head.has_shared_text == 0) return true;
  if (head.values_at > bytes || head.values > (bytes - head.values_at) / sizeof(uint32_t)) return false;
  const char* keys = reinterpret_cast<const char*>(&head) + head.values_at;
  for (uint32_t i = 0; i < head.values; ++i) {
    uint32_t key;
    std::memcpy(&key, keys + i * sizeof(key), sizeof(key));
    if (!visit(key)) return false;
  }
  return true;
}

class PlacesWriter {
 public:
  PlacesWriter(const Table& table, const ArchiveTable& archive, const std::function<void(uint64_t)>& on_bytes)
      : table_(table), archive_(archive), on_bytes_(on_bytes) {}

  // False: nothing of the table is in the tier.
  bool find_files() {
    for (const ArchiveChunk& chunk : archive_.chunks) {
      const FrozenSlot* slot = frozen_slot(table_, chunk);
      if (slot == nullptr) continue;
      chunks_.emplace_back(&chunk, slot);
      for (const auto& in_files : {slot->tiered, slot->copies}) {
        if (in_files == nullptr) continue;
        for (const TierPlace& place : in_files->places) {
          if (place.file != nullptr) files_.try_emplace(place.file.get(), static_cast<uint32_t>(files_.size()));
        }
      }
    }
    return !files_.empty();
  }

  Status write(File* file) {
    file_ = file;
    SCYPER_RETURN_IF_ERROR(write_files());
    for (uint32_t column = 0; column < table_.schema().columns.size(); ++column) {
      if (table_.frozen_store()->dictionaries.column(column) != nullptr) SCYPER_RETURN_IF_ERROR(write_texts(column));
    }
    // heads of chunks in the tier come first: they are small, and find room before whole images have taken it
    for (const bool is_tiered : {true, false}) {
      for (const auto& [chunk, slot] : chunks_) {
        const bool is_in_files = slot->tiered != nullptr || slot->copies != nullptr;
        if (is_in_files == is_tiered) SCYPER_RETURN_IF_ERROR(write_chunk(*chunk, *slot));
      }
    }
    SCYPER_RETURN_IF_ERROR(put(kPlaceEnd, {}));
    return file_->sync();
  }

 private:
  Status put(PlaceKind kind, std::string_view body) {
    const PlaceHeader header{kPlacesMagic, kind, body.size(), place_hash(body, number_++, kind)};
    std::string bytes(reinterpret_cast<const char*>(&header), sizeof(header));
    bytes += body;
    SCYPER_RETURN_IF_ERROR(file_->write(offset_, bytes));
    offset_ += bytes.size();
    on_bytes_(bytes.size());
    return Status();
  }

  Status write_files() {
    std::string body;
    put_number(&body, kPlacesVersion);
    put_number(&body, archive_.id);
    std::vector<const TierFile*> in_order(files_.size());
    for (const auto& [file, number] : files_) in_order[number] = file;
    put_number(&body, static_cast<uint32_t>(in_order.size()));
    for (const TierFile* file : in_order) {
      put_number(&body, file->stamp());
      put_number(&body, file->data_bytes());
    }
    return put(kPlaceFiles, body);
  }

  // What the chunks' vectors list of the column's dictionary.
  Status write_texts(uint32_t column) {
    const RelationDictionary* dictionary = table_.frozen_store()->dictionaries.column(column);
    absl::flat_hash_set<uint32_t> listed;
    for (const auto& [chunk, slot] : chunks_) {
      const FrozenHeader& head = FrozenChunk(slot->image, nullptr).header_of(column);
      visit_keys(head, head.bytes, [&](uint32_t key) {
        listed.insert(key);
        return true;
      });
    }
    std::vector<uint32_t> keys(listed.begin(), listed.end());
    std::sort(keys.begin(), keys.end());
    for (size_t i = 0; i < keys.size();) {
      std::string body;
      put_number(&body, column);
      for (; i < keys.size() && body.size() < kTextsBytes; ++i) {
        const StringRef text = dictionary->text(keys[i]);
        put_number(&body, keys[i]);
        put_text(&body, std::string_view(text.data, text.size));
      }
      SCYPER_RETURN_IF_ERROR(put(kPlaceTexts, body));
    }
    return Status();
  }

  Status write_chunk(const ArchiveChunk& chunk, const FrozenSlot& slot) {
    std::string body;
    put_number(&body, chunk.partition);
    put_number(&body, chunk.chunk);
    put_number(&body, chunk.hash);
    put_number(&body, static_cast<uint32_t>(slot.invalid.ranges().size()));
    for (const InvalidRanges::Range& range : slot.invalid.ranges()) {
      put_number(&body, static_cast<uint16_t>(range.begin));
      put_number(&body, static_cast<uint16_t>(range.end));
    }
    const FrozenChunk chunk_image(slot.image, nullptr);
    std::vector<bool> copied(chunk_image.header().columns);
    const std::vector<TierPlace> places = places_of(slot, &copied);
    put_number(&body, static_cast<uint32_t>(places.size()));
    for (const TierPlace& place : places) {
      const uint32_t returns = place.returns ? kReturns : 0;
      put_number(&body, place.file == nullptr ? kNoFile : files_.at(place.file.get()) | returns);
      put_number(&body, place.bytes);
      put_number(&body, place.values_at);
      put_number(&body, place.offset);
    }
    if (std::find(copied.begin(), copied.end(), true) != copied.end()) {
      body += without_data(chunk_image, copied);
    } else {
      body.append(slot.image, chunk_image.header().bytes);
    }
    return put(kPlaceChunk, body);
  }

  // Of what is in files, whether or not it is in memory as well; the columns of which this is so. Empty: nothing is.
  static std::vector<TierPlace> places_of(const FrozenSlot& slot, std::vector<bool>* copied) {
    std::vector<TierPlace> places;
    if (slot.tiered != nullptr) places = slot.tiered->places;
    if (slot.copies == nullptr) return places;
    places.resize(copied->size());
    for (uint32_t column = 0; column < places.size(); ++column) {
      if (slot.copies->places[column].file == nullptr) continue;
      (*copied)[column] = true;
      places[column] = slot.copies->places[column];
      places[column].returns = true;
    }
    return places;
  }

  const Table& table_;
  const ArchiveTable& archive_;
  const std::function<void(uint64_t)>& on_bytes_;
  File* file_ = nullptr;
  uint64_t offset_ = 0;
  uint64_t number_ = 0;
  std::vector<std::pair<const ArchiveChunk*, const FrozenSlot*>> chunks_;
  absl::flat_hash_map<const TierFile*, uint32_t> files_;
};

}  // namespace

std::string places_file_name(uint32_t table) { return "t" + std::to_string(table) + ".places"; }

Status write_places(Disk* disk, const std::string& path, const Table& table, const ArchiveTable& archive,
                    const std::function<void(uint64_t)>& on_bytes) {
  const std::string name = path + "/" + places_file_name(archive.id);
  if (disk->exists(name)) SCYPER_RETURN_IF_ERROR(disk->remove(name));  // of an attempt before this one
  PlacesWriter writer(table, archive, on_bytes);
  if (table.frozen_store() == nullptr || !writer.find_files()) return Status();
  if (before_places.fires()) return absl::ResourceExhaustedError("failpoint archive.before_places");
  SCYPER_ASSIGN_OR_RETURN(auto file, disk->open(name, OpenMode::kCreate));
  SCYPER_RETURN_IF_ERROR(writer.write(file.get()));
  after_places.fires();
  return Status();
}

namespace {

// One record, and the offset behind it.
Status read_place_record(File* file, uint64_t number, uint64_t* offset, PlaceRecord* record) {
  PlaceHeader header;
  SCYPER_ASSIGN_OR_RETURN(size_t got, file->read(*offset, reinterpret_cast<char*>(&header), sizeof(header)));
  SCYPER_ASSIGN_OR_RETURN(const uint64_t size, file->size());
  if (got != sizeof(header) || header.magic != kPlacesMagic || header.bytes > kPlaceRecordMax ||
      header.bytes > size - *offset - sizeof(header)) {
    return places_damaged("no record begins here");
  }
  if (record->bytes == nullptr || header.bytes > record->capacity) {
    record->capacity = header.bytes;
    record->bytes = std::make_unique_for_overwrite<char[]>(record->capacity);
  }
  SCYPER_ASSIGN_OR_RETURN(got, file->read(*offset + sizeof(header), record->bytes.get(), header.bytes));
  record->size = got;
  if (got != header.bytes || header.hash != place_hash(record->body(), number, header.kind)) {
    return places_damaged("a record does not match its hash");
  }
  *offset += sizeof(header) + got;
  record->kind = header.kind;
  return Status();
}

struct NamedFile {
  uint64_t stamp;
  uint64_t data_bytes;
};
StatusOr<std::vector<NamedFile>> read_named_files(std::string_view body, uint32_t table) {
  NumberReader in{body};
  const auto version = in.number<uint32_t>();
  if (in.ok && version != kPlacesVersion) return sql_error("0A000", "places of a version that is not known");
  if (in.number<uint32_t>() != table) return places_damaged("the places are another table's");
  std::vector<NamedFile> files(in.count(sizeof(NamedFile)));
  for (NamedFile& file : files) {
    file.stamp = in.number<uint64_t>();
    file.data_bytes = in.number<uint64_t>();
  }
  if (!in.ok || !in.bytes.empty()) return places_damaged("the names of files contradict themselves");
  return files;
}

}  // namespace

StatusOr<std::set<uint64_t>> read_archive_tier_files(Disk* disk, const std::string& path) {
  std::set<uint64_t> stamps;
  SCYPER_ASSIGN_OR_RETURN(const ArchiveManifest manifest, read_manifest(disk, path));
  for (const ArchiveTable& table : manifest.tables) {
    const std::string name = path + "/" + places_file_name(table.id);
    if (!disk->exists(name)) continue;
    auto file = disk->open(name, OpenMode::kRead);
    uint64_t offset = 0;
    PlaceRecord record;
    if (!file.ok() || !read_place_record(file->get(), 0, &offset, &record).ok()) continue;  // its rows are read
    const auto files = read_named_files(record.body(), table.id);
    if (!files.ok()) continue;
    for (const NamedFile& one : *files) stamps.insert(one.stamp);
  }
  return stamps;
}

PlacesReader::~PlacesReader() {
  for (uint32_t column = 0; column < table_->schema().columns.size(); ++column) {
    RelationDictionary* dictionary = table_->frozen_store()->dictionaries.column(column);
    if (dictionary != nullptr) dictionary->end_restore();
  }
}

Status PlacesReader::next(PlaceRecord* record) { return read_place_record(file_.get(), number_++, &offset_, record); }

Status PlacesReader::read(ArchiveChunks* chunks, std::vector<const ArchiveChunk*>* placed) {
  const std::string name = path_ + "/" + places_file_name(table_->schema().id.value());
  if (!disk_->exists(name)) return Status();
  Status first;
  const auto at_place = [&](const Status& status) {
    return sql_error(sqlstate_of(status), name + ": " + std::string(status.message()));
  };
  auto opened = disk_->open(name, OpenMode::kRead);
  if (!opened.ok()) return opened.status();
  file_ = *std::move(opened);
  PlaceRecord record;
  do {
    Status status = next(&record);
    if (!status.ok()) return at_place(status);
    if ((number_ == 1) != (record.kind == kPlaceFiles)) return at_place(places_damaged("it contradicts itself"));
    if (record.kind == kPlaceFiles) status = read_files(record.body());
    if (record.kind == kPlaceTexts) status = read_texts(&record);
    if (!status.ok()) return at_place(status);
    if (record.kind == kPlaceChunk) first.Update(place(record.body(), chunks, placed));
  } while (record.kind != kPlaceEnd);
  return first;
}

Status PlacesReader::read_files(std::string_view body) {
  SCYPER_ASSIGN_OR_RETURN(const std::vector<NamedFile> named, read_named_files(body, table_->schema().id.value()));
  for (const NamedFile& one : named) {
    const FrozenStore* store = table_->frozen_store();
    auto file = store->tier->open_again(one.stamp, one.data_bytes, store->tier_cache.load(std::memory_order_relaxed));
    files_status_.Update(file.status());
    files_.push_back(file.ok() ? *std::move(file) : nullptr);
  }
  return Status();
}

// The dictionary keeps the record's bytes.
Status PlacesReader::read_texts(PlaceRecord* record) {
  NumberReader in{record->body()};
  const auto column = in.number<uint32_t>();
  RelationDictionary* dictionary =
      column < table_->schema().columns.size() ? table_->frozen_store()->dictionaries.column(column) : nullptr;
  if (dictionary == nullptr) return places_damaged("texts of a column that has no dictionary");
  std::vector<RelationDictionary::RestoredText> texts;
  while (in.ok && !in.bytes.empty()) {
    const auto key = in.number<uint32_t>();
    const std::string_view text = in.text(in.number<uint32_t>());
    if (!in.ok) return places_damaged("texts are cut off");
    texts.push_back(
        {key, static_cast<uint32_t>(text.data() - record->bytes.get()), static_cast<uint32_t>(text.size())});
  }
  if (!in.ok || !dictionary->restore(std::move(record->bytes), record->size, texts)) {
    return places_damaged("texts contradict themselves");
  }
  return Status();
}

namespace {

bool read_invalid(NumberReader* in, InvalidRanges* ranges) {
  const uint32_t count = in->count(2 * sizeof(uint16_t));
  for (uint32_t i = 0, before = 0; i < count; ++i) {
    const uint32_t first = in->number<uint16_t>(), behind = in->number<uint16_t>();
    if (!in->ok || first >= behind || behind > kChunkTuples || (i > 0 && first <= before)) return false;
    ranges->add(first, behind);
    before = behind;
  }
  return in->ok;
}

// Whether the image lies within its bytes and is one of this table's chunks, with data elsewhere where a place is
// known.
bool is_image_of(const Table& table, std::string_view bytes, const std::vector<TierPlace>& places) {
  FrozenChunkHeader header;
  const size_t columns = table.schema().columns.size();
  if (bytes.size() < sizeof(header) + columns * sizeof(uint32_t)) return false;
  std::memcpy(&header, bytes.data(), sizeof(header));
  if (header.columns != columns || header.count != kChunkTuples || header.bytes != bytes.size()) return false;
  for (uint32_t i = 0; i < columns; ++i) {
    uint32_t begin;
    std::memcpy(&begin, bytes.data() + sizeof(header) + i * sizeof(begin), sizeof(begin));
    const bool is_elsewhere = (begin & kDataElsewhere) != 0;
    begin &= ~kDataElsewhere;
    if (begin % 8 != 0 || begin > bytes.size() || bytes.size() - begin < sizeof(FrozenHeader)) return false;
    FrozenHeader head;
    std::memcpy(&head, bytes.data() + begin, sizeof(head));
    const TierPlace place = places.empty() ? TierPlace() : places[i];
    if (head.kind != table.layout().columns[i].kind || head.count != kChunkTuples) return false;
    if (is_elsewhere != (place.file != nullptr) || (is_elsewhere && place.bytes != head.bytes)) return false;
    if (uint64_t{is_elsewhere ? head_bytes(head) : head.bytes} > bytes.size() - begin) return false;
    if (!lies_within(head, is_elsewhere ? place.values_at : head.values_at, head.bytes)) return false;
  }
  return true;
}

}  // namespace

// The keys that an image lists have been restored; it holds them from here on.
Status PlacesReader::hold_keys(const char* image) {
  const RelationDictionaries& dictionaries = table_->frozen_store()->dictionaries;
  const FrozenChunk chunk(image, &dictionaries);
  std::vector<uint32_t> keys;
  for (uint32_t column = 0; column < chunk.header().columns; ++column) {
    const FrozenHeader& head = chunk.header_of(column);
    keys.clear();
    const bool lies_within =
        visit_keys(head, chunk.has_data(column) ? head.bytes : head_bytes(head), [&](uint32_t key) {
          keys.push_back(key);
          return true;
        });
    if (keys.empty() && lies_within) continue;
    RelationDictionary* dictionary = dictionaries.column(column);
    if (lies_within && dictionary != nullptr && dictionary->hold(keys)) continue;
    while (column-- > 0) {
      if (dictionaries.column(column) != nullptr) release_frozen(chunk.head(column), dictionaries.column(column));
    }
    return places_damaged("an image lists texts that are not there");
  }
  return Status();
}

Status PlacesReader::place(std::string_view body, ArchiveChunks* chunks, std::vector<const ArchiveChunk*>* placed) {
  if (before_place.fires()) return sql_error("XX001", "failpoint recovery.before_place");
  NumberReader in{body};
  const auto partition = in.number<uint32_t>(), number = in.number<uint32_t>();
  const auto hash = in.number<uint64_t>();
  const auto of = chunks->find({partition, number});
  InvalidRanges invalid;
  if (of == chunks->end() || of->second->hash != hash || !read_invalid(&in, &invalid)) {
    return places_damaged("places of no chunk");
  }
  auto tiered = std::make_shared<TieredColumns>();
  tiered->places.resize(in.count(20));
  for (TierPlace& place : tiered->places) {
    auto file = in.number<uint32_t>();
    place.bytes = in.number<uint32_t>();
    place.values_at = in.number<uint32_t>();
    place.offset = in.number<uint64_t>();
    if (file == kNoFile) continue;
    place.returns = (file & kReturns) != 0;
    file &= ~kReturns;
    if (file >= files_.size()) return places_damaged("a place in no file");
    if (files_[file] == nullptr) return files_status_;
    place.file = files_[file];
    if (place.offset > place.file->data_bytes() || place.bytes > place.file->data_bytes() - place.offset) {
      return places_damaged("a place behind the end of its file");
    }
  }
  const bool fits = of->second->present_rows() + invalid.positions() == kChunkTuples;
  const size_t columns = tiered->places.empty() ? 0 : table_->schema().columns.size();
  if (!in.ok || !fits || tiered->places.size() != columns || !is_image_of(*table_, in.bytes, tiered->places)) {
    return places_damaged("an image does not fit its table");
  }
  const auto is_in_file = [](const TierPlace& place) { return place.file != nullptr; };
  if (std::none_of(tiered->places.begin(), tiered->places.end(), is_in_file)) tiered = nullptr;
  FrozenStore* store = table_->frozen_store();
  const char* image = publish_image(in.bytes, store->memory);
  if (image == nullptr) return sql_error("53200", "no frozen memory is left");
  if (tiered != nullptr) tiered->id = store->tier->new_id();
  Status status = hold_keys(image);
  if (status.ok() && !append_frozen(table_->partition(partition), image, std::move(invalid), std::move(tiered))) {
    release_image(image, store->dictionaries);
    status = sql_error("53200", "out of memory");
  }
  if (!status.ok()) {
    store->memory->retire(image, static_cast<uint32_t>(in.bytes.size()));
    return status;
  }
  placed->push_back(of->second);
  chunks->erase(of);
  return status;
}

namespace {

struct FileRange {
  const TierFile* file;
  uint64_t begin;
  uint64_t end;
};

std::vector<FileRange> key_ranges(const Table& table) {
  std::set<uint32_t> columns;
  for (const IndexPlan& index : table.partition(0)->plan->indexes) {
    columns.insert(index.columns.begin(), index.columns.end());
  }
  std::vector<FileRange> ranges;
  for (uint32_t i = 0; i < table.partition_count(); ++i) {
    const TablePartition* partition = table.partition(i);
    for (uint64_t chunk = 0; chunk < partition->chunk_count; ++chunk) {
      const FrozenSlot* slot = slot_of(partition, chunk << kChunkShift);
      if (slot == nullptr || slot->tiered == nullptr) continue;
      for (const uint32_t column : columns) {
        const TierPlace& place = slot->tiered->places[column];
        if (place.file != nullptr) ranges.push_back({place.file.get(), place.offset, place.offset + place.bytes});
      }
    }
  }
  std::sort(ranges.begin(), ranges.end(), [](const FileRange& a, const FileRange& b) {
    return std::pair(a.file->stamp(), a.begin) < std::pair(b.file->stamp(), b.begin);
  });
  return ranges;
}

// So that the disk has them all to do.
void ask(FrozenTier* tier, std::span<const FileRange> ranges) {
  std::vector<PageReader::Range> pages;
  for (const FileRange& range : ranges) {
    const uint64_t first = range.begin / FrozenTier::kPageBytes;
    pages.push_back({range.file, first, (range.end - 1) / FrozenTier::kPageBytes + 1 - first});
  }
  tier->ask(pages);
}

}  // namespace

void read_keys_ahead(const Table& table) {
  constexpr uint64_t kGapBytes = uint64_t{128} << 10;  // reading over so much takes less than another read
  constexpr uint64_t kPieceBytes = uint64_t{2} << 20;
  constexpr size_t kAskedTogether = 32;
  FrozenTier* tier = table.frozen_store()->tier;
  std::vector<FileRange> merged;
  uint64_t bytes = 0;
  for (const FileRange& range : key_ranges(table)) {
    if (!merged.empty() && merged.back().file == range.file && range.begin <= merged.back().end + kGapBytes) {
      bytes += range.end - std::min(range.end, merged.back().end);
      merged.back().end = std::max(merged.back().end, range.end);
    } else {
      bytes += range.end - range.begin;
      merged.push_back(range);
    }
  }
  const uint32_t cache = table.frozen_store()->tier_cache.load(std::memory_order_relaxed);
  if (bytes > tier->caches().cache(cache)->options().bytes / 2) return;
  const auto piece = std::make_unique_for_overwrite<char[]>(kPieceBytes);
  for (size_t i = 0; i < merged.size(); ++i) {
    if (i % kAskedTogether == 0) ask(tier, std::span(merged).subspan(i, std::min(kAskedTogether, merged.size() - i)));
    const FileRange& range = merged[i];
    for (uint64_t at = range.begin; at < range.end; at += kPieceBytes) {
      if (!tier->read(*range.file, at, std::min(kPieceBytes, range.end - at), piece.get()).ok()) return;
    }
  }
}

}  // namespace scyper::storage
