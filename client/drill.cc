#include "drill.h"

#include <signal.h>
#include <sys/wait.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "base/clock.h"
#include "base/random.h"
#include "drill_audit.h"
#include "drill_disks.h"
#include "drill_failpoints.h"
#include "drill_historian.h"
#include "drill_history.h"
#include "drill_journal.h"
#include "drill_kinds.h"
#include "drill_report.h"
#include "drill_resources.h"
#include "elected_nodes.h"
#include "node_process.h"

namespace scyper::client {

namespace {

using Clock = std::chrono::steady_clock;
constexpr auto kWait = std::chrono::seconds(60);  // for anything that is to happen, or the drill is void
constexpr std::chrono::milliseconds kLook{2};
constexpr std::chrono::milliseconds kSlowLook{50};
constexpr std::chrono::seconds kStill{1};    // without an acknowledgement: then nobody leads
constexpr std::chrono::seconds kStopped{5};  // without one, on a busy machine: then nothing is acknowledged any more
constexpr std::chrono::seconds kWithoutEtcd{10};
constexpr std::chrono::seconds kSettle{10};
constexpr int kWarmShare = 5;  // of the time until the nodes are what they are to stay

const char kSchema[] =
    "CREATE TABLE IF NOT EXISTS drill_writers (w int PRIMARY KEY, n bigint NOT NULL);"
    "CREATE TABLE IF NOT EXISTS drill_seen (w int, n bigint, id bigint NOT NULL, PRIMARY KEY (w, n));"
    "CREATE OR REPLACE PROCEDURE drill_note(p_w int, p_id bigint) LANGUAGE plpgsql AS $$ DECLARE s bigint; BEGIN "
    "UPDATE drill_writers SET n = n + 1 WHERE w = p_w RETURNING n INTO s; "
    "INSERT INTO drill_seen VALUES (p_w, s, p_id); END $$;";

// The least and the longest of a brief fault.
constexpr uint64_t kBriefMs = 20, kBriefMsMax = 500;

Status void_drill(const std::string& why) { return sql_error("57014", "the drill is void: " + why); }

class Drill {
 public:
  Drill(const CommonOptions& common, const DrillOptions& options, const std::string& directory)
      : common_(common),
        options_(options),
        turns_(turns_of(options)),
        directory_(directory),
        nodes_(node_options(options, directory)),
        seed_(options.seed != 0 ? options.seed : static_cast<uint64_t>(RealClock().now_us())),
        random_(seed_) {
    report_.kind = options.kind;
    report_.commit_mode = options.commit_mode;
    const auto is_drawn = [](const std::string& kind) {
      return kind.starts_with("brief-") || kind == "kill-at-failpoint";
    };
    if (std::any_of(turns_.begin(), turns_.end(), is_drawn)) report_.seed = seed_;
  }
  ~Drill() { stop_auditor(); }

  StatusOr<DrillReport> run() {
    if (has_any(turns_, needs_disks)) SCYPER_RETURN_IF_ERROR(make_disks());
    SCYPER_RETURN_IF_ERROR(nodes_.start());
    SCYPER_RETURN_IF_ERROR(make_schema());
    tell(absl::StrFormat("  an etcd, and nodes at %s; %s has elected a primary\n",
                         absl::StrJoin(nodes_.targets(), ", "), nodes_.count() == 1 ? "it" : "their majority"));
    const auto since = Clock::now(), until = since + std::chrono::seconds(options_.seconds);
    std::vector<DrillResources> levels;  // after each round, when warm
    while (true) {
      SCYPER_RETURN_IF_ERROR(do_round());
      if (options_.seconds == 0) break;
      SCYPER_RETURN_IF_ERROR(clear());
      if (Clock::now() < since + (until - since) / kWarmShare) continue;
      const bool is_last = !levels.empty() && Clock::now() >= until;
      levels.push_back(take_resources(is_last ? std::optional(levels.front()) : std::nullopt));
      if (!is_last) continue;
      compare_resources(levels);
      break;
    }
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
    made.has_spaces = has_any(turns_of(options), needs_spaces);
    made.flags = {"--partitions", "4", "--workers", "2", "--segment-bytes", "4MB"};
    // not in soaks: so many chunks that are not full take memory that does not come back
    if (options.seconds == 0)
      made.flags.insert(made.flags.end(), {"--compaction", "forced", "--compaction-window", "200ms"});
    // what grows by itself up to a bound has reached it soon
    if (options.seconds > 0) {
      made.flags.insert(made.flags.end(), {"--request-window", "2000", "--replication-memory", "1MB"});
    }
    // small disks hold no long log
    if (has_any(turns_of(options), needs_disks)) made.flags.insert(made.flags.end(), {"--archive-after", "64MB"});
    return made;
  }

