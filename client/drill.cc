#include "drill.h"

#include <signal.h>
#include <sys/wait.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <optional>
#include <thread>
#include <tuple>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "base/clock.h"
#include "drill_journal.h"
#include "drill_report.h"
#include "elected_nodes.h"
#include "node_process.h"

namespace scyper::client {

namespace {

using Clock = std::chrono::steady_clock;
constexpr auto kWait = std::chrono::seconds(60);  // for anything that is to happen, or the drill is void
constexpr std::chrono::milliseconds kLook{2};
constexpr std::chrono::milliseconds kSlowLook{50};
constexpr std::chrono::seconds kStill{1};  // without an acknowledgement: then nobody leads

const char kSchema[] =
    "CREATE TABLE IF NOT EXISTS drill_writers (w int PRIMARY KEY, n bigint NOT NULL);"
    "CREATE TABLE IF NOT EXISTS drill_seen (w int, n bigint, id bigint NOT NULL, PRIMARY KEY (w, n));"
    "CREATE OR REPLACE PROCEDURE drill_note(p_w int, p_id bigint) LANGUAGE plpgsql AS $$ DECLARE s bigint; BEGIN "
    "UPDATE drill_writers SET n = n + 1 WHERE w = p_w RETURNING n INTO s; "
    "INSERT INTO drill_seen VALUES (p_w, s, p_id); END $$;";

Status void_drill(const std::string& why) { return sql_error("57014", "the drill is void: " + why); }

// What a node holds.
struct Contents {
  std::vector<std::tuple<int64_t, int64_t, int64_t>> seen;  // writer, number, id; sorted
  std::map<int64_t, int64_t> numbers;                       // by writer
  friend bool operator==(const Contents&, const Contents&) = default;
};

class Drill {
 public:
  Drill(const CommonOptions& common, const DrillOptions& options, const std::string& directory)
      : common_(common),
        options_(options),
        directory_(directory),
        nodes_(node_options(options, directory)),
        journal_(directory + "/journal") {
    report_.kind = options.kind;
    report_.commit_mode = options.commit_mode;
  }
  ~Drill() { stop_auditor(); }

  StatusOr<DrillReport> run() {
    SCYPER_RETURN_IF_ERROR(nodes_.start());
    SCYPER_RETURN_IF_ERROR(make_schema());
    start_auditor();
    for (uint32_t i = 0; i < options_.repeat; ++i) SCYPER_RETURN_IF_ERROR(cause_fault());
    SCYPER_RETURN_IF_ERROR(wait_for_acknowledgements(options_.floor));
    stop_auditor();
    SCYPER_RETURN_IF_ERROR(journal_.read());
    SCYPER_RETURN_IF_ERROR(audit());
    nodes_.stop();
    return std::move(report_);
  }

 private:
  static ElectedNodes::Options node_options(const DrillOptions& options, const std::string& directory) {
    ElectedNodes::Options made;
    made.directory = directory;
    made.count = options.nodes;
    made.commit_mode = options.commit_mode;
    made.lease_ttl = options.lease_ttl;
    made.has_spaces = options.kind == "isolate-primary";
    made.flags = {"--partitions", "4", "--workers", "2", "--segment-bytes", "4MB"};
    return made;
  }

  std::unique_ptr<Client> connect(size_t node) const {
    ConnectOptions to = common_.connect;
    to.target = nodes_.target(node);
    to.connect_timeout_ms = 250;
    to.fails_when_refused = true;
    to.call_timeout_ms = 5000;
    auto client = Client::connect(to);
    return client.ok() ? *std::move(client) : nullptr;
  }

  // An error of the condition is the answer.
  template <typename Condition>
  Status wait_until(const Condition& condition, const std::string& why, std::chrono::milliseconds look) {
    const auto until = Clock::now() + kWait;
    while (true) {
      SCYPER_ASSIGN_OR_RETURN(const bool holds, StatusOr<bool>(condition()));
      if (holds) return Status();
      SCYPER_RETURN_IF_ERROR(nodes_.check());
      if (Clock::now() > until) return void_drill(why);
      std::this_thread::sleep_for(look);
    }
  }

