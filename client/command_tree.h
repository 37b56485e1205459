#pragma once

#include <string>
#include <utility>
#include <vector>

namespace CLI {
class App;
}

// A program's commands and flags as the parser has them: what completion and manual pages are made from, so that they
// say what --help says. Hidden ones are left out.
namespace scyper::client {

struct CommandOption {
  std::vector<std::string> names;  // with dashes, short ones first; of a positional argument: its name
  std::string description;
  std::string value;                 // what follows, as --help says it; empty: nothing does
  std::vector<std::string> choices;  // all that may follow; empty: anything
  std::string default_text;          // empty: none
  std::string variable;              // of the environment
  std::string group;
  bool is_positional = false;
  bool is_required = false;
};

struct Command {
  std::string name;
  std::string description;
  std::vector<CommandOption> options;
  std::vector<Command> commands;
};

Command read_command_tree(const CLI::App& app);

// `scyper completion SHELL`: a script for bash, zsh or fish.
std::string completion_script(const Command& program, const std::string& shell);

// `scyper man PAGE`: what stands beside commands and options.
struct ManualText {
  int section = 1;
  std::string version;
  std::string summary;  // behind the name
  // Title and text; paragraphs end with an empty line.
  std::vector<std::pair<std::string, std::string>> sections;
};
std::string manual_page(const Command& program, const ManualText& text);

}  // namespace scyper::client