  // A fault of each kind, or as many as are wished for; and the audit.
  Status do_round() {
    start_auditor();
    const uint32_t faults = options_.seconds == 0 ? options_.repeat : 0;
    for (size_t turn = 0; turn < turns_.size() || report_.faults < faults; ++turn) {
      SCYPER_RETURN_IF_ERROR(cause_fault(turns_[turn % turns_.size()]));
    }
    SCYPER_RETURN_IF_ERROR(wait_for_acknowledgements(options_.floor));
    if (!stop_auditor()) return void_drill("the auditor has failed");
    SCYPER_RETURN_IF_ERROR(journal_->read());
    return audit();
  }

  // Nothing of a round stays, so that each begins with what the first began with.
  Status clear() {
    std::filesystem::remove(journal_path());
    std::filesystem::remove(journal_path() + ".history");
    return run_anywhere(
        "DELETE FROM drill_seen; UPDATE drill_writers SET n = 0; DELETE FROM drill_lists; DELETE FROM drill_registers;",
        "no primary clears the drill's tables");
  }

  // When what a round left open has gone, or does not go; given `before`: when they are back to that.
  DrillResources take_resources(const std::optional<DrillResources>& before) {
    const auto settled = Clock::now() + kSettle, until = Clock::now() + kWait;
    std::optional<DrillResources> least;
    while (true) {
      std::this_thread::sleep_for(kStill);
      const std::vector<pid_t> pids = nodes_.pids();
      const DrillResources now = read_resources(std::span(pids).subspan(1));  // without etcd
      least.has_value() ? least->lower(now) : void(least = now);
      const bool is_back = !before.has_value() || least->is_back(*before);
      if (Clock::now() > until || (Clock::now() > settled && is_back)) return *least;
    }
  }

  void compare_resources(const std::vector<DrillResources>& levels) {
    report_.resources = absl::StrCat(levels.front().describe(), " when warm, ", levels.back().describe(),
                                     " at the end, ", levels.size(), " rounds");
    report_.memory_drift = memory_drift(levels);
    report_.has_returned = levels.back().is_back(levels.front());
    if (!report_.holds_resources()) report_.find(&report_.violations, report_.resources);
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

  Status make_disks() {
    std::vector<std::string> directories;
    for (uint32_t i = 1; i <= options_.nodes; ++i) directories.push_back(absl::StrCat(directory_, "/n", i));
    return disks_.make(directories);
  }

  Status make_schema() {
    std::string script = kSchema + historian_schema();
    for (uint32_t w = 1; w <= options_.writers; ++w) {
      absl::StrAppend(&script, "INSERT INTO drill_writers VALUES (", w, ", 0) ON CONFLICT (w) DO NOTHING;");
    }
    return run_anywhere(script, "no primary takes the drill's tables");
  }

  Status run_anywhere(const std::string& script, const std::string& why) {
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
        why, kSlowLook);
    return made.ok() || last.empty() ? made : with_detail(made, last);
  }

  std::string journal_path() const { return directory_ + "/journal"; }
  void start_auditor() {
    journal_ = std::make_unique<DrillJournalReader>(journal_path());
    auditor_ =
        launch({scyper_, "drill", "auditor", "--targets", absl::StrJoin(nodes_.targets(), ","), "--journal",
                journal_path(), "--writers", absl::StrCat(options_.writers), "--rate", absl::StrCat(options_.rate),
                "--historians", absl::StrCat(options_.historians), "--seed", absl::StrCat(seed_)},
               directory_ + "/auditor.log");
  }
  // Whether it came to its end with a whole journal.
  bool stop_auditor() {
    const pid_t pid = std::exchange(auditor_, -1);
    if (pid <= 0) return true;
    ::kill(pid, SIGTERM);
    int status = 0;
    return ::waitpid(pid, &status, 0) == pid && WIFEXITED(status) && WEXITSTATUS(status) == kExitOk;
  }

