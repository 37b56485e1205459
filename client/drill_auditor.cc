#include <signal.h>

#include <atomic>
#include <chrono>
#include <thread>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/clock.h"
#include "client/cluster_client.h"
#include "drill.h"
#include "drill_historian.h"
#include "drill_journal.h"

namespace scyper::client {

namespace {

constexpr int kCallMs = 20'000;
constexpr int kAttemptMs = 1'000;
constexpr std::chrono::milliseconds kAfterRefusal{10};
constexpr int64_t kSecondNs = 1'000'000'000;
constexpr int64_t kIdsPerWriter = int64_t{1} << 40;

void write_on(const CommonOptions& common, const AuditorOptions& options, uint32_t writer, DrillJournal* journal,
              const std::atomic<bool>* is_stopping) {
  ClusterClient client(common.connect, split_targets(options.targets), kCallMs, kAttemptMs);
  query::ResultSet result;
  const std::chrono::nanoseconds pace(options.rate == 0 ? 0 : kSecondNs * options.writers / options.rate);
  for (int64_t i = 1; !*is_stopping; ++i) {
    const int64_t id = writer * kIdsPerWriter + i;
    if (pace.count() > 0) std::this_thread::sleep_for(pace);
    journal->write(absl::StrCat("S ", id, " ", RealClock().monotonic_ns()));
    const Datum arguments[] = {int_datum(writer), int_datum(id)};
    const Status status = client.call("CALL drill_note($1, $2)", arguments, &result);
    if (status.ok()) {
      journal->write(absl::StrCat("A ", id, " ", RealClock().monotonic_ns(), " ", client.target()));
    } else if (sqlstate_of(status) != "40003") {
      journal->write(absl::StrCat("N ", id));
      std::this_thread::sleep_for(kAfterRefusal);
    }
  }
}

}  // namespace

int run_auditor(const CommonOptions& common, const AuditorOptions& options) {
  sigset_t signals;
  sigemptyset(&signals);
  sigaddset(&signals, SIGTERM);
  sigaddset(&signals, SIGINT);
  ::pthread_sigmask(SIG_BLOCK, &signals, nullptr);
  auto journal = DrillJournal::open(options.journal);
  if (!journal.ok()) return show_failure(journal.status(), common.is_json);
  auto history = DrillJournal::open(options.journal + ".history");
  if (!history.ok()) return show_failure(history.status(), common.is_json);
  std::atomic<bool> is_stopping{false};
  std::vector<std::thread> threads;
  for (uint32_t i = 1; i <= options.writers; ++i) {
    threads.emplace_back([&, i] { write_on(common, options, i, journal->get(), &is_stopping); });
  }
  HistorianPlace place;
  for (uint32_t i = 1; i <= options.historians; ++i) {
    threads.emplace_back(
        [&, i] { keep_history(common, options, i, options.seed + i, &place, history->get(), &is_stopping); });
  }
  if (options.historians > 0) {
    threads.emplace_back([&] { add_up_accounts(common, options, history->get(), &is_stopping); });
  }
  int signal_number = 0;
  ::sigwait(&signals, &signal_number);
  is_stopping = true;
  for (std::thread& thread : threads) thread.join();
  return kExitOk;
}

}  // namespace scyper::client
