#include "drill_historian.h"

#include <chrono>
#include <memory>
#include <thread>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/clock.h"
#include "base/random.h"
#include "client/cluster_client.h"
#include "client/transaction.h"
#include "result_format.h"

namespace scyper::client {

namespace {

constexpr int kCallMs = 20'000, kAttemptMs = 1'000;
// Histories are for what overlaps, not for load: much of it would only slow the check down.
constexpr std::chrono::milliseconds kPause{15};
constexpr std::chrono::milliseconds kThinking{5};  // of a block's client
constexpr std::chrono::milliseconds kBetweenSums{50};
constexpr int64_t kOperationsPerKey = 60;  // the check of a register grows with its operations

constexpr char kSchema[] = R"(
CREATE TABLE IF NOT EXISTS drill_registers (k bigint PRIMARY KEY, v bigint NOT NULL);
CREATE TABLE IF NOT EXISTS drill_lists (k bigint PRIMARY KEY, v text NOT NULL);
CREATE TABLE IF NOT EXISTS drill_accounts (k bigint PRIMARY KEY, b bigint NOT NULL);
CREATE OR REPLACE PROCEDURE drill_read(p_k bigint, INOUT p_v bigint) LANGUAGE plpgsql AS $$ BEGIN
  SELECT v INTO p_v FROM drill_registers WHERE k = p_k;
  p_v := coalesce(p_v, 0);
END $$;
CREATE OR REPLACE PROCEDURE drill_write(p_k bigint, p_v bigint) LANGUAGE plpgsql AS $$ BEGIN
  INSERT INTO drill_registers VALUES (p_k, p_v) ON CONFLICT (k) DO UPDATE SET v = p_v;
END $$;
CREATE OR REPLACE PROCEDURE drill_cas(p_k bigint, p_old bigint, p_new bigint, INOUT p_done bigint) LANGUAGE plpgsql AS $$ BEGIN
  UPDATE drill_registers SET v = p_new WHERE k = p_k AND v = p_old;
  p_done := 0;
  IF FOUND THEN p_done := 1; END IF;
END $$;
CREATE OR REPLACE PROCEDURE drill_append(p_k1 bigint, p_v1 bigint, p_k2 bigint, p_v2 bigint, INOUT p_l1 text, INOUT p_l2 text)
LANGUAGE plpgsql AS $$ BEGIN
  SELECT v INTO p_l1 FROM drill_lists WHERE k = p_k1;
  SELECT v INTO p_l2 FROM drill_lists WHERE k = p_k2;
  p_l1 := coalesce(p_l1, '-');
  p_l2 := coalesce(p_l2, '-');
  IF p_v1 > 0 THEN
    INSERT INTO drill_lists VALUES (p_k1, p_v1::text) ON CONFLICT (k) DO UPDATE SET v = drill_lists.v || ',' || p_v1::text;
  END IF;
  IF p_v2 > 0 THEN
    INSERT INTO drill_lists VALUES (p_k2, p_v2::text) ON CONFLICT (k) DO UPDATE SET v = drill_lists.v || ',' || p_v2::text;
  END IF;
END $$;
CREATE OR REPLACE PROCEDURE drill_transfer(p_from bigint, p_to bigint, p_amount bigint) LANGUAGE plpgsql AS $$ BEGIN
  UPDATE drill_accounts SET b = b - p_amount WHERE k = p_from;
  UPDATE drill_accounts SET b = b + p_amount WHERE k = p_to;
END $$;
)";

// Whether it may have been done.
bool is_open(const Status& status) { return sqlstate_of(status) == "40003"; }

// One transaction on two lists: it reads both, then appends the values above 0.
struct ListPair {
  int64_t keys[2];
  int64_t values[2];
  std::string read[2] = {"-", "-"};
};

// The same as drill_append() by statements of one SERIALIZABLE block, on any node: a secondary's go on at the primary.
class ListBlock {
 public:
  ListBlock(const CommonOptions& common, const AuditorOptions& options)
      : connect_(common.connect), targets_(split_targets(options.targets)) {
    connect_.connect_timeout_ms = 250;
    connect_.fails_when_refused = true;
    connect_.call_timeout_ms = kAttemptMs;
  }
  // "D": it is done; "O": nobody knows; "R": it is not.
  const char* run(Random* random, ListPair* lists) {
    connect_.target = targets_[random->below(targets_.size())];
    auto client = Client::connect(connect_);
    if (!client.ok()) return "R";
    TransactionOptions options;
    options.isolation = Isolation::kSerializable;
    options.settings["statement_timeout"] = absl::StrCat(kAttemptMs);
    auto transaction = (*client)->begin(options);
    if (!transaction.ok() || !change(transaction->get(), lists).ok()) return "R";
    const Status status = (*transaction)->commit();
    if (status.ok()) return "D";
    const std::string state(sqlstate_of(status));
    return state.starts_with("40") && state != "40003" ? "R" : "O";
  }