  Status wait_for_acknowledgements(size_t more) {
    SCYPER_RETURN_IF_ERROR(journal_->read());
    const size_t wanted = journal_->acknowledged().size() + more;
    return wait_until(
        [&]() -> StatusOr<bool> {
          SCYPER_RETURN_IF_ERROR(journal_->read());
          return journal_->acknowledged().size() >= wanted;
        },
        absl::StrCat("fewer than ", more, " transactions in ", kWait.count(), " s"), kLook);
  }

  // --- faults ---

  Status cause_fault(const std::string& kind) {
    SCYPER_RETURN_IF_ERROR(wait_for_acknowledgements(options_.floor));
    SCYPER_ASSIGN_OR_RETURN(const size_t primary, find_primary());
    const size_t other = (primary + 1) % nodes_.count();
    kind_ = kind;
    if (kind == "kill-secondary") return kill_secondary(other);
    if (kind == "kill-snapshot") return kill_snapshot((primary + snapshots_killed_++) % nodes_.count());
    if (kind == "kill-at-failpoint") return kill_at(other);
    if (kind == "etcd-down") return stop_etcd();
    if (kind == "etcd-and-voter-down") return stop_etcd_and_voter(other, (primary + 2) % nodes_.count());
    if (kind == "etcd-restart") return measure_gap([&] { return restart_etcd(); });
    if (kind == "switchover") return measure_gap([&] { return switch_over(other); });
    if (kind == "rolling-restart") return restart_all(primary);
    if (kind == "disk-full") return fill_disk(primary);
    if (kind == "brief-freeze") return measure_gap([&] { return freeze_briefly(pick_node(primary)); });
    if (kind == "brief-isolation") return measure_gap([&] { return isolate_briefly(pick_node(primary)); });
    return lose_primary(kind, primary);
  }

  // The primary, half of the time.
  size_t pick_node(size_t primary) { return random_.below(2) == 0 ? primary : random_.below(nodes_.count()); }

