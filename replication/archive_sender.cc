#include "archive_sender.h"

#include <algorithm>
#include <cstdlib>
#include <utility>

#include "bulk_use.h"
#include "replication.grpc.pb.h"
#include "wire.h"

namespace scyper::replication {

uint64_t archive_lsn(const std::string& path) {
  return std::strtoull(path.substr(path.rfind('/') + 1).c_str(), nullptr, 10);
}

// Names in the order in which they are sent, from the one that is asked for on.
StatusOr<std::vector<std::string>> ArchiveSender::names(const std::string& path, const v1::FetchArchiveRequest& request,
                                                        uint64_t* total) const {
  SCYPER_ASSIGN_OR_RETURN(std::vector<std::string> names, disk_->list(path));
  // this node's tier is not the other one's
  std::erase_if(names, [](const std::string& name) { return name.ends_with(".places"); });
  // without it the directory is no archive: it comes last
  std::erase(names, "MANIFEST");
  names.push_back("MANIFEST");
  for (const std::string& name : names) {
    SCYPER_ASSIGN_OR_RETURN(auto file, disk_->open(path + "/" + name, OpenMode::kRead));
    SCYPER_ASSIGN_OR_RETURN(const uint64_t bytes, file->size());
    *total += bytes;
  }
  if (request.lsn() == 0) return names;
  const auto from = std::find(names.begin(), names.end(), request.file());
  if (from == names.end()) return absl::AbortedError("the archive has no such file");
  names.erase(names.begin(), from);
  return names;
}

Status ArchiveSender::send(grpc::ServerContext* context, const std::string& path,
                           const v1::FetchArchiveRequest& request, grpc::ServerWriter<v1::ArchivePiece>* writer) const {
  Status status = send_all(context, path, request, writer);
  // not "there is no archive": a newer one has taken its place
  return absl::IsNotFound(status) ? absl::AbortedError(status.message()) : status;
}

Status ArchiveSender::send_all(grpc::ServerContext* context, const std::string& path,
                               const v1::FetchArchiveRequest& request,
                               grpc::ServerWriter<v1::ArchivePiece>* writer) const {
  v1::ArchivePiece piece;
  piece.set_lsn(archive_lsn(path));
  if (request.lsn() != 0 && request.lsn() != piece.lsn()) return absl::AbortedError("there is a newer archive");
  uint64_t total = 0;
  SCYPER_ASSIGN_OR_RETURN(const auto names, this->names(path, request, &total));
  piece.set_total_bytes(total);
  uint64_t offset = request.lsn() == 0 ? 0 : request.offset();
  for (const std::string& name : names) {
    SCYPER_ASSIGN_OR_RETURN(auto file, disk_->open(path + "/" + name, OpenMode::kRead));
    piece.set_file(name);
    const uint64_t begin = std::exchange(offset, 0);
    uint64_t at = begin;
    while (true) {
      std::string bytes(kArchivePieceBytes, '\0');
      SCYPER_ASSIGN_OR_RETURN(const size_t read, file->read(at, bytes.data(), bytes.size()));
      bytes.resize(read);
      piece.set_offset(at);
      if (read == 0 && at > begin) break;
      SCYPER_RETURN_IF_ERROR(send_piece(context, request.bulk(), std::move(bytes), &piece, writer));
      if (is_stopped_()) return absl::UnavailableError("the node stops");
      at += read;
      if (read < kArchivePieceBytes) break;
    }
  }
  return Status();
}

Status ArchiveSender::send_piece(grpc::ServerContext* context, uint64_t bulk, std::string bytes,
                                 v1::ArchivePiece* piece, grpc::ServerWriter<v1::ArchivePiece>* writer) const {
  BulkUse use(bulk_, bulk, bytes.size());
  piece->set_bulk_bytes(use.is_there() ? bytes.size() : 0);
  piece->set_bulk_slot(use.is_there() ? use.next_slot() : 0);
  if (use.is_there()) {
    piece->clear_bytes();
  } else {
    piece->set_bytes(std::move(bytes));
  }
  if (context->IsCancelled() || !writer->Write(*piece)) return absl::CancelledError("the secondary has gone");
  return use.is_there() ? use.write(bytes, [&] { return !context->IsCancelled() && !is_stopped_(); }) : Status();
}

}  // namespace scyper::replication
