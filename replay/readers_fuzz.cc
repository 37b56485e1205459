#include "readers_fuzz.h"

#include <algorithm>
#include <cstring>
#include <map>
#include <memory>
#include <string_view>

#include "arguments.h"
#include "base/check.h"
#include "base/simulated_disk.h"
#include "query/catalog_image.h"
#include "query/foreign_table.h"
#include "replay/log_scan.h"
#include "replay/record.h"
#include "replay/request_window.h"
#include "replication/batch.h"
#include "storage/archive.h"
#include "storage/log_segment.h"
#include "storage/row_apply.h"
#define XXH_INLINE_ALL
#include <xxhash.h>

namespace scyper::replay {

namespace {

// What the first byte of an input chooses, by group.
enum RecordReader : uint8_t { kRecords, kArguments, kRows, kRecordReaders };
enum BatchReader : uint8_t { kBatch, kUnpack, kScan, kBatchReaders };
enum ArchiveReader : uint8_t { kManifest, kBlock, kCatalog, kRequests, kArchiveReaders };
constexpr uint8_t kMadeFit = 0x80;  // hashes are made right, so that what they protect is looked at, too

template <class T>
T field(const std::string& bytes, size_t at) {
  T value{};
  if (at + sizeof(value) <= bytes.size()) std::memcpy(&value, bytes.data() + at, sizeof(value));
  return value;
}

// Hash of the bytes from..to, to be stored at `at`.
void put_hash(std::string* bytes, size_t from, size_t to, size_t at) {
  if (from > to || to > bytes->size() || at + sizeof(uint64_t) > bytes->size()) return;
  const uint64_t hash = XXH3_64bits(bytes->data() + from, to - from);
  std::memcpy(bytes->data() + at, &hash, sizeof(hash));
}

// docs/log_format.md: batches one after the other, then zeros up to a border; last: of each stream.
void make_batches_fit(std::string* bytes, std::map<uint32_t, uint64_t>* last) {
  for (size_t at = 0; at + sizeof(replication::BatchHeader) <= bytes->size();) {
    replication::BatchHeader header;
    std::memcpy(&header, bytes->data() + at, sizeof(header));
    if (header.magic != replication::kBatchMagic) return;  // a hash in the padding would be no padding
    const size_t body = at + sizeof(header);
    if (header.body_bytes > bytes->size() - body) return;
    header.previous_hash = (*last)[header.stream];
    header.body_hash = XXH3_64bits(bytes->data() + body, header.body_bytes);
    header.header_hash = XXH3_64bits(&header, offsetof(replication::BatchHeader, header_hash));
    (*last)[header.stream] = header.header_hash;
    std::memcpy(bytes->data() + at, &header, sizeof(header));
    at += std::max<size_t>(header.total_bytes(), 1);
  }
}

void make_segment_header_fit(std::string* bytes) {
  constexpr size_t kStreams = 64, kFirstStream = 72, kStreamBytes = 16;
  const size_t end = kFirstStream + kStreamBytes * size_t{field<uint32_t>(*bytes, kStreams)};
  put_hash(bytes, 0, end, end);
}

void make_block_fit(std::string* bytes) {
  constexpr size_t kBodyBytes = 20, kBodyHash = 48, kHeaderHash = 56, kHeader = 64;
  put_hash(bytes, kHeader, kHeader + size_t{field<uint32_t>(*bytes, kBodyBytes)}, kBodyHash);
  put_hash(bytes, 0, kHeaderHash, kHeaderHash);
}

storage::Arena* arena() {
  static const std::unique_ptr<storage::Arena> kArena = [] {
    auto made = storage::Arena::create(size_t{1} << 30, size_t{256} << 20, storage::PageMode::kSmall);
    CHECK(made.ok());
    return *std::move(made);
  }();
  return kArena.get();
}

std::unique_ptr<storage::Table> make_table() {
  storage::TableSchema schema;
  schema.id = TableId(3);
  schema.name = "t";
  schema.columns = {{"a", make_type(TypeId::kInt4), true},  {"b", make_string(TypeId::kVarchar, 10), false},
                    {"c", make_type(TypeId::kText), false}, {"d", make_type(TypeId::kNumeric), false},
                    {"e", make_type(TypeId::kBool), false}, {"f", make_array(make_type(TypeId::kText)), false},
                    {"g", make_numeric(30, 2), false}};
  storage::IndexDef primary;
  primary.id = IndexId(1);
  primary.name = "t_pkey";
  primary.columns = {0};
  primary.unique = primary.primary = true;
  storage::IndexDef second;
  second.id = IndexId(2);
  second.name = "by_c";
  second.columns = {2, 3};
  schema.indexes = {primary, second};
  auto table = storage::Table::create(std::move(schema), 1, arena());
  CHECK(table.ok());
  return *std::move(table);
}

std::string row_changes() {
  auto table = make_table();
  Datum elements[2] = {string_datum("x", 1), null_datum()};
  ArrayValue array;
  array.size = 2;
  array.element = TypeId::kText;
  array.elements = elements;
  std::vector<std::vector<Datum>> parts(1);
  for (int i = 0; i < 3; ++i) {
    Datum text = string_datum("a text that does not fit into its cell", 38);
    Datum list;
    list.lo = reinterpret_cast<int64_t>(&array);
    list.null = 0;
    for (const Datum& value : {int_datum(i), string_datum("short", 5), text, int128_datum(125, 2), int_datum(1), list,
                               i == 1 ? null_datum() : int128_datum(77, 2)}) {
      parts[0].push_back(value);
    }
  }
  std::string redo;
  Status status =
      storage::append_rows(table.get(), parts, [](const SqlType&, const Datum&) { return std::string(); }, &redo);
  CHECK(status.ok());
  redo += std::string("\x02\x03\x01\x01\x00\x00\x01\x00\x00\x00\x00\x02hi", 14);  // update b of row 1
  redo += std::string("\x03\x03\x00\x00\x02\x00\x00\x00", 8);                     // delete row 2
  return redo;
}

std::string batch_of(std::string_view raw) {
  replication::BatchHeader header;
  header.number = header.first_lsn = header.last_lsn = header.complete_lsn = 1;
  header.count = 1;
  std::string out(replication::batch_bytes_max(raw.size()), '\0');
  out.resize(replication::write_batch(&header, raw, true, out.data()));
  return out;
}

// A segment comes as pieces, each behind two bytes of its size and put on a border of 4,096 bytes: its header, groups.
std::string segment_of(std::string_view pieces, bool is_made_fit) {
  constexpr size_t kBorder = 4096, kBytesMax = 1 << 20;
  std::string segment;
  std::map<uint32_t, uint64_t> last;
  while (pieces.size() > 2 && segment.size() < kBytesMax) {
    const size_t wanted = static_cast<uint8_t>(pieces[0]) | size_t{static_cast<uint8_t>(pieces[1])} << 8;
    std::string piece(pieces.substr(2, wanted));
    pieces.remove_prefix(std::min(pieces.size(), 2 + wanted));
    piece.resize((piece.size() + kBorder - 1) / kBorder * kBorder);
    if (is_made_fit) segment.empty() ? make_segment_header_fit(&piece) : make_batches_fit(&piece, &last);
    segment += piece;
  }
  return segment;
}

bool scan_bytes(std::string_view bytes) {
  SimulatedDisk disk;
  CHECK(disk.make_directory("/log").ok());
  auto file = disk.open(storage::segment_path("/log", 1), OpenMode::kCreate);
  CHECK(file.ok() && (*file)->write(0, bytes).ok());
  auto scan = LogScan::open(&disk, "/log", {});
  if (!scan.ok()) return false;
  ScannedSegment segment;
  size_t groups = 0;
  while (true) {
    auto any = (*scan)->next(&segment);
    if (!any.ok() || !*any) break;
    groups += segment.groups.size();
  }
  static_cast<void>((*scan)->cut());
  return groups > 0;
}

bool read_records(std::string_view bytes) {
  RecordView record;
  uint64_t sum = 0;
  while (take_record(&bytes, &record)) {
    std::string_view body = record.body;
    uint64_t number = 0;
    if (take_varint(&body, &number)) sum += number;
  }
  static_cast<void>(sum);
  return bytes.empty();
}

const std::vector<SqlType>& argument_types() {
  static const std::vector<SqlType> kTypes = {make_type(TypeId::kInt4), make_type(TypeId::kText),
                                              make_type(TypeId::kNumeric), make_type(TypeId::kFloat8),
                                              make_array(make_type(TypeId::kText))};
  return kTypes;
}

std::string archive_file(const char* name) {
  auto table = make_table();
  storage::RowApplier applier([&](TableId) { return table.get(); });
  const Status status = applier.apply(row_changes(), storage::RowApplier::kAnyPartition);
  CHECK(status.ok());
  SimulatedDisk disk;
  CHECK(disk.make_directory("/a").ok());
  auto writer = storage::ArchiveWriter::create(&disk, "/a", 5, {});
  CHECK(writer.ok() && (*writer)->write_table(*table).ok());
  storage::ArchiveManifest manifest;
  manifest.partitions = 1;
  manifest.attachments.emplace_back("catalog", "x");
  CHECK((*writer)->finish(manifest).ok());
  return *disk.read_file(storage::archive_path("/a", 5) + "/" + name);
}

bool fuzz_record(uint8_t reader, std::string_view bytes) {
  switch (reader % kRecordReaders) {
    case kRecords:
      return read_records(bytes);
    case kArguments: {
      ArgumentReader arguments;
      return arguments.read(argument_types(), bytes).ok();
    }
    default: {
      auto table = make_table();
      storage::RowApplier applier([&](TableId id) { return id.value() == 3 ? table.get() : nullptr; });
      return applier.apply(bytes, storage::RowApplier::kAnyPartition).ok();
    }
  }
}

bool fuzz_batch(uint8_t reader, std::string bytes, bool is_made_fit) {
  switch (reader % kBatchReaders) {
    case kBatch: {
      std::map<uint32_t, uint64_t> last;
      if (is_made_fit) make_batches_fit(&bytes, &last);
      auto header = replication::read_batch_header(bytes);
      if (!header.ok() || !replication::read_batch_body(*header, bytes).ok()) return false;
      std::string raw;
      header->raw_bytes = std::min(header->raw_bytes, uint32_t{1} << 16);
      const auto body = std::string_view(bytes).substr(sizeof(replication::BatchHeader), header->body_bytes);
      return replication::unpack_batch(*header, body, &raw).ok();
    }
    case kUnpack: {
      replication::BatchHeader header;
      header.flags = replication::kBatchLz4;
      header.raw_bytes = bytes.empty() ? 0 : static_cast<uint8_t>(bytes[0]) * 16u;
      std::string raw;
      return replication::unpack_batch(header, bytes, &raw).ok();
    }
    default:
      return scan_bytes(segment_of(bytes, is_made_fit));
  }
}

bool fuzz_archive(uint8_t reader, std::string bytes, bool is_made_fit) {
  switch (reader % kArchiveReaders) {
    case kManifest:
      if (is_made_fit && bytes.size() >= 8) put_hash(&bytes, 0, bytes.size() - 8, bytes.size() - 8);
      return storage::decode_manifest(bytes).ok();
    case kBlock: {
      if (is_made_fit) make_block_fit(&bytes);
      auto table = make_table();
      size_t used = 0;
      uint64_t rows = 0, raw_bytes = 0, hash = 0;
      return storage::read_archive_block(bytes, 5, 0, {}, table.get(), &used, &rows, &raw_bytes, &hash).ok();
    }
    case kCatalog:
      return query::decode_catalog(bytes, 1, arena()).ok();
    default: {
      RequestWindow window(16);
      return window.decode(bytes).ok();
    }
  }
}

std::string seed(uint8_t reader, const std::string& bytes) { return std::string(1, static_cast<char>(reader)) + bytes; }

std::string logical_record() {
  RedoHeader header;
  header.kind = RedoKind::kLogicalText;
  header.lsn = 1;
  header.body_bytes = 8;
  std::string record(reinterpret_cast<const char*>(&header), sizeof(header));
  return record + "CALL p()";
}

std::vector<std::string> batch_seeds() {
  const std::string batch = batch_of(logical_record());
  // 496: what kUnpack takes from its first byte; without the padding behind it
  std::string packed = batch_of(std::string(496, 'x'));
  packed = packed.substr(sizeof(replication::BatchHeader),
                         field<uint32_t>(packed, offsetof(replication::BatchHeader, body_bytes)));
  storage::SegmentHeader segment;
  segment.number = 1;
  segment.streams.resize(3);
  std::string pieces;
  for (const std::string& piece :
       {storage::encode_segment_header(&segment).substr(0, 72 + 3 * 16 + 8), batch, std::string(1, '\0')}) {
    pieces.push_back(static_cast<char>(piece.size() & 0xff));
    pieces.push_back(static_cast<char>(piece.size() >> 8));
    pieces += piece;
  }
  return {seed(kBatch, batch), seed(kBatch | kMadeFit, batch), seed(kUnpack, packed), seed(kScan, pieces),
          seed(kScan | kMadeFit, pieces)};
}

// One of each thing that a catalog holds.
query::Catalog make_catalog() {
  query::Catalog catalog;
  catalog.tables["t"] = make_table();
  query::TableRules& rules = catalog.rules[TableId(3)];
  rules.columns.resize(catalog.tables["t"]->schema().columns.size());
  rules.columns[1].default_text = "'x'";
  rules.checks.push_back({"t_check", "a > 0"});
  rules.foreign_keys.push_back({.name = "t_fkey", .columns = {0}, .table = TableId(3), .referenced = {0}});
  auto routine = std::make_shared<query::Routine>();
  routine->name = "p";
  routine->parameters.resize(1);
  catalog.routines.emplace("p", routine);
  auto trigger = std::make_shared<query::Trigger>();
  trigger->name = "on_change";
  trigger->table = "t";
  trigger->function = "p";
  trigger->events = query::Trigger::kInsert;
  trigger->columns = {"a"};
  trigger->new_table = "fresh";
  trigger->is_constraint = true;
  catalog.triggers.emplace(std::pair(trigger->table, trigger->name), trigger);
  auto view = std::make_shared<query::View>();
  view->name = "v";
  view->column_names = {"a"};
  view->column_types = {make_type(TypeId::kInt4)};
  view->query = "SELECT a FROM t";
  view->relations = {"t"};
  catalog.views["v"] = view;
  auto materialized = std::make_shared<query::MaterializedView>();
  materialized->query = "SELECT a FROM t";
  materialized->relations = {"t"};
  catalog.materialized_views["t"] = materialized;
  catalog.extensions.insert("file_fdw");
  catalog.foreign_servers.insert("files");
  auto foreign = std::make_shared<query::View>();
  foreign->name = "f";
  foreign->column_names = {"a"};
  foreign->column_types = {make_type(TypeId::kInt4)};
  auto file = std::make_shared<query::ForeignTable>();
  file->server = "files";
  file->options = {{"filename", "f.csv"}, {"format", "csv"}};
  foreign->foreign = file;
  catalog.views["f"] = foreign;
  storage::SequenceDefinition sequence;
  sequence.name = "s";
  catalog.sequences["s"] = std::make_shared<storage::Sequence>(sequence);
  catalog.namespaces.insert("other");
  catalog.comments["table t"] = "a comment";
  return catalog;
}

std::vector<std::string> archive_seeds() {
  RequestWindow window(4);
  window.finish({1, 2}, {3, 4, true, "rows"});
  const std::string manifest = archive_file("MANIFEST"), block = archive_file("t3.5.dat");
  return {seed(kManifest, manifest),
          seed(kManifest | kMadeFit, manifest),
          seed(kBlock, block),
          seed(kBlock | kMadeFit, block),
          seed(kCatalog, query::encode_catalog(make_catalog())),
          seed(kRequests, window.encode(~uint64_t{0}))};
}

}  // namespace

bool fuzz_readers(Readers readers, const uint8_t* data, size_t size) {
  if (size == 0) return false;
  const uint8_t reader = data[0] & static_cast<uint8_t>(~kMadeFit);
  const bool is_made_fit = (data[0] & kMadeFit) != 0;
  std::string bytes(reinterpret_cast<const char*>(data) + 1, size - 1);
  switch (readers) {
    case Readers::kRecord:
      return fuzz_record(reader, bytes);
    case Readers::kBatch:
      return fuzz_batch(reader, std::move(bytes), is_made_fit);
    case Readers::kArchive:
      return fuzz_archive(reader, std::move(bytes), is_made_fit);
  }
  return false;
}

std::vector<std::string> fuzz_seeds(Readers readers) {
  switch (readers) {
    case Readers::kRecord:
      return {seed(kRecords, logical_record()),
              seed(kArguments,
                   std::string("\x00\x0e\x02hi\x04\xf4\x03\x00\x00\x00\x00\x00\x00\xf0\x3f\x01\x02\x00\x01x", 21)),
              seed(kRows, row_changes())};
    case Readers::kBatch:
      return batch_seeds();
    case Readers::kArchive:
      return archive_seeds();
  }
  return {};
}

}  // namespace scyper::replay
