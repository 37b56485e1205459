#include "digest_rounds.h"

#include <pthread.h>

#include <chrono>
#include <cstdio>
#include <utility>

#include "publication.h"
#include "replay/state_digest.h"

namespace scyper::primary {

DigestRounds::DigestRounds(int64_t period_us, Publication* publication, query::Forker fork)
    : period_us_(period_us), publication_(publication), fork_(std::move(fork)) {
  thread_ = std::thread([this] { run(); });
  pthread_setname_np(thread_.native_handle(), "digests");
}

DigestRounds::~DigestRounds() {
  {
    std::lock_guard<std::mutex> lock(mutex_);
    is_stopping_ = true;
    if (child_ != nullptr) child_->kill();
  }
  stopped_.notify_one();
  thread_.join();
}

void DigestRounds::run() {
  std::unique_lock<std::mutex> lock(mutex_);
  while (!stopped_.wait_for(lock, std::chrono::microseconds(period_us_), [this] { return is_stopping_; })) {
    lock.unlock();
    if (!publication_->members().list().empty()) {
      if (Status status = do_one(); !status.ok()) {
        std::fprintf(stderr, "scyper: no digest: %s\n", std::string(status.message()).c_str());
      }
    }
    lock.lock();
  }
}

Status DigestRounds::do_one() {
  Marker marker;
  query::ForkRequest request = replay::make_digest_request();
  // nothing is committed meanwhile: the marker's cut is the fork's
  request.at_cut = [&](const query::ForkPoint&) { marker = publication_->markers().draw_for_digest(); };
  SCYPER_ASSIGN_OR_RETURN(query::Forked forked, fork_(std::move(request)));
  publication_->wake_log();
  {
    std::lock_guard<std::mutex> lock(mutex_);
    if (is_stopping_) return Status();
    child_ = forked.child.get();
  }
  auto read = replay::read_digest(forked);
  {
    std::lock_guard<std::mutex> lock(mutex_);
    child_ = nullptr;
    if (is_stopping_) return Status();
  }
  SCYPER_ASSIGN_OR_RETURN(replication::StateDigest digest, std::move(read));
  digest.term = publication_->term();
  digest.snapshot = marker.snapshot;
  digest.lsn = marker.lsn;
  publication_->digests().add_own(std::move(digest));
  return Status();
}

}  // namespace scyper::primary
