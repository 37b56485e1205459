#include "replay/archive.h"

#include <atomic>
#include <chrono>
#include <memory>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "query/catalog_image.h"
#include "team.h"

namespace scyper::replay {

namespace {

double now_s() { return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count(); }

}  // namespace

StatusOr<ArchiveResult> write_archive(Disk* disk, const std::string& archives, const query::Catalog& catalog,
                                      storage::ArchiveManifest manifest, const ArchiveOptions& options) {
  storage::ArchiveWriter::Options writing;
  writing.bytes_per_second_max = options.bytes_per_second_max;
  writing.on_progress = options.on_progress;
  SCYPER_ASSIGN_OR_RETURN(auto writer, storage::ArchiveWriter::create(disk, archives, manifest.lsn, writing));
  ArchiveResult result;
  result.lsn = manifest.lsn;
  for (const auto& [name, table] : catalog.tables) {
    SCYPER_RETURN_IF_ERROR(writer->write_table(*table));
    result.rows += table->live_tuples();
  }
  manifest.attachments.emplace_back("catalog", query::encode_catalog(catalog));
  if (options.before_finish) SCYPER_RETURN_IF_ERROR(options.before_finish());
  SCYPER_RETURN_IF_ERROR(writer->finish(std::move(manifest)));
  result.raw_bytes = writer->raw_bytes();
  result.stored_bytes = writer->stored_bytes();
  return result;
}

StatusOr<ArchiveLoaded> load_archive(Disk* disk, const std::string& path, uint32_t threads, query::Database* database) {
  ArchiveLoaded loaded;
  SCYPER_ASSIGN_OR_RETURN(loaded.manifest, storage::read_manifest(disk, path));
  const uint32_t partitions = database->options().partitions;
  if (loaded.manifest.partitions != partitions) {
    return sql_error("22023", absl::StrCat(path, ": the archive has ", loaded.manifest.partitions,
                                           " partitions, the database ", partitions));
  }
  const std::string* image = loaded.manifest.attachment("catalog");
  if (image == nullptr) return sql_error("XX001", absl::StrCat(path, ": the archive has no catalog"));
  const double start_s = now_s();
  SCYPER_ASSIGN_OR_RETURN(auto catalog, query::decode_catalog(*image, partitions, database->arena()));
  std::vector<std::pair<const storage::ArchiveTable*, storage::Table*>> tables;
  for (const storage::ArchiveTable& entry : loaded.manifest.tables) {
    storage::Table* table = nullptr;
    for (const auto& [name, candidate] : catalog->tables) {
      if (candidate->schema().id.value() == entry.id) table = candidate.get();
    }
    if (table == nullptr) {
      return sql_error("XX001",
                       absl::StrCat(path, ": the archive has rows of table ", entry.id, " without definition"));
    }
    tables.emplace_back(&entry, table);
  }
  if (tables.size() != catalog->tables.size()) {
    return sql_error("XX001", absl::StrCat(path, ": the archive lacks tables"));
  }
  Team team(threads);
  std::atomic<size_t> next{0};
  std::atomic<uint64_t> raw_bytes{0}, rows{0};
  SCYPER_RETURN_IF_ERROR(team.run([&](uint32_t) -> Status {
    for (size_t i = next.fetch_add(1); i < tables.size(); i = next.fetch_add(1)) {
      SCYPER_ASSIGN_OR_RETURN(
          auto one, storage::load_archive_table(disk, path, loaded.manifest, *tables[i].first, tables[i].second));
      raw_bytes += one.raw_bytes;
      rows += one.rows;
    }
    return Status();
  }));
  const double loaded_s = now_s();
  std::vector<storage::TablePartition*> partitions_to_fill;
  for (const auto& [entry, table] : tables) {
    for (uint32_t i = 0; i < table->partition_count(); ++i) partitions_to_fill.push_back(table->partition(i));
  }
  next = 0;
  SCYPER_RETURN_IF_ERROR(team.run([&](uint32_t) -> Status {
    for (size_t i = next.fetch_add(1); i < partitions_to_fill.size(); i = next.fetch_add(1)) {
      SCYPER_RETURN_IF_ERROR(storage::fill_indexes(partitions_to_fill[i]));
    }
    return Status();
  }));
  database->restore(std::move(catalog));
  loaded.raw_bytes = raw_bytes;
  loaded.rows = rows;
  loaded.load_s = loaded_s - start_s;
  loaded.index_s = now_s() - loaded_s;
  return loaded;
}

StatusOr<ArchiveLoaded> verify_archive(Disk* disk, const std::string& path) {
  ArchiveLoaded loaded;
  SCYPER_ASSIGN_OR_RETURN(loaded.manifest, storage::read_manifest(disk, path));
  const double start_s = now_s();
  for (const storage::ArchiveTable& entry : loaded.manifest.tables) {
    SCYPER_ASSIGN_OR_RETURN(auto one, storage::load_archive_table(disk, path, loaded.manifest, entry, nullptr));
    loaded.raw_bytes += one.raw_bytes;
    loaded.rows += one.rows;
  }
  loaded.load_s = now_s() - start_s;
  return loaded;
}

}  // namespace scyper::replay
