#include "command_tree.h"

#include <CLI/CLI.hpp>

#include "absl/strings/str_split.h"

namespace scyper::client {

namespace {

// The parser keeps what is allowed as text only: "TEXT:{table,csv,json}".
std::vector<std::string> choices_of(const std::string& type) {
  const size_t begin = type.find('{');
  const size_t end = type.rfind('}');
  if (begin == std::string::npos || end == std::string::npos || end < begin) return {};
  return absl::StrSplit(type.substr(begin + 1, end - begin - 1), ',', absl::SkipEmpty());
}

CommandOption read_option(const CLI::Option& option) {
  CommandOption out;
  for (const std::string& name : option.get_snames()) out.names.push_back("-" + name);
  for (const std::string& name : option.get_lnames()) out.names.push_back("--" + name);
  out.is_positional = out.names.empty();
  if (out.is_positional) out.names.push_back(option.get_name(/*positional=*/true));
  out.description = option.get_description();
  const bool has_value = option.get_items_expected_max() > 0;
  if (has_value) {
    out.value = option.get_type_name();
    out.choices = choices_of(out.value);
    if (out.value.empty()) out.value = "VALUE";
    out.default_text = option.get_default_str();
  }
  out.variable = option.get_envname();
  out.group = option.get_group();
  out.is_required = option.get_required();
  return out;
}

}  // namespace

Command read_command_tree(const CLI::App& app) {
  Command out;
  out.name = app.get_name();
  out.description = app.get_description();
  for (const CLI::Option* option : app.get_options()) {
    if (!option->get_group().empty()) out.options.push_back(read_option(*option));
  }
  const auto is_shown = [](const CLI::App* command) { return !command->get_group().empty(); };
  for (const CLI::App* command : app.get_subcommands(is_shown)) out.commands.push_back(read_command_tree(*command));
  return out;
}

}  // namespace scyper::client
