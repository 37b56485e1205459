#include "log_keeper.h"

#include <cstring>
#include <utility>
#include <vector>

#include "base/check.h"

namespace scyper::secondary {

StatusOr<std::unique_ptr<LogKeeper>> LogKeeper::open(Disk* disk, const std::string& directory,
                                                     const replay::NodeIdentity& identity,
                                                     const replay::Recovered& recovered, uint64_t segment_bytes,
                                                     uint64_t retention_bytes) {
  storage::LogAppender::Options options;
  options.cluster[0] = identity.cluster.words[0];
  options.cluster[1] = identity.cluster.words[1];
  options.term = recovered.term;
  options.segment_bytes = (segment_bytes + kDiskBlockBytes - 1) / kDiskBlockBytes * kDiskBlockBytes;
  options.retention_bytes = retention_bytes;
  options.lacks_positions = recovered.lacks_positions;
  SCYPER_ASSIGN_OR_RETURN(
      auto appender, storage::LogAppender::create(disk, replay::log_directory(directory), options, recovered.segments));
  return std::unique_ptr<LogKeeper>(new LogKeeper(std::move(appender), recovered.segments));
}

Status LogKeeper::drop_before(uint64_t lsn) {
  const Status dropped = appender_->drop_before(lsn).status();
  while (segments_.size() > appender_->segment_count()) segments_.erase(segments_.begin());  // the oldest go
  return dropped;
}

namespace {

std::vector<storage::StreamPosition> positions_before(const replication::Inbox::Group& group) {
  std::vector<storage::StreamPosition> positions;
  for (const auto& position : group.positions_before) positions.push_back({position.number, position.hash});
  return positions;
}

}  // namespace

Status LogKeeper::append_all(const std::vector<replication::Inbox::Group>& groups, int64_t time_us) {
  CHECK(!groups.empty());
  std::string bytes;
  for (const replication::Inbox::Group& group : groups) {
    bytes += *group.parcel.bytes;
    bytes.resize((bytes.size() + kDiskBlockBytes - 1) / kDiskBlockBytes * kDiskBlockBytes);
  }
  const replication::Parcel& first = groups.front().parcel;
  appender_->set_term(first.term);
  SCYPER_RETURN_IF_ERROR(appender_->append_segment(bytes, first.base_lsn, positions_before(groups.front()), time_us));
  appender_->set_term(groups.back().parcel.term);
  segments_.push_back({appender_->segment_number(), first.base_lsn});
  return Status();
}

Status LogKeeper::append(const replication::Inbox::Group& group, int64_t time_us) {
  const std::string& bytes = *group.parcel.bytes;
  const size_t padded = (bytes.size() + kDiskBlockBytes - 1) / kDiskBlockBytes * kDiskBlockBytes;
  if (padded > block_bytes_) {
    block_bytes_ = padded + padded / 2 / kDiskBlockBytes * kDiskBlockBytes;
    block_.reset(static_cast<char*>(std::aligned_alloc(kDiskBlockBytes, block_bytes_)));
    CHECK(block_ != nullptr);
  }
  std::memcpy(block_.get(), bytes.data(), bytes.size());
  std::memset(block_.get() + bytes.size(), 0, padded - bytes.size());
  appender_->set_term(group.parcel.term);
  SCYPER_RETURN_IF_ERROR(
      appender_->append({block_.get(), padded}, group.parcel.base_lsn, positions_before(group), time_us));
  if (segments_.empty() || segments_.back().number != appender_->segment_number()) {
    segments_.push_back({appender_->segment_number(), group.parcel.base_lsn});
  }
  return Status();
}

}  // namespace scyper::secondary
