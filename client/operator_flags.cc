#include "operator_flags.h"

#include <CLI/CLI.hpp>
#include <cstdio>
#include <string>

#include "command_tree.h"
#include "server/node_flags.h"

namespace scyper::client {

namespace {

void add_output(CLI::App* command, CommonOptions* common) {
  command->add_option("-o,--output", common->output, "how results look")
      ->check(CLI::IsMember({"table", "json"}))
      ->capture_default_str();
}

void add_doctor(CLI::App* app, CommonOptions* common, OperatorFlags* flags, std::function<int()>* run) {
  CLI::App* command = app->add_subcommand("doctor", "is this machine fit for a node? Exit code 4: something is bad");
  command->add_option("--config", flags->doctor.config_path, "the node's TOML file; variables SCYPER_* count, too");
  add_output(command, common);
  command->callback([=] { *run = [=] { return run_doctor(flags->doctor, common->is_json); }; });
}

void add_top(CLI::App* app, CommonOptions* common, OperatorFlags* flags, std::function<int()>* run) {
  CLI::App* command = app->add_subcommand(
      "top",
      "what a cluster is doing, live: the nodes of --target, several separated by commas, and those they tell of");
  command->add_option("--interval", flags->top.interval_seconds, "seconds between two pictures")
      ->check(CLI::Range(0.1, 3600.0))
      ->capture_default_str();
  command->add_flag("--once", flags->top.is_once, "one picture, as well without a terminal and as JSON");
  add_output(command, common);
  command->callback([=] { *run = [=] { return run_top(*common, flags->top); }; });
}

void add_bundle(CLI::App* app, CommonOptions* common, OperatorFlags* flags, std::function<int()>* run) {
  CLI::App* command = app->add_subcommand(
      "support-bundle", "what others need to help with a node: settings, status, metrics, messages; nothing secret");
  BundleOptions& bundle = flags->bundle;
  command->add_option("PATH", bundle.path, "a new directory, or a file that ends with .tar.gz")->required();
  command->add_option("--config", bundle.config_path, "the node's TOML file; variables SCYPER_* count, too");
  command->add_option("--http", bundle.http, "host:port of the node's HTTP; default: as its settings say");
  command->add_option("--node-log", bundle.node_log, "file with the node's messages; default: the journal");
  command->add_option("--unit", bundle.unit, "in the journal")->capture_default_str();
  command->add_option("--lines", bundle.lines, "of messages, at most")
      ->check(CLI::Range(1, 1'000'000))
      ->capture_default_str();
  command->add_flag("!--no-log", bundle.reads_log, "do not read the redo log for its summary");
  command->callback([=] {
    flags->bundle.has_target = app->get_option("--target")->count() > 0;
    *run = [=] { return run_support_bundle(*common, flags->bundle); };
  });
}

ManualText manual_of_scyper() {
  ManualText text;
  text.section = 1;
  text.summary = "shell and verbs of operators for ScyPer";
  text.sections = {
      {"EXIT STATUS",
       "0: fine. 1: a statement, call or row failed. 2: wrong flags or settings. 3: no node is there, or it went away. "
       "4: a check failed."},
      {"ENVIRONMENT", "SCYPER_TARGET, SCYPER_CA: as the options."},
      {"FILES", "~/.scyper_history: what was typed in scyper sql."},
      {"SEE ALSO", "scyperd(8), /usr/share/doc/scyper/operations.md"}};
  return text;
}

ManualText manual_of_scyperd() {
  ManualText text;
  text.section = 8;
  text.summary = "node of the ScyPer main-memory database";
  text.sections = {
      {"SIGNALS",
       "SIGTERM, SIGINT: what was accepted is finished, for stop_timeout at most; a second one ends it at once."},
      {"EXIT STATUS",
       "0: ended as asked. 2: wrong settings. 3: could not start. 74: the log could not be written; what was "
       "acknowledged is in it."},
      {"FILES",
       "/etc/scyper/NAME.toml, /var/lib/scyper/NAME: settings and data of the unit scyperd@NAME. "
       "/usr/share/doc/scyper/examples/example.toml: an example. /usr/share/doc/scyper/configuration.md: all "
       "settings."},
      {"SEE ALSO", "scyper(1), /usr/share/doc/scyper/operations.md"}};
  return text;
}

// A program as its --help has it.
Command tree_of(const std::string& program, const CLI::App& scyper) {
  if (program == "scyper") {
    Command tree = read_command_tree(scyper);
    tree.name = program;
    return tree;
  }
  CLI::App node(server::kNodeDescription, program);
  const server::NodeFlags flags(&node);
  return read_command_tree(node);
}

int print_completion(const OperatorFlags& flags, const CLI::App& app) {
  std::fputs(completion_script(tree_of(flags.program, app), flags.shell).c_str(), stdout);
  return kExitOk;
}

int print_manual(const OperatorFlags& flags, const CLI::App& app) {
  if (flags.page == "configuration") {
    std::fputs(server::settings_reference().c_str(), stdout);
    return kExitOk;
  }
  ManualText text = flags.page == "scyper" ? manual_of_scyper() : manual_of_scyperd();
  text.version = server::kVersion;
  std::fputs(manual_page(tree_of(flags.page, app), text).c_str(), stdout);
  return kExitOk;
}

}  // namespace

void add_operator_commands(CLI::App* app, CommonOptions* common, OperatorFlags* flags, std::function<int()>* run) {
  add_doctor(app, common, flags, run);
  add_top(app, common, flags, run);
  add_bundle(app, common, flags, run);
  CLI::App* completion = app->add_subcommand("completion", "a script that completes commands and flags in a shell");
  completion->add_option("SHELL", flags->shell, "whose")->check(CLI::IsMember({"bash", "zsh", "fish"}))->required();
  completion->add_option("--program", flags->program, "that is completed")
      ->check(CLI::IsMember({"scyper", "scyperd"}))
      ->capture_default_str();
  completion->callback([=] { *run = [=] { return print_completion(*flags, *app); }; });
  CLI::App* manual = app->add_subcommand("man", "manual pages for man(1), and the reference of settings as Markdown");
  manual->add_option("PAGE", flags->page, "which one")
      ->check(CLI::IsMember({"scyper", "scyperd", "configuration"}))
      ->required();
  manual->callback([=] { *run = [=] { return print_manual(*flags, *app); }; });
}

}  // namespace scyper::client
