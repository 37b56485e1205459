#include "drill_flags.h"

#include <CLI/CLI.hpp>
#include <map>
#include <string>

namespace scyper::client {

namespace {

const std::map<std::string, std::string>& help_of_kinds() {
  static const std::map<std::string, std::string> help = {
      {"kill-primary", "kill -9 of the primary; needs etcd on this machine, as all of them"},
      {"freeze-primary", "SIGSTOP of the primary until another one leads"},
      {"isolate-primary", "no network for the primary until another one leads; as root"},
      {"kill-secondary", "kill -9 of a secondary"},
      {"kill-snapshot", "kill -9 of the processes of snapshots, on the primary and on secondaries in turn"},
      {"kill-at-failpoint",
       "a node ends at a step of an election, a promotion, a return or a commit, one step after the other"},
      {"etcd-down", "no etcd for longer than a lease"},
      {"etcd-and-voter-down",
       "no etcd, and a voter killed, until nothing is acknowledged and who is left answers as stale"},
      {"switchover", "scyper switchover"},
      {"rolling-restart", "all nodes, one after the other; the primary hands over before"},
      {"disk-full", "no room on the primary's disk until it refuses transactions; as root"},
      {"brief-freeze", "SIGSTOP of a node for a moment"},
      {"brief-isolation", "no network for a node for a moment; as root"},
      {"etcd-restart", "kill -9 of etcd, which is started at once"},
      {"all", "all of them, each with nodes of its own"},
      {"all-in-turn", "all of them, one fault of each after the other, on the same nodes"}};
  return help;
}

void add_drill_kind(CLI::App* drills, CommonOptions* common, DrillFlags* flags, std::function<int()>* run,
                    const std::string& kind, const std::string& help) {
  DrillOptions& drill = flags->drill;
  CLI::App* command = drills->add_subcommand(kind, help);
  command->add_option("--repeat", drill.repeat, "how many faults")->check(CLI::Range(1, 100000))->capture_default_str();
  command->add_option("--nodes", drill.nodes, "that vote")->check(CLI::Range(1, 9))->capture_default_str();
  command->add_option("--writers", drill.writers, "connections of the load")
      ->check(CLI::Range(1, 1000))
      ->capture_default_str();
  command->add_option("--rate", drill.rate, "transactions a second of the load, at most; 0: as many as there can be")
      ->capture_default_str();
  command->add_option("--historians", drill.historians, "connections whose histories are checked")
      ->check(CLI::Range(0, 64))
      ->capture_default_str();
  command->add_option("--commit-mode", drill.commit_mode, "of the cluster")
      ->check(CLI::IsMember({"async", "local", "quorum", "quorum_durable"}))
      ->capture_default_str();
  command->add_option("--lease-ttl", drill.lease_ttl, "of the primary")->capture_default_str();
  command->add_option("--directory", drill.directory, "of data and messages; default: one that goes at the end");
  command->add_option("--floor", drill.floor, "transactions before each fault, else the drill is void")
      ->capture_default_str();
  command->add_option("--report", drill.report, "directory that gets report.json, report.md and the histories");
  command->add_option("--seed", drill.seed, "of what is left to chance; 0: a new one, which the report says")
      ->capture_default_str();
  if (kind == "all-in-turn") {
    command->add_option("--seconds", drill.seconds,
                        "go on so long, turn by turn, and compare what the nodes take when warm and at the end");
    command->add_option("--kinds", drill.kinds, "these only, separated by commas")
        ->delimiter(',')
        ->check(CLI::IsMember(drill_kinds()));
  }
  command->add_option("-o,--output", common->output, "how results look")
      ->check(CLI::IsMember({"table", "json"}))
      ->capture_default_str();
  command->callback([common, flags, run, kind] {
    flags->drill.kind = kind;
    *run = [common, flags] { return run_drill(*common, flags->drill); };
  });
  command->fallthrough();
}

}  // namespace

void add_drill(CLI::App* app, CommonOptions* common, DrillFlags* flags, std::function<int()>* run) {
  CLI::App* command =
      app->add_subcommand("drill", "faults under load on nodes of its own, and an audit of what was acknowledged")
          ->require_subcommand(1);
  for (const auto& [kind, help] : help_of_kinds()) add_drill_kind(command, common, flags, run, kind, help);
  // started by a drill
  CLI::App* auditor = command->add_subcommand("auditor", "")->group("");
  auditor->add_option("--targets", flags->auditor.targets, "host:port of the nodes, separated by commas")->required();
  auditor->add_option("--journal", flags->auditor.journal, "file")->required();
  auditor->add_option("--writers", flags->auditor.writers, "connections");
  auditor->add_option("--rate", flags->auditor.rate, "transactions a second, at most; 0: no limit");
  auditor->add_option("--historians", flags->auditor.historians, "connections that keep histories");
  auditor->add_option("--seed", flags->auditor.seed, "of what they do");
  auditor->callback([common, flags, run] { *run = [common, flags] { return run_auditor(*common, flags->auditor); }; });
  auditor->fallthrough();
}

}  // namespace scyper::client
