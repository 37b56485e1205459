#include "replay/archive.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstring>
#include <deque>
#include <memory>
#include <numeric>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/deep_stack.h"
#include "base/mutex.h"
#include "query/catalog_image.h"
#include "query/local_indexes.h"
#include "storage/freeze_now.h"
#include "storage/temporary.h"
#include "team.h"

namespace scyper::replay {

namespace {

void put_number(std::string* out, uint32_t number) {
  out->append(reinterpret_cast<const char*>(&number), sizeof(number));
}

bool take_number(std::string_view* bytes, uint32_t* number) {
  if (bytes->size() < sizeof(*number)) return false;
  std::memcpy(number, bytes->data(), sizeof(*number));
  bytes->remove_prefix(sizeof(*number));
  return true;
}

// The indexes that statements look up by whole keys, as attachment "companions": built with the others, not when the
// first statement comes. Pairs of table and index.
std::string encode_companions(const query::Catalog& catalog) {
  std::string out;
  for (const auto& [name, table] : catalog.tables) {
    if (storage::is_temporary(table->schema().id)) continue;
    for (uint32_t i = 0; i < table->schema().indexes.size(); ++i) {
      if (table->partition(0)->indexes[i].hash == nullptr) continue;
      put_number(&out, table->schema().id.value());
      put_number(&out, query::shared_position(table->schema(), i));
    }
  }
  return out;
}

struct Companion {
  storage::Table* table;
  uint32_t index;
};
using TablesOfArchive = std::vector<std::pair<const storage::ArchiveTable*, storage::Table*>>;

StatusOr<std::vector<Companion>> find_companions(std::string_view bytes, const TablesOfArchive& tables) {
  std::vector<Companion> companions;
  uint32_t id, index;
  while (take_number(&bytes, &id) && take_number(&bytes, &index)) {
    for (const auto& [entry, table] : tables) {
      if (entry->id != id) continue;
      const auto& indexes = table->schema().indexes;
      if (index >= indexes.size() || !indexes[index].unique) {
        return sql_error("XX001", "the archive names an index that does not exist");
      }
      companions.push_back({table, index});
    }
  }
  return companions;
}

// Work in pieces that are independent of each other. The first error.
Status run_pieces(Team* team, size_t count, const std::function<Status(size_t)>& piece) {
  std::atomic<size_t> next{0};
  return team->run([&](uint32_t) -> Status {
    for (size_t i = next.fetch_add(1); i < count; i = next.fetch_add(1)) SCYPER_RETURN_IF_ERROR(piece(i));
    return Status();
  });
}

double now_s() { return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count(); }

}  // namespace

StatusOr<ArchiveResult> write_archive(Disk* disk, const std::string& archives, const query::Catalog& catalog,
                                      storage::ArchiveManifest manifest, const ArchiveOptions& options) {
  storage::ArchiveWriter::Options writing;
  writing.bytes_per_second_max = options.bytes_per_second_max;
  writing.on_progress = options.on_progress;
  writing.base = options.base;
  writing.on_warning = options.on_warning;
  writing.has_places = options.has_places;
  SCYPER_ASSIGN_OR_RETURN(auto writer, storage::ArchiveWriter::create(disk, archives, manifest.lsn, writing));
  ArchiveResult result;
  result.lsn = manifest.lsn;
  for (const auto& [name, table] : catalog.tables) {
    if (storage::is_temporary(table->schema().id)) continue;
    SCYPER_RETURN_IF_ERROR(writer->write_table(*table));
    result.rows += table->live_tuples();
  }
  manifest.attachments.emplace_back("catalog", query::encode_catalog(catalog));
  manifest.attachments.emplace_back("companions", encode_companions(catalog));
  if (options.before_finish) SCYPER_RETURN_IF_ERROR(options.before_finish());
  SCYPER_RETURN_IF_ERROR(writer->finish(std::move(manifest)));
  result.raw_bytes = writer->raw_bytes();
  result.stored_bytes = writer->stored_bytes();
  result.kept_bytes = writer->kept_bytes();
  return result;
}

std::string encode_statements(const std::vector<std::string>& texts) {
  std::string out;
  for (const std::string& text : texts) {
    put_number(&out, static_cast<uint32_t>(text.size()));
    out += text;
  }
  return out;
}

std::vector<std::string> decode_statements(std::string_view bytes) {
  std::vector<std::string> texts;
  uint32_t size;
  while (take_number(&bytes, &size) && size <= bytes.size()) {
    texts.emplace_back(bytes.substr(0, size));
    bytes.remove_prefix(size);
  }
  return texts;
}

namespace {

StatusOr<TablesOfArchive> match_tables(const std::string& path, const storage::ArchiveManifest& manifest,
                                       const query::Catalog& catalog) {
  TablesOfArchive tables;
  for (const storage::ArchiveTable& entry : manifest.tables) {
    storage::Table* table = nullptr;
    for (const auto& [name, candidate] : catalog.tables) {
      if (candidate->schema().id.value() == entry.id) table = candidate.get();
    }
    if (table == nullptr) {
      return sql_error("XX001",
                       absl::StrCat(path, ": the archive has rows of table ", entry.id, " without definition"));
    }
    tables.emplace_back(&entry, table);
  }
  if (tables.size() != catalog.tables.size()) {
    return sql_error("XX001", absl::StrCat(path, ": the archive lacks tables"));
  }
  return tables;
}

// What there is to do for an archive's tables: each is loaded, the largest first; the partitions of one that is there
// get their indexes while others are loaded. Threads: any.
class LoadQueue {
 public:
  struct Piece {
    size_t table = 0;
    storage::TablePartition* partition = nullptr;  // whose indexes are to be filled; null: the table is to be loaded
  };

