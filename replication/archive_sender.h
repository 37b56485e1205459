#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "base/disk.h"
#include "base/status.h"
#include "replication/bulk_server.h"
#include "replication/publisher.h"
#include "wire.h"

namespace scyper::replication {

// Of an archive's directory, which its LSN is the name of.
uint64_t archive_lsn(const std::string& path);

// Sends an archive, file after file, as FetchArchive answers. Threads: one.
class ArchiveSender {
 public:
  // bulk: null = by gRPC alone. is_stopped: whether the node ends. parts_of: what some of the partitions need; empty =
  // archives are sent whole only. tier_files: PublisherOptions.
  ArchiveSender(Disk* disk, BulkServer* bulk, std::function<bool()> is_stopped,
                decltype(PublisherOptions::tier_files) tier_files,
                decltype(PublisherOptions::archive_parts) parts_of = {})
      : disk_(disk),
        bulk_(bulk),
        is_stopped_(std::move(is_stopped)),
        tier_files_(std::move(tier_files)),
        parts_of_(std::move(parts_of)) {}
  // Aborted: another archive has taken its place.
  Status send(grpc::ServerContext* context, const std::string& path, const v1::FetchArchiveRequest& request,
              grpc::ServerWriter<v1::ArchivePiece>* writer) const;

 private:
  Status send_all(grpc::ServerContext* context, const std::string& path, const v1::FetchArchiveRequest& request,
                  grpc::ServerWriter<v1::ArchivePiece>* writer) const;
  // A file, and what is sent of it.
  struct Part {
    std::string name;
    std::string path;
    bool is_of_tier = false;
    uint64_t size = 0;  // of all of it
    std::vector<std::pair<uint64_t, uint64_t>> ranges;
  };
  StatusOr<std::vector<Part>> tier_parts(const std::string& path, const v1::FetchArchiveRequest& request) const;
  StatusOr<std::vector<Part>> parts(const std::string& path, const v1::FetchArchiveRequest& request,
                                    uint64_t* total) const;
  Status send_part(grpc::ServerContext* context, uint64_t bulk, const Part& part, File* file, uint64_t begin,
                   v1::ArchivePiece* piece, grpc::ServerWriter<v1::ArchivePiece>* writer) const;
  Status send_piece(grpc::ServerContext* context, uint64_t bulk, std::string bytes, v1::ArchivePiece* piece,
                    grpc::ServerWriter<v1::ArchivePiece>* writer) const;

  Disk* const disk_;
  BulkServer* const bulk_;
  const std::function<bool()> is_stopped_;
  const decltype(PublisherOptions::tier_files) tier_files_;
  const decltype(PublisherOptions::archive_parts) parts_of_;
};

}  // namespace scyper::replication
