#pragma once

#include "session/block_session.h"

namespace scyper::server {

// While one lives a statement of the session runs: a cancel and a client that goes away end it. Before and after
// it they mean nothing, as in PostgreSQL.
class BlockSession::Running {
 public:
  explicit Running(BlockSession* session) : session_(session) {
    absl::MutexLock lock(&session->mutex_);
    outer_ = session->answer_;
    is_inner_ = session->is_running_.exchange(true);
    if (!is_inner_) session->is_cancelled_ = session->is_gone_.load();
  }
  ~Running() {
    absl::MutexLock lock(&session_->mutex_);
    session_->is_running_ = is_inner_;
    session_->answer_ = outer_;
  }
  Running(const Running&) = delete;

  // From here on cancelling ends this answer.
  void watch(Answer* answer) const {
    absl::MutexLock lock(&session_->mutex_);
    session_->answer_ = answer;
    if (answer != nullptr && session_->is_cancelled_) answer->cancel();
  }

 private:
  BlockSession* const session_;
  bool is_inner_ = false;    // within another one: COPY waits for its client, results of portals are read on meanwhile
  Answer* outer_ = nullptr;  // what that one watches
};

}  // namespace scyper::server