  void wait_briefly() {
    std::this_thread::sleep_for(std::chrono::milliseconds(kBriefMs + random_.below(kBriefMsMax - kBriefMs)));
  }
  Status freeze_briefly(size_t node) {
    nodes_.freeze(node);
    wait_briefly();
    nodes_.thaw(node);
    return Status();
  }
  Status isolate_briefly(size_t node) {
    SCYPER_RETURN_IF_ERROR(nodes_.isolate(node, true));
    wait_briefly();
    return nodes_.isolate(node, false);
  }
  Status restart_etcd() {
    nodes_.kill_etcd();
    return nodes_.start_etcd();
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

  void tell(const std::string& what) const {
    if (!options_.is_told) return;
    std::fputs(what.c_str(), stdout);
    std::fflush(stdout);
  }

  void note(double rto_ms) {
    ++report_.faults;
    report_.rto_ms.push_back(rto_ms);
  }

  // Killed, frozen or isolated: until another node acknowledges.
  Status lose_primary(const std::string& kind, size_t primary) {
    SCYPER_RETURN_IF_ERROR(journal_->read());
    const size_t before = journal_->acknowledged().size();
    tell(absl::StrFormat("  %d transactions are acknowledged; %s of %s, the primary\n", before, kind,
                         nodes_.name(primary)));
    const int64_t lost_ns = RealClock().monotonic_ns();
    if (kind == "kill-primary") nodes_.kill(primary, SIGKILL);
    if (kind == "freeze-primary") nodes_.freeze(primary);
    if (kind == "isolate-primary") SCYPER_RETURN_IF_ERROR(nodes_.isolate(primary, true));
    int64_t back_ns = 0;
    SCYPER_RETURN_IF_ERROR(wait_until(
        [&]() -> StatusOr<bool> {
          SCYPER_RETURN_IF_ERROR(journal_->read());
          const auto& all = journal_->acknowledged();
          for (size_t i = before; i < all.size() && back_ns == 0; ++i) {
            if (all[i].ns > lost_ns && all[i].target != nodes_.target(primary)) back_ns = all[i].ns;
          }
          return back_ns != 0;
        },
        "no other node has become primary", kLook));
    note(static_cast<double>(back_ns - lost_ns) / 1e6);
    tell(absl::StrFormat("  %.0f ms later another node is primary and acknowledges transactions; %s comes back\n",
                         report_.rto_ms.back(), nodes_.name(primary)));
    if (kind == "kill-primary") nodes_.start_again(primary);
    if (kind == "freeze-primary") nodes_.thaw(primary);
    if (kind == "isolate-primary") SCYPER_RETURN_IF_ERROR(nodes_.isolate(primary, false));
    return Status();
  }

  // The longest time without an acknowledgement, from now (or gap_from_ns_, which the work may say) until `work` has
  // ended and transactions go on.
  template <typename Work>
  Status measure_gap(const Work& work) {
    SCYPER_RETURN_IF_ERROR(journal_->read());
    const size_t before = std::max<size_t>(journal_->acknowledged().size(), 1) - 1;
    gap_from_ns_ = 0;
    SCYPER_RETURN_IF_ERROR(work());
    SCYPER_RETURN_IF_ERROR(wait_for_acknowledgements(options_.floor));
    std::vector<int64_t> times;  // writers note theirs in any order
    for (size_t i = before; i < journal_->acknowledged().size(); ++i) {
      if (const int64_t ns = journal_->acknowledged()[i].ns; ns >= gap_from_ns_) times.push_back(ns);
    }
    if (gap_from_ns_ != 0) times.push_back(gap_from_ns_);
    for (size_t i = before; i < journal_->acknowledged().size(); ++i) {
      const Acknowledgement& entry = journal_->acknowledged()[i];
      report_.commit_ms[kind_].push_back(static_cast<double>(entry.ns - journal_->sent().at(entry.id)) / 1e6);
    }
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

  // All of its own: on a primary transactions go on, a secondary goes on following, and both make new ones.
  Status kill_snapshot(size_t node) {
    return measure_gap([&]() -> Status {
      const pid_t pid = nodes_.pids()[1 + node];
      bool has_killed = false;
      SCYPER_RETURN_IF_ERROR(wait_until(
          [&] {
            static_cast<void>(answers(node));
            for (const pid_t child : children_of(pid)) has_killed |= ::kill(child, SIGKILL) == 0;
            return has_killed;
          },
          absl::StrCat(nodes_.name(node), " has no snapshot"), kLook));
      return wait_until([&] { return answers(node); },
                        absl::StrCat(nodes_.name(node), " answers no query after its snapshot was killed"), kSlowLook);
    });
  }
  bool answers(size_t node) const { return answers_query(connect(node).get()); }

  // All voters are there, so that the primary goes on, and all nodes answer queries. The longest time without an
  // acknowledgement.
  Status stop_etcd() {
    return measure_gap([&]() -> Status {
      nodes_.kill_etcd();
      const auto until = Clock::now() + kWithoutEtcd;
      SCYPER_ASSIGN_OR_RETURN(const bool has_stopped, stops_before(until));
      if (has_stopped) {
        report_.find(&report_.violations, "commits end without etcd though all voters are there");
        gap_from_ns_ = RealClock().monotonic_ns();
      }
      for (size_t node = 0; node < nodes_.count() && !has_stopped; ++node) {
        SCYPER_RETURN_IF_ERROR(
            wait_until([&] { return answers(node); }, nodes_.name(node) + " answers no query without etcd", kSlowLook));
      }
      return nodes_.start_etcd();
    });
  }
  // Whether nothing is acknowledged for kStopped.
  StatusOr<bool> stops_before(Clock::time_point until) {
    size_t before = ~size_t{0};
    auto since = Clock::now();
    SCYPER_RETURN_IF_ERROR(wait_until(
        [&]() -> StatusOr<bool> {
          SCYPER_RETURN_IF_ERROR(journal_->read());
          const size_t now = journal_->acknowledged().size();
          if (std::exchange(before, now) != now) since = Clock::now();
          return Clock::now() > std::min(until, since + kStopped);
        },
        "", kSlowLook));
    return Clock::now() > since + kStopped;
  }

  // With a voter missing the primary ends: nothing is acknowledged, and who is left answers from its snapshots, and
  // says that it is stale. Then from etcd's return until something is acknowledged.
  Status stop_etcd_and_voter(size_t node, size_t left) {
    return measure_gap([&]() -> Status {
      nodes_.kill_etcd();
      nodes_.kill(node, SIGKILL);
      SCYPER_ASSIGN_OR_RETURN(const bool has_stopped, stops_before(Clock::now() + kWait / 2));
      if (!has_stopped) report_.find(&report_.violations, "commits go on without etcd and a voter");
      SCYPER_RETURN_IF_ERROR(wait_until([&] { return tells_staleness(connect(left).get()); },
                                        nodes_.name(left) + " does not answer, or not as one that is stale",
                                        kSlowLook));
      gap_from_ns_ = RealClock().monotonic_ns();
      SCYPER_RETURN_IF_ERROR(nodes_.start_etcd());
      nodes_.start_again(node);
      return find_primary().status();
    });
  }

  // Until transactions are refused; then from the room's return until one is acknowledged.
  Status fill_disk(size_t primary) {
    const std::string disk = directory_ + "/" + nodes_.name(primary);
    return measure_gap([&]() -> Status {
      SCYPER_RETURN_IF_ERROR(journal_->read());
      const size_t refused = journal_->refused().size() + options_.writers;
      SCYPER_RETURN_IF_ERROR(disks_.fill(disk));
      SCYPER_RETURN_IF_ERROR(wait_until(
          [&]() -> StatusOr<bool> {
            SCYPER_RETURN_IF_ERROR(journal_->read());
            return journal_->refused().size() >= refused;
          },
          "transactions go on with a full disk", kLook));
      gap_from_ns_ = RealClock().monotonic_ns();
      return disks_.empty(disk);
    });
  }

  // The next place: a node other than the primary begins to come there.
  Status kill_at(size_t node) {
    const std::vector<std::string>& names = drill_failpoints();
    const std::string& name = names[(seed_ + failpoints_++) % names.size()];
    const FailpointSite site{&nodes_, [this] { return find_primary(); },
                             [this](size_t to) { static_cast<void>(switch_over(to)); }};
    return measure_gap([&]() -> Status {
      SCYPER_ASSIGN_OR_RETURN(const bool has_died, kill_at_failpoint(site, name, node));
      if (!has_died) report_.find(&report_.violations, nodes_.name(node) + " never came to " + name);
      return find_primary().status();
    });
  }

  Status switch_over(size_t to) {
    const std::string log = directory_ + "/switchover.log";
    const pid_t pid = launch({scyper_, "switchover", "--to", nodes_.name(to), "--etcd", nodes_.etcd(), "--cluster",
                              "local", "--timeout-ms", "30000", "--drain-ms", "20000"},
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

  Status audit() {
    std::vector<DrillContents> all;
    const Status level = wait_until(
        [&] {
          all.clear();
          if (!nodes_.primary(common_.connect).has_value()) return false;
          for (size_t node = 0; node < nodes_.count(); ++node) {
            auto client = connect(node);
            if (client == nullptr) return false;
            auto found = read_drill_contents(client.get());
            if (!found.ok()) return false;
            all.push_back(*std::move(found));
          }
          return std::all_of(all.begin(), all.end(), [&](const DrillContents& each) { return each == all.front(); });
        },
        "the nodes do not come together", kSlowLook);
    if (!level.ok() && all.size() < nodes_.count()) return level;
    if (!level.ok()) report_.find(&report_.violations, "nodes hold different rows");
    for (size_t node = 0; node < all.size(); ++node) audit_contents(nodes_.name(node), all[node], *journal_, &report_);
    report_.acknowledged += journal_->acknowledged().size();
    if (!all.empty()) return audit_history(all.front());
    return Status();
  }

  Status audit_history(const DrillContents& contents) {
    const std::string path = journal_path() + ".history";
    SCYPER_ASSIGN_OR_RETURN(const DrillHistory history, read_drill_history(path));
    check_history(history, contents, &report_);
    if (options_.report.empty()) return Status();
    std::error_code error;
    std::filesystem::create_directories(options_.report, error);
    std::filesystem::copy_file(path, options_.report + "/" + report_.kind + ".history",
                               std::filesystem::copy_options::overwrite_existing, error);
    return error ? sql_error("58030", options_.report + ": " + error.message()) : Status();
  }

  const CommonOptions& common_;
  const DrillOptions& options_;
  const std::vector<std::string> turns_;
  const std::string directory_;
  const std::string scyper_ = program_beside_this("scyper");  // known before there are disks
  DrillDisks disks_;
  ElectedNodes nodes_;
  std::unique_ptr<DrillJournalReader> journal_;  // of this round
  const uint64_t seed_;
  Random random_;
  std::string kind_;  // of the fault
  size_t snapshots_killed_ = 0, failpoints_ = 0;
  int64_t gap_from_ns_ = 0;
  pid_t auditor_ = -1;
  DrillReport report_;
};

}  // namespace

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