  explicit LoadQueue(const TablesOfArchive& tables) : tables_(tables), unloaded_(tables.size()) {
    std::vector<size_t> order(tables.size());
    std::iota(order.begin(), order.end(), size_t{0});
    std::vector<uint64_t> bytes(tables.size());
    for (const size_t table : order) {
      for (const storage::ArchiveChunk& chunk : tables[table].first->chunks) bytes[table] += chunk.bytes;
    }
    std::sort(order.begin(), order.end(),
              [&](size_t a, size_t b) { return std::pair(bytes[b], a) < std::pair(bytes[a], b); });
    for (const size_t table : order) ready_.push_back({table, nullptr});
    loaded_s_ = now_s();
  }

  // Waits for it. False: nothing is left, or something has failed.
  bool next(Piece* piece) {
    MutexLock lock(&mutex_);
    while (ready_.empty() && unloaded_ > 0 && !has_failed_) changed_.wait(mutex_);
    if (ready_.empty() || has_failed_) return false;
    *piece = ready_.front();
    ready_.pop_front();
    return true;
  }
  void finish(const Piece& piece, bool is_ok) {
    MutexLock lock(&mutex_);
    has_failed_ = has_failed_ || !is_ok;
    if (piece.partition == nullptr && is_ok) {
      storage::Table* table = tables_[piece.table].second;
      for (uint32_t i = 0; i < table->partition_count(); ++i) ready_.push_back({piece.table, table->partition(i)});
      --unloaded_;
      loaded_s_ = now_s();
    }
    changed_.notify_all();
  }
  double loaded_s() {  // when the last table was
    MutexLock lock(&mutex_);
    return loaded_s_;
  }

