#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "base/disk.h"
#include "base/status.h"
#include "replication/parcel.h"
#include "replication/publisher.h"

namespace grpc {
class Service;
}

namespace scyper::replication {

// What a secondary offers to others of its primary that join or repair: archives and ranges of the log, as the primary
// does (proto/replication.proto), but only while what it has is known to be the history of the primary that they name.
// All functions are called by any thread.
struct PeerPublisherOptions {
  ClusterId cluster;
  std::string node;
  Disk* disk = nullptr;
  // The directory of the newest archive. FailedPrecondition: the node does not know that its state is that of that
  // term's primary; NotFound: there is none.
  std::function<StatusOr<std::string>(uint64_t term)> newest_archive;
  std::function<StatusOr<TierFilePaths>(const std::string& path)> tier_files;  // PublisherOptions
  // Groups behind after_lsn, up to the one that reaches upto_lsn or the last that is here, until each() says no.
  // FailedPrecondition as above; OutOfRange: they are not here.
  std::function<Status(uint64_t term, uint64_t after_lsn, uint64_t upto_lsn, const std::function<bool(Parcel)>& each)>
      read_log;
  std::function<bool()> is_stopped;
};
// What it refers to must outlive it. Register it with a server.
std::shared_ptr<grpc::Service> make_peer_publisher(const PeerPublisherOptions& options);

}  // namespace scyper::replication