 private:
  Status change(Transaction* transaction, ListPair* lists) {
    for (int i = 0; i < 2; ++i) {
      SCYPER_RETURN_IF_ERROR(
          execute(transaction, absl::StrCat("SELECT v FROM drill_lists WHERE k = ", lists->keys[i])));
      if (result_.row_count() == 1) lists->read[i] = value_text(result_.columns[0].type, result_.value(0, 0));
    }
    std::this_thread::sleep_for(kThinking);
    for (int i = 0; i < 2; ++i) {
      const int64_t value = lists->values[i];
      if (value == 0) continue;
      SCYPER_RETURN_IF_ERROR(
          execute(transaction, absl::StrCat("INSERT INTO drill_lists VALUES (", lists->keys[i], ", '", value,
                                            "') ON CONFLICT (k) DO UPDATE SET v = drill_lists.v || ',", value, "'")));
    }
    return Status();
  }
  Status execute(Transaction* transaction, const std::string& sql) {
    return transaction->execute(sql, &result_, kAttemptMs);
  }

  ConnectOptions connect_;
  const std::vector<std::string> targets_;
  query::ResultSet result_;
};

class Historian {
 public:
  Historian(const CommonOptions& common, const AuditorOptions& options, uint32_t number, uint64_t seed,
            HistorianPlace* place, DrillJournal* journal)
      : client_(common.connect, split_targets(options.targets), kCallMs, kAttemptMs),
        number_(number),
        random_(seed),
        place_(place),
        journal_(journal),
        block_(common, options) {}

  void work() {
    const int64_t key = ++place_->operations / kOperationsPerKey;
    const uint64_t what = random_.below(10);
    if (what < 5) return use_register(key);
    if (what < 8) return use_lists(key, /*in_block=*/what == 7);
    const Datum arguments[] = {int_datum(account()), int_datum(account()), int_datum(1 + account())};
    static_cast<void>(client_.call("CALL drill_transfer($1, $2, $3)", arguments, &result_));
  }

 private:
  int64_t account() { return static_cast<int64_t>(random_.below(kDrillAccounts)); }

  // What was refused is left out: when it was done all the same, somebody reads a value that nobody wrote.
  void use_register(int64_t key) {
    const uint64_t what = random_.below(3);
    const int64_t old = seen_key_ == key ? seen_ : 0, value = ++place_->last_value;
    const int64_t called_ns = RealClock().monotonic_ns();
    Status status;
    int64_t answer = 0;
    if (what == 0) {
      const Datum arguments[] = {int_datum(key), int_datum(0)};
      status = client_.call("CALL drill_read($1, $2)", arguments, &result_);
    } else if (what == 1) {
      const Datum arguments[] = {int_datum(key), int_datum(value)};
      status = client_.call("CALL drill_write($1, $2)", arguments, &result_);
    } else {
      const Datum arguments[] = {int_datum(key), int_datum(old), int_datum(value), int_datum(0)};
      status = client_.call("CALL drill_cas($1, $2, $3, $4)", arguments, &result_);
    }
    const int64_t returned_ns = RealClock().monotonic_ns();
    if (!status.ok() && !is_open(status)) return;
    if (status.ok() && what != 1 && result_.row_count() == 1) answer = result_.value(0, 0).lo;
    if (status.ok() && what != 2) seen_ = what == 0 ? answer : value, seen_key_ = key;
    static constexpr const char* kKinds[] = {"read", "write", "cas"};
    journal_->write(absl::StrCat("R ", number_, " ", called_ns, " ", status.ok() ? returned_ns : -1, " ", key, " ",
                                 kKinds[what], " ", what == 1 ? value : old, " ", value, " ", answer));
  }

