#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/disk.h"
#include "base/status.h"
#include "storage/archive.h"
#include "storage/frozen_slot.h"
#include "storage/table.h"

// Beside the rows of a table, an archive of the node's own says where the data of frozen chunks lies in the node's
// tier, so that a restart takes them as they are and does not read their rows. Bytes: docs/log_format.md, "Places".
namespace scyper::storage {

// Of those chunks of the archive that are frozen; nothing, and no file, where none has data in the tier. Fork: made for
// a child.
Status write_places(Disk* disk, const std::string& path, const Table& table, const ArchiveTable& archive,
                    const std::function<void(uint64_t bytes)>& on_bytes);

// Its bytes are those of the record that was read last, unless they have been taken away.
struct PlaceRecord {
  uint32_t kind = 0;
  std::unique_ptr<char[]> bytes;
  size_t capacity = 0;
  size_t size = 0;

  std::string_view body() const { return {bytes.get(), size}; }
};

// Brings frozen chunks of an archive to a table that has no rows yet, with what its dictionaries hold for them. All of
// it may fail, for whatever reason: the archive has the rows.
class PlacesReader {
 public:
  using ArchiveChunks = std::map<std::pair<uint32_t, uint32_t>, const ArchiveChunk*>;  // by partition and number

  // Of a table with a tier.
  PlacesReader(Disk* disk, const std::string& path, Table* table) : disk_(disk), path_(path), table_(table) {}
  ~PlacesReader();
  PlacesReader(const PlacesReader&) = delete;
  PlacesReader& operator=(const PlacesReader&) = delete;

  // Those of the archive's chunks that can be, each as the next chunk of its partition; they are taken out of *chunks,
  // and are in *placed in the order in which they came. Else the first reason why one cannot.
  Status read(ArchiveChunks* chunks, std::vector<const ArchiveChunk*>* placed);

 private:
  Status next(PlaceRecord* record);
  Status read_files(std::string_view body);
  Status read_texts(PlaceRecord* record);
  Status place(std::string_view body, ArchiveChunks* chunks, std::vector<const ArchiveChunk*>* placed);
  Status hold_keys(const char* image);

  Disk* const disk_;
  const std::string& path_;
  Table* const table_;
  std::unique_ptr<File> file_;
  uint64_t offset_ = 0;
  uint64_t number_ = 0;
  std::vector<std::shared_ptr<const TierFile>> files_;  // null: it cannot be used
  Status files_status_;
};

// Reads the vectors of the table's key columns that are in the tier into its cache, in the order of the files, so that
// building indexes, which comes next, does not wait for one after the other. Where the cache has room for all; what
// cannot be read is said to whoever needs it.
void read_keys_ahead(const Table& table);

}  // namespace scyper::storage
