#include <cstdio>
#include <cstdlib>
#include <set>

#include "archive_format.h"
#include "storage/archive.h"
#define XXH_INLINE_ALL
#include <xxhash.h>

namespace scyper::storage {

namespace {

constexpr uint64_t kMagic = 0x316e614d50796353;  // "ScyPMan1"
constexpr uint32_t kVersion = 3;
constexpr uint32_t kVersionBeforeRanges = 2;  // that chunks have
constexpr uint32_t kNoRanges = UINT32_MAX;

Status manifest_damaged(const char* what) {
  return sql_error("XX001", std::string("the manifest is damaged: ") + what);
}

void put_ranges(std::string* out, const InvalidRanges& ranges) {
  put_number(out, static_cast<uint32_t>(ranges.ranges().size()));
  for (const InvalidRanges::Range& range : ranges.ranges()) {
    put_number(out, static_cast<uint16_t>(range.begin));
    put_number(out, static_cast<uint16_t>(range.end));
  }
}

// Of [0, end), ordered, not touching each other.
bool read_ranges(NumberReader* in, uint32_t count, uint32_t end, InvalidRanges* ranges) {
  if (count > ArchiveChunk::kRangesMax) return false;
  uint32_t before = 0;
  for (uint32_t i = 0; i < count; ++i) {
    const uint32_t first = in->number<uint16_t>(), behind = in->number<uint16_t>();
    if (!in->ok || first >= behind || behind > end || (i > 0 && first <= before)) return false;
    ranges->add(first, behind);
    before = behind;
  }
  return true;
}

void put_chunk_ranges(std::string* out, const ArchiveChunk& chunk) {
  put_ranges(out, chunk.gone);
  if (chunk.has_gaps) {
    put_ranges(out, chunk.gaps);
  } else {
    put_number(out, kNoRanges);
  }
}

bool read_chunk_ranges(NumberReader* in, ArchiveChunk* chunk) {
  if (!read_ranges(in, in->number<uint32_t>(), chunk->rows, &chunk->gone)) return false;
  if (chunk->present_rows() == 0) return false;
  const auto gaps = in->number<uint32_t>();
  chunk->has_gaps = gaps != kNoRanges;
  if (!chunk->has_gaps) return in->ok;
  return read_ranges(in, gaps, kChunkTuples, &chunk->gaps) &&
         chunk->present_rows() + chunk->gaps.positions() <= kChunkTuples;
}

bool read_table(NumberReader* in, uint32_t version, ArchiveTable* table) {
  table->id = in->number<uint32_t>();
  table->rows = in->number<uint64_t>();
  table->row_ids.resize(in->count(sizeof(uint64_t)));
  for (uint64_t& id : table->row_ids) id = in->number<uint64_t>();
  table->files.resize(in->count(16));
  for (ArchiveFile& file : table->files) {
    file.lsn = in->number<uint64_t>();
    file.bytes = in->number<uint64_t>();
  }
  table->chunks.resize(in->count(48));
  for (ArchiveChunk& chunk : table->chunks) {
    for (uint32_t* number : {&chunk.partition, &chunk.chunk, &chunk.file, &chunk.number, &chunk.blocks, &chunk.rows}) {
      *number = in->number<uint32_t>();
    }
    for (uint64_t* number : {&chunk.offset, &chunk.bytes, &chunk.hash}) *number = in->number<uint64_t>();
    if (chunk.file >= table->files.size() || chunk.partition >= table->row_ids.size()) return false;
    const uint64_t size = table->files[chunk.file].bytes;
    if (chunk.offset > size || chunk.bytes > size - chunk.offset || chunk.rows > kChunkTuples) return false;
    if (version != kVersionBeforeRanges && !read_chunk_ranges(in, &chunk)) return false;
  }
  return in->ok;
}

}  // namespace

const std::string* ArchiveManifest::attachment(std::string_view name) const {
  for (const auto& [key, bytes] : attachments) {
    if (key == name) return &bytes;
  }
  return nullptr;
}

std::string encode_manifest(const ArchiveManifest& manifest) {
  std::string out;
  put_number(&out, kMagic);
  put_number(&out, kVersion);
  put_number(&out, uint32_t{0});
  put_number(&out, manifest.cluster[0]);
  put_number(&out, manifest.cluster[1]);
  put_number(&out, manifest.term);
  put_number(&out, manifest.lsn);
  put_number(&out, manifest.time_us);
  put_number(&out, manifest.partitions);
  put_number(&out, static_cast<uint32_t>(manifest.tables.size()));
  for (const ArchiveTable& table : manifest.tables) {
    put_number(&out, table.id);
    put_number(&out, table.rows);
    put_number(&out, static_cast<uint32_t>(table.row_ids.size()));
    for (uint64_t id : table.row_ids) put_number(&out, id);
    put_number(&out, static_cast<uint32_t>(table.files.size()));
    for (const ArchiveFile& file : table.files) {
      put_number(&out, file.lsn);
      put_number(&out, file.bytes);
    }
    put_number(&out, static_cast<uint32_t>(table.chunks.size()));
    for (const ArchiveChunk& chunk : table.chunks) {
      for (uint32_t number : {chunk.partition, chunk.chunk, chunk.file, chunk.number, chunk.blocks, chunk.rows}) {
        put_number(&out, number);
      }
      for (uint64_t number : {chunk.offset, chunk.bytes, chunk.hash}) put_number(&out, number);
      put_chunk_ranges(&out, chunk);
    }
  }
  put_number(&out, static_cast<uint32_t>(manifest.streams.size()));
  for (const StreamPosition& stream : manifest.streams) {
    put_number(&out, stream.number);
    put_number(&out, stream.hash);
  }
  put_number(&out, static_cast<uint32_t>(manifest.attachments.size()));
  for (const auto& [name, bytes] : manifest.attachments) {
    put_text(&out, name);
    put_number(&out, uint64_t{bytes.size()});
    out += bytes;
  }
  put_number(&out, uint64_t{XXH3_64bits(out.data(), out.size())});
  return out;
}

StatusOr<ArchiveManifest> decode_manifest(std::string_view bytes) {
  if (bytes.size() < 2 * sizeof(uint64_t)) return manifest_damaged("it is cut off");
  uint64_t hash;
  const std::string_view hashed = bytes.substr(0, bytes.size() - sizeof(hash));
  std::memcpy(&hash, bytes.data() + hashed.size(), sizeof(hash));
  NumberReader in{hashed};
  if (in.number<uint64_t>() != kMagic) return manifest_damaged("it does not begin as one");
  if (hash != XXH3_64bits(hashed.data(), hashed.size())) return manifest_damaged("it does not match its hash");
  const auto version = in.number<uint32_t>();
  if (version != kVersion && version != kVersionBeforeRanges) {
    return sql_error("0A000", "the archive has version " + std::to_string(version) + ", known are 2 and 3");
  }
  in.number<uint32_t>();
  ArchiveManifest manifest;
  manifest.cluster[0] = in.number<uint64_t>();
  manifest.cluster[1] = in.number<uint64_t>();
  manifest.term = in.number<uint64_t>();
  manifest.lsn = in.number<uint64_t>();
  manifest.time_us = in.number<int64_t>();
  manifest.partitions = in.number<uint32_t>();
  manifest.tables.resize(in.count(24));
  for (ArchiveTable& table : manifest.tables) {
    if (!read_table(&in, version, &table)) return manifest_damaged("it contradicts itself");
  }
  manifest.streams.resize(in.count(sizeof(StreamPosition)));
  for (StreamPosition& stream : manifest.streams) {
    stream.number = in.number<uint64_t>();
    stream.hash = in.number<uint64_t>();
  }
  manifest.attachments.resize(in.count(12));
  for (auto& [name, content] : manifest.attachments) {
    name = std::string(in.text(in.number<uint32_t>()));
    content = std::string(in.text(in.number<uint64_t>()));
  }
  if (!in.ok || !in.bytes.empty()) return manifest_damaged("it contradicts itself");
  return manifest;
}

std::string archive_path(const std::string& archives, uint64_t lsn) {
  char name[32];
  std::snprintf(name, sizeof(name), "/%020llu", static_cast<unsigned long long>(lsn));
  return archives + name;
}

std::string archive_file_name(uint32_t table, uint64_t lsn) {
  return "t" + std::to_string(table) + "." + std::to_string(lsn) + ".dat";
}

StatusOr<std::vector<ArchiveEntry>> list_archives(Disk* disk, const std::string& archives) {
  SCYPER_ASSIGN_OR_RETURN(auto names, disk->list(archives));
  std::vector<ArchiveEntry> entries;
  for (const std::string& name : names) {
    if (name.size() != 20 || name.find_first_not_of("0123456789") != std::string::npos) continue;
    ArchiveEntry entry{std::strtoull(name.c_str(), nullptr, 10), archives + "/" + name, false};
    entry.is_complete = disk->exists(entry.path + "/MANIFEST");
    entries.push_back(std::move(entry));
  }
  return entries;
}

Status remove_archive(Disk* disk, const ArchiveEntry& archive) {
  // the manifest first: what is left of it is no archive
  if (archive.is_complete) {
    SCYPER_RETURN_IF_ERROR(disk->remove(archive.path + "/MANIFEST"));
    SCYPER_RETURN_IF_ERROR(disk->sync_directory(archive.path));
  }
  SCYPER_ASSIGN_OR_RETURN(auto names, disk->list(archive.path));
  for (const std::string& name : names) SCYPER_RETURN_IF_ERROR(disk->remove(archive.path + "/" + name));
  return disk->remove(archive.path);
}

Status remove_unfinished(Disk* disk, const std::string& archives, uint64_t lsn) {
  const ArchiveEntry entry{lsn, archive_path(archives, lsn), false};
  if (!disk->exists(entry.path) || disk->exists(entry.path + "/MANIFEST")) return Status();
  return remove_archive(disk, entry);
}

Status set_archive_aside(Disk* disk, const ArchiveEntry& archive) {
  SCYPER_RETURN_IF_ERROR(disk->rename(archive.path + "/MANIFEST", archive.path + "/MANIFEST.damaged"));
  return disk->sync_directory(archive.path);
}

StatusOr<ArchiveManifest> read_manifest(Disk* disk, const std::string& path) {
  SCYPER_ASSIGN_OR_RETURN(std::string bytes, disk->read_file(path + "/MANIFEST"));
  auto manifest = decode_manifest(bytes);
  if (!manifest.ok()) {
    return sql_error(sqlstate_of(manifest.status()), path + "/MANIFEST: " + std::string(manifest.status().message()));
  }
  return manifest;
}

StatusOr<std::map<std::string, std::vector<std::pair<uint64_t, uint64_t>>>> archive_ranges(
    Disk* disk, const std::string& path, const PartitionSet& partitions) {
  SCYPER_ASSIGN_OR_RETURN(const ArchiveManifest manifest, read_manifest(disk, path));
  std::map<std::string, std::vector<std::pair<uint64_t, uint64_t>>> ranges;
  for (const ArchiveTable& table : manifest.tables) {
    for (const ArchiveChunk& chunk : table.chunks) {
      if (!is_held(table, chunk, partitions)) continue;
      const std::string name = archive_file_name(table.id, table.files[chunk.file].lsn);
      ranges[name].emplace_back(chunk.offset, chunk.offset + chunk.bytes);
    }
  }
  for (auto& [name, of_file] : ranges) {
    std::sort(of_file.begin(), of_file.end());
    size_t last = 0;  // what follows at once goes with it
    for (size_t i = 1; i < of_file.size(); ++i) {
      if (of_file[i].first > of_file[last].second) {
        of_file[++last] = of_file[i];
      } else {
        of_file[last].second = std::max(of_file[last].second, of_file[i].second);
      }
    }
    of_file.resize(last + 1);
  }
  return ranges;
}

}  // namespace scyper::storage