  Status make_schema() {
    std::string script = kSchema;
    for (uint32_t w = 1; w <= options_.writers; ++w) {
      absl::StrAppend(&script, "INSERT INTO drill_writers VALUES (", w, ", 0) ON CONFLICT (w) DO NOTHING;");
    }
    std::string last;  // what each node said
    const Status made = wait_until(
        [&] {
          last.clear();
          for (size_t node = 0; node < nodes_.count(); ++node) {
            auto client = connect(node);
            const Status status = client == nullptr ? sql_error("08001", "no connection")
                                                    : client->execute(script, [](const query::ResultSet&) {});
            if (status.ok()) return true;
            absl::StrAppend(&last, last.empty() ? "" : "; ", nodes_.name(node), ": ", status.message());
          }
          return false;
        },
        "no primary takes the drill's tables", kSlowLook);
    return made.ok() || last.empty() ? made : with_detail(made, last);
  }

  void start_auditor() {
    auditor_ =
        launch({program_beside_this("scyper"), "drill", "auditor", "--targets", absl::StrJoin(nodes_.targets(), ","),
                "--journal", directory_ + "/journal", "--writers", absl::StrCat(options_.writers)},
               directory_ + "/auditor.log");
  }
  void stop_auditor() { end_process(std::exchange(auditor_, -1), SIGTERM); }

  Status wait_for_acknowledgements(size_t more) {
    SCYPER_RETURN_IF_ERROR(journal_.read());
    const size_t wanted = journal_.acknowledged().size() + more;
    return wait_until(
        [&]() -> StatusOr<bool> {
          SCYPER_RETURN_IF_ERROR(journal_.read());
          return journal_.acknowledged().size() >= wanted;
        },
        absl::StrCat("fewer than ", more, " transactions in ", kWait.count(), " s"), kLook);
  }

  // --- faults ---

  Status cause_fault() {
    SCYPER_RETURN_IF_ERROR(wait_for_acknowledgements(options_.floor));
    SCYPER_ASSIGN_OR_RETURN(const size_t primary, find_primary());
    const size_t other = (primary + 1) % nodes_.count();
    if (options_.kind == "kill-secondary") return kill_secondary(other);
    if (options_.kind == "etcd-down") return stop_etcd();
    if (options_.kind == "switchover") return measure_gap([&] { return switch_over(other); });
    if (options_.kind == "rolling-restart") return restart_all(primary);
    return lose_primary(primary);
  }

  // Once all others follow it.
  StatusOr<size_t> find_primary() {
    std::optional<size_t> primary;
    SCYPER_RETURN_IF_ERROR(wait_until(
        [&] {
          primary = nodes_.primary(common_.connect);
          return primary.has_value();
        },
        "not all nodes follow a primary", kSlowLook));
    return *primary;
  }

  void note(double rto_ms) {
    ++report_.faults;
    report_.rto_ms.push_back(rto_ms);
  }

  // Killed, frozen or isolated: until another node acknowledges.
  Status lose_primary(size_t primary) {
    SCYPER_RETURN_IF_ERROR(journal_.read());
    const size_t before = journal_.acknowledged().size();
    const int64_t lost_ns = RealClock().monotonic_ns();
    if (options_.kind == "kill-primary") nodes_.kill(primary, SIGKILL);
    if (options_.kind == "freeze-primary") nodes_.freeze(primary);
    if (options_.kind == "isolate-primary") SCYPER_RETURN_IF_ERROR(nodes_.isolate(primary, true));
    int64_t back_ns = 0;
    SCYPER_RETURN_IF_ERROR(wait_until(
        [&]() -> StatusOr<bool> {
          SCYPER_RETURN_IF_ERROR(journal_.read());
          const auto& all = journal_.acknowledged();
          for (size_t i = before; i < all.size() && back_ns == 0; ++i) {
            if (all[i].ns > lost_ns && all[i].target != nodes_.target(primary)) back_ns = all[i].ns;
          }
          return back_ns != 0;
        },
        "no other node has become primary", kLook));
    note(static_cast<double>(back_ns - lost_ns) / 1e6);
    if (options_.kind == "kill-primary") nodes_.start_again(primary);
    if (options_.kind == "freeze-primary") nodes_.thaw(primary);
    if (options_.kind == "isolate-primary") SCYPER_RETURN_IF_ERROR(nodes_.isolate(primary, false));
    return Status();
  }