 private:
  const TablesOfArchive& tables_;
  Mutex mutex_;
  std::condition_variable_any changed_;
  std::deque<Piece> ready_ ABSL_GUARDED_BY(mutex_);
  size_t unloaded_ ABSL_GUARDED_BY(mutex_);
  bool has_failed_ ABSL_GUARDED_BY(mutex_) = false;
  double loaded_s_ ABSL_GUARDED_BY(mutex_) = 0;
};

Status load_tables(Disk* disk, const std::string& path, uint32_t threads, const query::Catalog& catalog,
                   bool uses_places, const PartitionSet& held, ArchiveLoaded* loaded) {
  SCYPER_ASSIGN_OR_RETURN(auto tables, match_tables(path, loaded->manifest, catalog));
  Team team(threads);
  std::atomic<uint64_t> raw_bytes{0}, rows{0}, placed_rows{0};
  std::vector<Status> places(tables.size());
  const double start_s = now_s();
  const auto load = [&](size_t i) -> Status {
    storage::Table* const table = tables[i].second;
    const auto make_room = [table](uint64_t) {
      // the chunk that is whole is none that the loader comes back to
      for (uint32_t p = 0; p < table->partition_count(); ++p) storage::freeze_while_tight(table->partition(p), true);
      return Status();
    };
    SCYPER_ASSIGN_OR_RETURN(
        auto one, storage::load_archive_table(disk, path, *tables[i].first, table, make_room, uses_places, held));
    raw_bytes += one.raw_bytes;
    rows += one.rows;
    placed_rows += one.placed_rows;
    places[i] = one.places;
    loaded->manifest.tables[i].chunks = std::move(one.chunks);
    return Status();
  };
  LoadQueue queue(tables);
  SCYPER_RETURN_IF_ERROR(team.run([&](uint32_t) -> Status {
    for (LoadQueue::Piece piece; queue.next(&piece);) {
      Status status = piece.partition == nullptr ? load(piece.table) : storage::fill_indexes(piece.partition);
      queue.finish(piece, status.ok());
      SCYPER_RETURN_IF_ERROR(status);
    }
    return Status();
  }));
  const std::string* attached = loaded->manifest.attachment("companions");
  SCYPER_ASSIGN_OR_RETURN(auto companions,
                          find_companions(attached != nullptr ? *attached : std::string_view(), tables));
  SCYPER_RETURN_IF_ERROR(run_pieces(&team, companions.size(), [&](size_t i) {
    return companions[i].table->build_hash_companion(companions[i].index);
  }));
  loaded->raw_bytes = raw_bytes;
  loaded->rows = rows;
  loaded->placed_rows = placed_rows;
  for (const Status& status : places) {
    if (!status.ok()) loaded->warnings.emplace_back(status.message());
  }
  loaded->load_s = queue.loaded_s() - start_s;
  loaded->index_s = now_s() - queue.loaded_s();
  return Status();
}

}  // namespace

namespace {

StatusOr<ArchiveLoaded> load_all(Disk* disk, const std::string& path, uint32_t threads, query::Database* database,
                                 const OnStatements& on_statements, bool uses_places, const PartitionSet& held) {
  ArchiveLoaded loaded;
  SCYPER_ASSIGN_OR_RETURN(loaded.manifest, storage::read_manifest(disk, path));
  const uint32_t partitions = database->options().partitions;
  if (loaded.manifest.partitions != partitions) {
    return sql_error("22023", absl::StrCat(path, ": the archive has ", loaded.manifest.partitions,
                                           " partitions, the database ", partitions));
  }
  const std::string* image = loaded.manifest.attachment("catalog");
  if (image == nullptr) return sql_error("XX001", absl::StrCat(path, ": the archive has no catalog"));
  SCYPER_ASSIGN_OR_RETURN(std::shared_ptr<const query::Catalog> catalog,
                          query::decode_catalog(*image, partitions, database->arena()));
  database->restore(catalog);
  const std::string* statements = loaded.manifest.attachment("statements");
  if (on_statements && statements != nullptr) on_statements(decode_statements(*statements));
  const Status status = load_tables(disk, path, threads, *catalog, uses_places, held, &loaded);
  if (status.ok()) return loaded;
  database->restore(std::make_shared<const query::Catalog>());
  return status;
}

}  // namespace

// The catalog's objects use each other as deeply as they did when they were made, one after the other.
StatusOr<ArchiveLoaded> load_archive(Disk* disk, const std::string& path, uint32_t threads, query::Database* database,
                                     const OnStatements& on_statements, bool uses_places, const PartitionSet& held) {
  StatusOr<ArchiveLoaded> loaded = ArchiveLoaded();
  on_deep_stack([&] { loaded = load_all(disk, path, threads, database, on_statements, uses_places, held); });
  return loaded;
}

ArchiveTierFiles archive_tier_files(Disk* disk, const storage::FrozenTier* tier) {
  if (tier == nullptr) return {};
  return [disk, tier](const std::string& path) -> StatusOr<std::map<std::string, std::string>> {
    SCYPER_ASSIGN_OR_RETURN(const std::set<uint64_t> stamps, storage::read_archive_tier_files(disk, path));
    return tier->paths_of(stamps);
  };
}

StatusOr<ArchiveLoaded> verify_archive(Disk* disk, const std::string& path, const storage::OnChunk& on_chunk,
                                       const PartitionSet& held) {
  ArchiveLoaded loaded;
  SCYPER_ASSIGN_OR_RETURN(loaded.manifest, storage::read_manifest(disk, path));
  const double start_s = now_s();
  for (const storage::ArchiveTable& entry : loaded.manifest.tables) {
    SCYPER_ASSIGN_OR_RETURN(auto one, storage::load_archive_table(disk, path, entry, nullptr, on_chunk, true, held));
    loaded.raw_bytes += one.raw_bytes;
    loaded.rows += one.rows;
  }
  loaded.load_s = now_s() - start_s;
  return loaded;
}

}  // namespace scyper::replay