  void use_lists(int64_t key, bool in_block) {
    ListPair lists{
        .keys = {key, key + 1},
        .values = {random_.below(3) == 0 ? 0 : ++place_->last_value, random_.below(2) == 0 ? 0 : ++place_->last_value}};
    const char* outcome = in_block ? block_.run(&random_, &lists) : call(&lists);
    journal_->write(absl::StrCat("L ", outcome, " ", lists.keys[0], " ", lists.values[0], " ", lists.read[0], " ",
                                 lists.keys[1], " ", lists.values[1], " ", lists.read[1]));
  }
  const char* call(ListPair* lists) {
    const Datum arguments[] = {int_datum(lists->keys[0]), int_datum(lists->values[0]), int_datum(lists->keys[1]),
                               int_datum(lists->values[1])};
    const Status status = client_.call("CALL drill_append($1, $2, $3, $4, '', '')", arguments, &result_);
    const bool has_rows = status.ok() && result_.row_count() == 1;
    for (size_t i = 0; i < 2 && has_rows; ++i)
      lists->read[i] = value_text(result_.columns[i].type, result_.value(0, i));
    return has_rows ? "D" : status.ok() || is_open(status) ? "O" : "R";
  }

  ClusterClient client_;
  const uint32_t number_;
  Random random_;
  HistorianPlace* const place_;
  DrillJournal* const journal_;
  ListBlock block_;
  query::ResultSet result_;
  int64_t seen_key_ = -1, seen_ = 0;  // the register it saw last
};

}  // namespace

std::string historian_schema() {
  std::string script = kSchema;
  for (int64_t account = 0; account < kDrillAccounts; ++account) {
    absl::StrAppend(&script, "INSERT INTO drill_accounts VALUES (", account, ", ", kDrillBalance,
                    ") ON CONFLICT (k) DO NOTHING;");
  }
  return script;
}

void keep_history(const CommonOptions& common, const AuditorOptions& options, uint32_t historian, uint64_t seed,
                  HistorianPlace* place, DrillJournal* journal, const std::atomic<bool>* is_stopping) {
  Historian work(common, options, historian, seed, place, journal);
  while (!*is_stopping) {
    work.work();
    std::this_thread::sleep_for(kPause);
  }
}

void add_up_accounts(const CommonOptions& common, const AuditorOptions& options, DrillJournal* journal,
                     const std::atomic<bool>* is_stopping) {
  const std::vector<std::string> targets = split_targets(options.targets);
  std::vector<std::unique_ptr<Client>> clients(targets.size());
  QueryWish wish;  // of the node itself
  wish.freshness.kind = query::Freshness::Kind::kStaleness;
  wish.freshness.staleness_us = 1000;
  wish.timeout_ms = kAttemptMs;
  for (size_t turn = 0; !*is_stopping; ++turn) {
    const size_t node = turn % targets.size();
    std::this_thread::sleep_for(kBetweenSums);
    if (clients[node] == nullptr) {
      ConnectOptions to = common.connect;
      to.target = targets[node];
      to.connect_timeout_ms = 250;
      to.fails_when_refused = true;
      to.call_timeout_ms = kAttemptMs;
      auto client = Client::connect(to);
      if (!client.ok()) continue;
      clients[node] = *std::move(client);
    }
    const Status status = clients[node]->query(
        "SELECT sum(b)::bigint, count(*) FROM drill_accounts", wish,
        [&](const query::ResultSet& rows, const query::Receipt*) {
          for (size_t i = 0; i < rows.row_count(); ++i) {
            journal->write(absl::StrCat("B ", targets[node], " ", rows.value(i, 0).lo, " ", rows.value(i, 1).lo));
          }
        });
    if (!status.ok()) clients[node].reset();
  }
}

}  // namespace scyper::client
