#include "archive_sender.h"

#include <algorithm>
#include <cstdlib>
#include <iterator>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "bulk_use.h"
#include "replication.grpc.pb.h"
#include "wire.h"

namespace scyper::replication {

namespace {

constexpr char kPlaces[] = ".places";  // that of the node's own tier: storage/archive_places.h

}  // namespace

uint64_t archive_lsn(const std::string& path) {
  return std::strtoull(path.substr(path.rfind('/') + 1).c_str(), nullptr, 10);
}

// Those that the other node lacks. One that is not there is missed there as it would be here: rows are read instead.
StatusOr<std::vector<ArchiveSender::Part>> ArchiveSender::tier_parts(const std::string& path,
                                                                     const v1::FetchArchiveRequest& request) const {
  std::vector<Part> parts;
  SCYPER_ASSIGN_OR_RETURN(const TierFilePaths files, tier_files_(path));
  const std::set<std::string> present(request.tier_files().begin(), request.tier_files().end());
  for (const auto& [name, at] : files) {
    if (present.contains(name) || !disk_->exists(at)) continue;
    SCYPER_ASSIGN_OR_RETURN(auto file, disk_->open(at, OpenMode::kRead));
    SCYPER_ASSIGN_OR_RETURN(const uint64_t bytes, file->size());
    parts.push_back({name, at, true, bytes, {{0, bytes}}});
  }
  return parts;
}

// In the order in which they are sent, from the file that is asked for on.
StatusOr<std::vector<ArchiveSender::Part>> ArchiveSender::parts(const std::string& path,
                                                                const v1::FetchArchiveRequest& request,
                                                                uint64_t* total) const {
  const PartitionSet partitions = decode_partitions(request.partitions());
  std::vector<std::string> names;
  ArchiveParts some;
  if (partitions.is_all()) {
    SCYPER_ASSIGN_OR_RETURN(names, disk_->list(path));
  } else {
    if (!parts_of_) return absl::FailedPreconditionError("archives are given whole here");
    SCYPER_ASSIGN_OR_RETURN(some, parts_of_(path, partitions));
    for (const auto& [name, ranges] : some) names.push_back(name);
  }
  std::vector<Part> of_tier;
  if (request.tier() && tier_files_ && partitions.is_all()) {
    SCYPER_ASSIGN_OR_RETURN(of_tier, tier_parts(path, request));
  } else {
    std::erase_if(names, [](const std::string& name) { return name.ends_with(kPlaces); });
  }
  std::erase(names, kManifest);
  std::vector<Part> parts;
  const auto add = [&](const std::string& name) -> Status {
    SCYPER_ASSIGN_OR_RETURN(auto file, disk_->open(path + "/" + name, OpenMode::kRead));
    SCYPER_ASSIGN_OR_RETURN(const uint64_t bytes, file->size());
    const auto found = some.find(name);
    auto ranges = found == some.end() ? std::vector<std::pair<uint64_t, uint64_t>>{{0, bytes}} : found->second;
    parts.push_back({name, path + "/" + name, false, bytes, std::move(ranges)});
    return Status();
  };
  for (const std::string& name : names) SCYPER_RETURN_IF_ERROR(add(name));
  std::move(of_tier.begin(), of_tier.end(), std::back_inserter(parts));
  // without it the directory is no archive: it comes last
  SCYPER_RETURN_IF_ERROR(add(kManifest));
  for (const Part& part : parts) {
    for (const auto& [begin, end] : part.ranges) *total += end - begin;
  }
  if (request.lsn() == 0) return parts;
  const auto from =
      std::find_if(parts.begin(), parts.end(), [&](const Part& part) { return part.name == request.file(); });
  if (from == parts.end()) return absl::AbortedError("the archive has no such file");
  parts.erase(parts.begin(), from);
  return parts;
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
  SCYPER_ASSIGN_OR_RETURN(const std::vector<Part> parts, this->parts(path, request, &total));
  piece.set_total_bytes(total);
  uint64_t begin = request.lsn() == 0 ? 0 : request.offset();
  for (const Part& part : parts) {
    SCYPER_ASSIGN_OR_RETURN(auto file, disk_->open(part.path, OpenMode::kRead));
    piece.set_file(part.name);
    piece.set_tier(part.is_of_tier);
    const uint64_t from = std::exchange(begin, 0);
    SCYPER_RETURN_IF_ERROR(send_part(context, request.bulk(), part, file.get(), from, &piece, writer));
  }
  return Status();
}

// From `begin` on. What is left out is a gap between two pieces; the last one ends where the file does.
Status ArchiveSender::send_part(grpc::ServerContext* context, uint64_t bulk, const Part& part, File* file,
                                uint64_t begin, v1::ArchivePiece* piece,
                                grpc::ServerWriter<v1::ArchivePiece>* writer) const {
  uint64_t sent = begin;
  bool has_sent = false;
  const auto send_at = [&](uint64_t at, uint64_t size) -> Status {
    std::string bytes(size, '\0');
    SCYPER_ASSIGN_OR_RETURN(const size_t read, file->read(at, bytes.data(), size));
    if (read != size) return absl::DataLossError(absl::StrCat(part.name, " of the archive is cut off"));
    piece->set_offset(at);
    SCYPER_RETURN_IF_ERROR(send_piece(context, bulk, std::move(bytes), piece, writer));
    sent = at + size;
    has_sent = true;
    return is_stopped_() ? absl::UnavailableError("the node stops") : Status();
  };
  for (const auto& [from, to] : part.ranges) {
    for (uint64_t at = std::max(from, begin); at < to; at = sent) {
      SCYPER_RETURN_IF_ERROR(send_at(at, std::min<uint64_t>(kArchivePieceBytes, to - at)));
    }
  }
  return has_sent && sent >= part.size ? Status() : send_at(part.size, 0);
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
