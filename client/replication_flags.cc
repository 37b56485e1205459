#include "replication_flags.h"

#include <CLI/CLI.hpp>

namespace scyper::client {

namespace {

void add_numbers(CLI::App* command, const char* flag, std::vector<uint32_t>* numbers, int least, int most,
                 const char* help) {
  command->add_option(flag, *numbers, help)->delimiter(',')->check(CLI::Range(least, most))->capture_default_str();
}

}  // namespace

CLI::App* add_replication_flags(CLI::App* group, ReplicationBenchOptions* options) {
  CLI::App* command = group->add_subcommand(
      "replication",
      "what secondaries cost the primary, how fresh their answers are, how queries scale, how long snapshots and joins "
      "take: nodes as processes on this machine, as root in network namespaces");
  options->oltp.seconds = 5;
  options->oltp.outstanding = 16;
  command
      ->add_option("--parts", options->parts,
                   "of: cost, of secondaries for the primary; queries, by nodes and streams; snapshots, global ones; "
                   "joins; freshness, at a share of the greatest load; loss, of packets")
      ->delimiter(',')
      ->check(CLI::IsMember({"cost", "queries", "snapshots", "joins", "freshness", "loss"}))
      ->capture_default_str();
  add_numbers(command, "--secondaries", &options->secondaries, 0, 16, "numbers of secondaries, a run for each");
  add_numbers(command, "--nodes", &options->nodes, 1, 17, "queries: numbers of nodes, the primary among them");
  add_numbers(command, "--query-streams", &options->query_streams, 1, 64, "queries: numbers of streams to each node");
  add_numbers(command, "--losses", &options->losses, 0, 50, "loss: percent of the multicast datagrams");
  command->add_option("--queries", options->queries, "queries: which of 1 to 22; default: all")
      ->delimiter(',')
      ->check(CLI::Range(1, 22));
  command->add_option("--load-share", options->load_share, "freshness: of the greatest load")
      ->check(CLI::Range(0.01, 1.0))
      ->capture_default_str();
  command->add_option("--transport", options->transport, "of the log")
      ->check(CLI::IsMember({"pgm", "unicast"}))
      ->capture_default_str();
  command->add_option("--commit-mode", options->commit_mode, "of the primary")
      ->check(CLI::IsMember({"async", "local", "quorum", "quorum_durable"}))
      ->capture_default_str();
  command->add_flag("--encrypted", options->is_encrypted, "multicast is encrypted");
  command->add_option("--seconds", options->oltp.seconds, "of each measurement")
      ->check(CLI::Range(0.01, 1e6))
      ->capture_default_str();
  command->add_option("--outstanding", options->oltp.outstanding, "batches of 64 calls at a time")
      ->check(CLI::Range(1, 1024))
      ->capture_default_str();
  command->add_option("--light-batch", options->light_batch, "calls at a time beside queries")
      ->check(CLI::Range(1, 4096))
      ->capture_default_str();
  command->add_option("--directory", options->directory, "where the nodes' data lie meanwhile")->capture_default_str();
  return command;
}

}  // namespace scyper::client
