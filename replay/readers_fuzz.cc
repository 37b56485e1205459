#include "readers_fuzz.h"

#include <memory>
#include <string_view>

#include "arguments.h"
#include "base/check.h"
#include "base/simulated_disk.h"
#include "query/catalog_image.h"
#include "replay/log_scan.h"
#include "replay/record.h"
#include "replay/request_window.h"
#include "replication/batch.h"
#include "storage/archive.h"
#include "storage/log_segment.h"
#include "storage/row_apply.h"

namespace scyper::replay {

namespace {

enum Reader : uint8_t {
  kBatch,
  kUnpack,
  kScan,
  kRecords,
  kArguments,
  kRows,
  kManifest,
  kBlock,
  kCatalog,
  kRequests,
  kReaders
};

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

void scan_bytes(std::string_view bytes) {
  SimulatedDisk disk;
  CHECK(disk.make_directory("/log").ok());
  auto file = disk.open(storage::segment_path("/log", 1), OpenMode::kCreate);
  CHECK(file.ok() && (*file)->write(0, bytes).ok());
  auto scan = LogScan::open(&disk, "/log", {});
  if (!scan.ok()) return;
  ScannedSegment segment;
  while (true) {
    auto any = (*scan)->next(&segment);
    if (!any.ok() || !*any) break;
  }
  static_cast<void>((*scan)->cut());
}

void read_records(std::string_view bytes) {
  RecordView record;
  uint64_t sum = 0;
  while (take_record(&bytes, &record)) {
    std::string_view body = record.body;
    uint64_t number = 0;
    if (take_varint(&body, &number)) sum += number;
  }
  static_cast<void>(sum);
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

}  // namespace

void fuzz_readers(const uint8_t* data, size_t size) {
  if (size == 0) return;
  const std::string_view bytes(reinterpret_cast<const char*>(data) + 1, size - 1);
  switch (data[0] % kReaders) {
    case kBatch:
      if (auto header = replication::read_batch_header(bytes); header.ok()) {
        static_cast<void>(replication::read_batch_body(*header, bytes));
      }
      return;
    case kUnpack: {  // as if the hashes were right
      replication::BatchHeader header;
      header.flags = replication::kBatchLz4;
      header.raw_bytes = bytes.empty() ? 0 : static_cast<uint8_t>(bytes[0]) * 16u;
      std::string raw;
      static_cast<void>(replication::unpack_batch(header, bytes, &raw));
      return;
    }
    case kScan:
      return scan_bytes(bytes);
    case kRecords:
      return read_records(bytes);
    case kArguments: {
      ArgumentReader reader;
      static_cast<void>(reader.read(argument_types(), bytes));
      return;
    }
    case kRows: {
      auto table = make_table();
      storage::RowApplier applier([&](TableId id) { return id.value() == 3 ? table.get() : nullptr; });
      static_cast<void>(applier.apply(bytes, storage::RowApplier::kAnyPartition));
      return;
    }
    case kManifest:
      static_cast<void>(storage::decode_manifest(bytes));
      return;
    case kBlock: {
      auto table = make_table();
      size_t used = 0;
      uint64_t rows = 0, raw_bytes = 0, hash = 0;
      static_cast<void>(storage::read_archive_block(bytes, 5, 0, table.get(), &used, &rows, &raw_bytes, &hash));
      return;
    }
    case kCatalog:
      static_cast<void>(query::decode_catalog(bytes, 1, arena()));
      return;
    default: {
      RequestWindow window(16);
      static_cast<void>(window.decode(bytes));
      return;
    }
  }
}

std::vector<std::string> fuzz_seeds() {
  auto seed = [](Reader reader, const std::string& bytes) { return std::string(1, static_cast<char>(reader)) + bytes; };
  RedoHeader header;
  header.kind = RedoKind::kLogicalText;
  header.lsn = 1;
  header.body_bytes = 8;
  std::string record(reinterpret_cast<const char*>(&header), sizeof(header));
  record += "CALL p()";
  storage::SegmentHeader segment;
  segment.number = 1;
  segment.streams.resize(3);
  std::string log = storage::encode_segment_header(&segment) + batch_of(record);
  log.resize((log.size() + 4095) / 4096 * 4096 + 4096);
  query::Catalog catalog;
  catalog.tables["t"] = make_table();
  auto routine = std::make_shared<query::Routine>();
  routine->name = "p";
  routine->parameters.resize(1);
  catalog.routines.emplace("p", routine);
  RequestWindow window(4);
  window.finish({1, 2}, {3, 4, true, "rows"});
  return {
      seed(kBatch, batch_of(record)),
      seed(kUnpack, batch_of(std::string(900, 'x')).substr(128)),
      seed(kScan, log),
      seed(kRecords, record),
      seed(kArguments, std::string("\x00\x0e\x02hi\x04\xf4\x03\x00\x00\x00\x00\x00\x00\xf0\x3f\x01\x02\x00\x01x", 21)),
      seed(kRows, row_changes()),
      seed(kManifest, archive_file("MANIFEST")),
      seed(kBlock, archive_file("t3.5.dat")),
      seed(kCatalog, query::encode_catalog(catalog)),
      seed(kRequests, window.encode(~uint64_t{0}))};
}

}  // namespace scyper::replay

#ifdef SCYPER_LIBFUZZER
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  scyper::replay::fuzz_readers(data, size);
  return 0;
}
#endif
