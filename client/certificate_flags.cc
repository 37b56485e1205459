#include "certificate_flags.h"

#include <CLI/CLI.hpp>

namespace scyper::client {

void add_certificates(CLI::App* app, CertificateOptions* options, std::function<int()>* run) {
  CLI::App* command = app->add_subcommand("certs", "an authority for tests, and certificates of nodes and clients");
  command->add_option("DIRECTORY", options->directory, "gets ca.pem, ca.key, NAME.pem, NAME.key")->required();
  command->add_option("--node", options->nodes, "name of a node, or name=host,host: where clients find it");
  command->add_option("--client", options->clients, "name of a client");
  command->add_option("--days", options->days, "how long they are good")
      ->check(CLI::Range(1, 3650))
      ->capture_default_str();
  command->add_flag("--replace", options->replaces, "certificates that are there, but for the authority's");
  command->callback([options, run] { *run = [options] { return run_certificates(*options); }; });
}

}  // namespace scyper::client