  // The longest time without an acknowledgement, from now until `work` has ended and transactions go on.
  template <typename Work>
  Status measure_gap(const Work& work) {
    SCYPER_RETURN_IF_ERROR(journal_.read());
    const size_t before = std::max<size_t>(journal_.acknowledged().size(), 1) - 1;
    SCYPER_RETURN_IF_ERROR(work());
    SCYPER_RETURN_IF_ERROR(wait_for_acknowledgements(options_.floor));
    std::vector<int64_t> times;  // writers note theirs in any order
    for (size_t i = before; i < journal_.acknowledged().size(); ++i) times.push_back(journal_.acknowledged()[i].ns);
    std::sort(times.begin(), times.end());
    int64_t longest_ns = 0;
    for (size_t i = 1; i < times.size(); ++i) longest_ns = std::max(longest_ns, times[i] - times[i - 1]);
    note(static_cast<double>(longest_ns) / 1e6);
    return Status();
  }

  Status kill_secondary(size_t node) {
    return measure_gap([&]() -> Status {
      nodes_.kill(node, SIGKILL);
      SCYPER_RETURN_IF_ERROR(wait_for_acknowledgements(options_.floor));
      nodes_.start_again(node);
      return find_primary().status();
    });
  }

  // Until nothing is acknowledged any more; then from its return until something is.
  Status stop_etcd() {
    nodes_.kill_etcd();
    size_t before = ~size_t{0};
    SCYPER_RETURN_IF_ERROR(wait_until(
        [&]() -> StatusOr<bool> {
          SCYPER_RETURN_IF_ERROR(journal_.read());
          return std::exchange(before, journal_.acknowledged().size()) == journal_.acknowledged().size();
        },
        "transactions go on without etcd", kStill));
    const int64_t back_ns = RealClock().monotonic_ns();
    SCYPER_RETURN_IF_ERROR(nodes_.start_etcd());
    SCYPER_RETURN_IF_ERROR(wait_for_acknowledgements(1));
    note(static_cast<double>(std::max<int64_t>(journal_.acknowledged().back().ns - back_ns, 0)) / 1e6);
    return Status();
  }

  Status switch_over(size_t to) {
    const std::string log = directory_ + "/switchover.log";
    const pid_t pid = launch({program_beside_this("scyper"), "switchover", "--to", nodes_.name(to), "--etcd",
                              nodes_.etcd(), "--cluster", "local", "--timeout-ms", "60000", "--drain-ms", "20000"},
                             log);
    int status = 0;
    ::waitpid(pid, &status, 0);
    if (WIFEXITED(status) && WEXITSTATUS(status) == kExitOk) return Status();
    return with_detail(void_drill("scyper switchover has failed"), "See " + log + ".");
  }

  // One node after the other, the primary last, which hands over before.
  Status restart_all(size_t primary) {
    for (size_t i = 1; i <= nodes_.count(); ++i) {
      const size_t node = (primary + i) % nodes_.count();
      SCYPER_RETURN_IF_ERROR(measure_gap([&]() -> Status {
        if (node == primary) SCYPER_RETURN_IF_ERROR(switch_over((node + 1) % nodes_.count()));
        nodes_.kill(node, SIGTERM);
        nodes_.start_again(node);
        return find_primary().status();
      }));
    }
    return Status();
  }

  // --- the audit ---

  std::optional<Contents> contents(size_t node) const {
    auto client = connect(node);
    if (client == nullptr) return std::nullopt;
    QueryWish wish;  // of the node itself
    wish.freshness.kind = query::Freshness::Kind::kStaleness;
    wish.freshness.staleness_us = 1;
    Contents found;
    Status status = client->query(
        "SELECT w, n, id FROM drill_seen", wish, [&](const query::ResultSet& rows, const query::Receipt*) {
          for (size_t i = 0; i < rows.row_count(); ++i) {
            found.seen.emplace_back(rows.value(i, 0).lo, rows.value(i, 1).lo, rows.value(i, 2).lo);
          }
        });
    if (status.ok()) {
      status = client->query("SELECT w, n FROM drill_writers", wish,
                             [&](const query::ResultSet& rows, const query::Receipt*) {
                               for (size_t i = 0; i < rows.row_count(); ++i) {
                                 found.numbers[rows.value(i, 0).lo] = rows.value(i, 1).lo;
                               }
                             });
    }
    if (!status.ok()) return std::nullopt;
    std::sort(found.seen.begin(), found.seen.end());
    return found;
  }

