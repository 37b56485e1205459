#include "rpc.h"

#include "base/check.h"

namespace scyper::server {

void Rpc::Operation::proceed(bool ok) {
  (rpc->*handler)(ok);
  rpc->end();
}

void Rpc::end() {
  if (operations_.fetch_sub(1, std::memory_order_acq_rel) != 1) return;
  CompletionLoop* const loop = loop_;
  const bool was_open = is_open_;
  delete this;
  if (was_open) loop->leave();  // which may close it
}

void Rpc::on_accepted(bool ok) {
  if (!ok) return;                  // the server is shutting down
  begin(&done_);                    // comes for calls that were accepted only
  if (!loop_->try_enter()) return;  // too late for any operation; the shutdown has cancelled the call
  is_open_ = true;
  begin(&finished_);
  method_->listen();
  start();
}

void Rpc::on_done(bool) {
  if (context_.IsCancelled()) on_cancel();
}

void* Rpc::begin_finish() {
  CHECK(!is_finishing_.exchange(true, std::memory_order_release));
  return &finished_;
}

void Rpc::on_finished(bool) { CHECK(is_finishing_.load(std::memory_order_acquire)); }

}  // namespace scyper::server
