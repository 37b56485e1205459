#include "testing/link_fixture.h"

#include <grpcpp/grpcpp.h>

#include <chrono>
#include <functional>
#include <mutex>
#include <string>

namespace scyper::replication {

LinkTest::LinkTest() : outbox_({kCluster, 1, 0, size_t{1} << 20, 0, {}}), members_(1, [] {}) { serve(true); }

void LinkTest::awaits_positions(bool awaits) {
  server_->Shutdown(std::chrono::system_clock::now());
  serve(awaits);
}

void LinkTest::serve(bool awaits_positions) {
  PublisherOptions options;
  options.awaits_positions = awaits_positions;
  options.outbox = &outbox_;
  options.members = &members_;
  options.digests = &digests_;
  options.clock = &clock_;
  options.partitions = 2;
  options.takes_partial = takes_partial_;
  options.archive_parts = [this](const std::string&, const PartitionSet& partitions) {
    return partitions.has(1) ? archive_parts_ : ArchiveParts();
  };
  options.tier_files = [this](const std::string&) { return tier_files_; };
  options.transport = [] { return TransportInfo(); };
  options.disk = &disk_;
  options.newest_archive = [this] {
    std::lock_guard<std::mutex> lock(mutex_);
    return archive_.empty() ? StatusOr<std::string>(absl::NotFoundError("none")) : StatusOr<std::string>(archive_);
  };
  options.read_log = [this](uint64_t after_lsn, const std::function<bool(Parcel)>& each) -> Status {
    if (files_.empty()) return absl::OutOfRangeError("the log begins later");
    for (const Parcel& parcel : files_) {
      if (parcel.complete_lsn > after_lsn && !each(parcel)) break;
    }
    return Status();
  };
  options.ticket = [](const std::string&, const PartitionSet&) { return replication::Ticket(); };
  if (says_current_) options.current_lsn = [this]() -> StatusOr<uint64_t> { return outbox_.watermark().complete_lsn; };
  options.bulk = &bulk_;
  publisher_ = make_publisher(options);
  server_ = serve_on_loopback(publisher_.get(), &port_);
}

LinkTest::~LinkTest() {
  outbox_.stop();
  server_->Shutdown(std::chrono::system_clock::now());
}

}  // namespace scyper::replication
