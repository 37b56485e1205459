#include "cluster_session.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <functional>
#include <thread>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/synchronization/mutex.h"
#include "client/cluster_client.h"
#include "server/call_outcome.h"
#include "statement_splitter.h"

namespace scyper::client {

namespace {

using Clock = std::chrono::steady_clock;
constexpr std::chrono::seconds kWait{20};  // for a primary
constexpr std::chrono::milliseconds kPause{20};
constexpr int kStatusMs = 1000;
constexpr int kConnectMs = 500;

// Nothing was done, another node may do it.
bool is_refusal(const Status& status) {
  const std::string state = sqlstate_of(status);
  return state == "25006" || state == "57P03" || state == "57P01";
}

// One statement that a node looks up by its request id before it does it: everything but definitions.
bool is_done_once(std::string_view sql) {
  StatementSplitter splitter;
  splitter.feed(sql);
  if (const auto first = splitter.next(); first.has_value()) {
    if (!splitter.is_empty()) return false;
    splitter.feed(*first);
  }
  const std::string statement = splitter.rest();  // without comments before it
  const std::string word = absl::AsciiStrToUpper(statement.substr(0, statement.find_first_of(" \t\r\n(;")));
  static constexpr std::string_view kWords[] = {"CALL",   "DELETE", "DO",     "INSERT", "MERGE",
                                                "SELECT", "TABLE",  "UPDATE", "VALUES", "WITH"};
  return std::ranges::find(kWords, word) != std::end(kWords);
}

// Sees whether a query has begun to answer, and whether it has said all.
class Watched final : public QueryHandler {
 public:
  explicit Watched(QueryHandler* handler) : handler_(handler) {}
  void on_columns(const std::vector<query::ResultColumn>& columns) override {
    is_begun_ = true;
    handler_->on_columns(columns);
  }
  void on_rows(const query::ResultSet& rows) override {
    is_begun_ = true;
    handler_->on_rows(rows);
  }
  void on_complete(const query::ResultSet& end, const query::Receipt* receipt) override {
    is_begun_ = is_complete_ = true;
    handler_->on_complete(end, receipt);
  }
  bool is_begun() const { return is_begun_; }
  bool is_complete() const { return is_complete_; }

 private:
  QueryHandler* const handler_;
  bool is_begun_ = false;
  bool is_complete_ = false;
};

// A COPY keeps the session that it belongs to.
class HeldCopy final : public CopySink {
 public:
  HeldCopy(std::shared_ptr<Session> session, std::unique_ptr<CopySink> sink)
      : session_(std::move(session)), sink_(std::move(sink)) {}
  Status write(std::string_view text) override { return sink_->write(text); }
  Status finish(query::ResultSet* result) override { return sink_->finish(result); }

 private:
  const std::shared_ptr<Session> session_;
  const std::unique_ptr<CopySink> sink_;
};

class ClusterSession final : public Session {
 public:
  explicit ClusterSession(const ConnectOptions& options)
      : options_(options), targets_(split_targets(options.target)), client_id_(server::draw_client_id()) {}

  Status connect() {
    const auto until = Clock::now() + kWait;
    while (true) {
      Status last = sql_error("08001", "no node is given");
      for (const std::string& target : targets_) {
        last = connect_to(target);
        if (last.ok()) return last;
      }
      if (Clock::now() >= until || is_cancelled_) return last;
      std::this_thread::sleep_for(kPause);
    }
  }

  Status execute(std::string_view sql, const ResultHandler& each) override {
    if (transaction_state() != Transaction::State::kNone) return execute_in_transaction(sql, each);
    return follow(identity_of(sql), [&](const std::shared_ptr<Session>& inner) {
      Attempt attempt;
      attempt.may_have_run = !begins_block(sql);
      attempt.status = inner->execute(sql, [&](const query::ResultSet& result) {
        attempt.is_begun = attempt.is_complete = true;  // of several statements some have run
        receipt_ = inner->receipt();
        each(result);
      });
      receipt_ = inner->receipt();
      return attempt;
    });
  }
  Status stream(std::string_view sql, QueryHandler* handler) override {
    if (transaction_state() != Transaction::State::kNone) return inner()->stream(sql, handler);
    return follow(identity_of(sql), [&](const std::shared_ptr<Session>& inner) {
      Watched watched(handler);
      Attempt attempt;
      attempt.status = inner->stream(sql, &watched);
      attempt.is_begun = watched.is_begun();
      attempt.is_complete = watched.is_complete();
      return attempt;
    });
  }
  StatusOr<std::unique_ptr<CopySink>> open_copy(std::string_view sql) override {
    if (transaction_state() != Transaction::State::kNone) return inner()->open_copy(sql);
    std::unique_ptr<CopySink> held;
    SCYPER_RETURN_IF_ERROR(follow(CallIdentity(), [&](const std::shared_ptr<Session>& inner) {
      auto sink = inner->open_copy(sql);
      if (sink.ok()) held = std::make_unique<HeldCopy>(inner, *std::move(sink));
      Attempt attempt;
      attempt.status = sink.status();
      attempt.may_have_run = false;
      return attempt;
    }));
    return held;
  }
  void cancel() override {
    is_cancelled_ = true;
    inner()->cancel();
  }
  Transaction::State transaction_state() const override { return inner()->transaction_state(); }
  StatusOr<query::Receipt> pin(const query::Freshness& freshness) override {
    auto receipt = inner()->pin(freshness);
    wish_.session = inner()->wish().session;
    return receipt;
  }
  Status unpin() override {
    wish_.session = 0;
    return inner()->unpin();
  }
  StatusOr<Description> describe() override { return inner()->describe(); }
  StatusOr<NodeStatus> status() override { return inner()->status(); }
  StatusOr<Loader> open_load(const std::string& table) override { return inner()->open_load(table); }
  std::string name() const override { return inner()->name(); }