  Status audit() {
    std::vector<Contents> all;
    const Status level = wait_until(
        [&] {
          all.clear();
          if (!nodes_.primary(common_.connect).has_value()) return false;
          for (size_t node = 0; node < nodes_.count(); ++node) {
            auto found = contents(node);
            if (!found.has_value()) return false;
            all.push_back(*std::move(found));
          }
          return std::all_of(all.begin(), all.end(), [&](const Contents& each) { return each == all.front(); });
        },
        "the nodes do not come together", kSlowLook);
    if (!level.ok() && all.size() < nodes_.count()) return level;
    if (!level.ok()) find(&report_.violations, "nodes hold different rows");
    for (size_t node = 0; node < all.size(); ++node) audit(nodes_.name(node), all[node]);
    report_.acknowledged = journal_.acknowledged().size();
    return Status();
  }

  void audit(const std::string& node, const Contents& contents) {
    std::map<int64_t, int> times;
    std::map<int64_t, int64_t> numbers;
    for (const auto& [writer, number, id] : contents.seen) {
      ++times[id];
      if (number != ++numbers[writer]) find(&report_.violations, absl::StrCat(node, ": a gap before number ", number));
      if (!journal_.sent().contains(id)) find(&report_.violations, absl::StrCat(node, ": ", id, " was never sent"));
      if (journal_.refused().contains(id)) find(&report_.violations, absl::StrCat(node, ": ", id, " was refused"));
    }
    for (const auto& [writer, number] : contents.numbers) {
      if (numbers[writer] != number) find(&report_.violations, absl::StrCat(node, ": writer ", writer, " miscounts"));
    }
    for (const auto& [id, count] : times) {
      if (count > 1) find(&report_.duplicated, absl::StrCat(node, ": ", id, " is there ", count, " times"));
    }
    for (const Acknowledgement& entry : journal_.acknowledged()) {
      if (!times.contains(entry.id)) {
        find(&report_.lost, absl::StrCat(node, ": ", entry.id, " is lost, acknowledged by ", entry.target));
      }
    }
  }

  void find(uint64_t* count, const std::string& finding) {
    ++*count;
    if (report_.findings.size() < 20) report_.findings.push_back(finding);
  }

  const CommonOptions& common_;
  const DrillOptions& options_;
  const std::string directory_;
  ElectedNodes nodes_;
  DrillJournalReader journal_;
  pid_t auditor_ = -1;
  DrillReport report_;
};

}  // namespace

const std::vector<std::string>& drill_kinds() {
  static const std::vector<std::string> kinds = {"kill-primary", "freeze-primary", "isolate-primary", "kill-secondary",
                                                 "etcd-down",    "switchover",     "rolling-restart"};
  return kinds;
}

int run_drill(const CommonOptions& common, const DrillOptions& options) {
  std::string directory = options.directory;
  std::error_code error;
  if (directory.empty()) {
    char name[] = "/tmp/scyper-drill-XXXXXX";
    if (::mkdtemp(name) != nullptr) directory = name;
  }
  std::vector<DrillReport> reports;
  for (const std::string& kind : options.kind == "all" ? drill_kinds() : std::vector{options.kind}) {
    DrillOptions each = options;
    each.kind = kind;
    const std::string place = options.kind == "all" ? directory + "/" + kind : directory;
    std::filesystem::create_directories(place, error);
    if (error) return show_failure(sql_error("58030", place + ": " + error.message()), common.is_json);
    auto report = Drill(common, each, place).run();
    if (!report.ok()) {
      std::fprintf(stderr, "scyper: %s: messages of the nodes are in %s\n", kind.c_str(), place.c_str());
      return show_failure(report.status(), common.is_json);
    }
    reports.push_back(*std::move(report));
  }
  std::fputs((common.is_json ? drill_json(reports) : drill_markdown(reports)).c_str(), stdout);
  if (!options.report.empty()) {
    if (Status status = write_drill_reports(options.report, reports); !status.ok())
      return show_failure(status, common.is_json);
  }
  if (std::all_of(reports.begin(), reports.end(), [](const DrillReport& report) { return report.is_clean(); })) {
    if (options.directory.empty()) std::filesystem::remove_all(directory, error);
    return kExitOk;
  }
  std::fprintf(stderr, "scyper: what the drill left is in %s\n", directory.c_str());
  for (const DrillReport& report : reports) {
    for (const std::string& finding : report.findings)
      std::fprintf(stderr, "scyper: %s: %s\n", report.kind.c_str(), finding.c_str());
  }
  return kExitCheck;
}

}  // namespace scyper::client