 private:
  struct Attempt {
    Status status;
    bool is_begun = false;     // something was answered: no other node does it again
    bool is_complete = false;  // of one statement: all of its answer
    bool may_have_run = true;  // when the answer was lost
  };
  // Another node knows nothing of the transaction, so nothing is tried again.
  Status execute_in_transaction(std::string_view sql, const ResultHandler& each) {
    const std::shared_ptr<Session> inner = this->inner();
    inner->wish() = wish_;
    const Status status = inner->execute(sql, each);
    receipt_ = inner->receipt();
    return status;
  }
  // Empty: when the answer to the text is lost, it is not sent again.
  CallIdentity identity_of(std::string_view sql) {
    return is_done_once(sql) ? CallIdentity{client_id_, ++last_request_} : CallIdentity();
  }
  // One thing on the primary; again on the next one when this one has refused it, or was lost before it did anything.
  // With an identity also when the answer was lost, until a node says what became of it.
  Status follow(const CallIdentity& identity, const std::function<Attempt(const std::shared_ptr<Session>&)>& run) {
    const bool has_identity = identity.client_id != 0;
    const auto until = Clock::now() + kWait;
    is_cancelled_ = false;
    Status open;  // of the newest attempt that may have done it
    while (true) {
      const std::shared_ptr<Session> inner = this->inner();
      inner->wish() = wish_;
      inner->wish().identity = identity;
      Attempt attempt = run(inner);
      const bool is_lost = sqlstate_of(attempt.status).starts_with("08");
      if (is_lost && has_identity && attempt.is_complete) attempt.status = Status();  // only its end was lost
      const bool is_last =
          open.ok() ? !is_lost && !is_refusal(attempt.status) : server::is_of_execution(attempt.status);
      if (attempt.status.ok() || is_last || is_cancelled_) return attempt.status;
      wish_.session = 0;
      if (is_lost && attempt.may_have_run) open = attempt.status;
      const Status found = connect();
      if (open.ok()) {
        if (!found.ok()) return found;
        if (attempt.is_begun || Clock::now() >= until) return attempt.status;
      } else if (!has_identity || attempt.is_begun) {
        if (!found.ok()) return found;
        return with_hint(std::move(open), absl::StrCat("It may have committed or not. Connected to ", name(), "."));
      } else if (!found.ok() || Clock::now() >= until) {
        return server::unknown_outcome(open);
      }
      std::this_thread::sleep_for(kPause);
    }
  }
  Status connect_to(const std::string& target) {
    ConnectOptions to = options_;
    to.target = target;
    to.connect_timeout_ms = kConnectMs;
    to.fails_when_refused = true;
    SCYPER_ASSIGN_OR_RETURN(auto client, Client::connect(to));
    SCYPER_ASSIGN_OR_RETURN(const NodeStatus status, client->status(kStatusMs));
    if (status.role != "primary") return sql_error("25006", target + " is not the primary");
    std::shared_ptr<Session> made = remote_session(std::move(client), "at " + target);
    absl::MutexLock lock(&mutex_);
    inner_ = std::move(made);
    return Status();
  }
  std::shared_ptr<Session> inner() const {
    absl::MutexLock lock(&mutex_);
    return inner_;
  }

  const ConnectOptions options_;
  const std::vector<std::string> targets_;
  const uint64_t client_id_;
  uint64_t last_request_ = 0;
  std::atomic<bool> is_cancelled_{false};
  mutable absl::Mutex mutex_;
  std::shared_ptr<Session> inner_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace

StatusOr<std::unique_ptr<Session>> cluster_session(const ConnectOptions& options) {
  auto session = std::make_unique<ClusterSession>(options);
  SCYPER_RETURN_IF_ERROR(session->connect());
  return std::unique_ptr<Session>(std::move(session));
}

}  // namespace scyper::client
