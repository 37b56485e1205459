#include <algorithm>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "command_tree.h"

// Manual pages: man(7)'s macros.
namespace scyper::client {

namespace {

// A line of text that troff takes as it is.
std::string plain(const std::string& text) {
  std::string out = absl::StrReplaceAll(text, {{"\\", "\\e"}, {"-", "\\-"}});
  return !out.empty() && (out[0] == '.' || out[0] == '\'') ? "\\&" + out : out;
}

std::string paragraphs(const std::string& text) {
  std::string out;
  for (const std::string& line : std::vector<std::string>(absl::StrSplit(absl::StripAsciiWhitespace(text), '\n'))) {
    absl::StrAppend(&out, line.empty() ? ".PP" : plain(line), "\n");
  }
  return out;
}

std::string upper(std::string text) {
  absl::AsciiStrToUpper(&text);
  return text;
}

std::string option_text(const CommandOption& option) {
  std::string out = ".TP\n.B ";
  absl::StrAppend(&out, plain(absl::StrJoin(option.names, ", ")));
  if (!option.value.empty() && !option.is_positional) {
    // one of many words, which may be broken between them
    const std::string choices = absl::StrCat("{", absl::StrJoin(option.choices, ",\\:"), "}");
    absl::StrAppend(&out, " ",
                    option.choices.empty() ? plain(option.value) : absl::StrReplaceAll(choices, {{"-", "\\-"}}));
  }
  absl::StrAppend(&out, "\n", plain(option.description));
  if (!option.default_text.empty()) absl::StrAppend(&out, " (default: ", plain(option.default_text), ")");
  if (!option.variable.empty()) absl::StrAppend(&out, " (environment: ", plain(option.variable), ")");
  if (option.is_positional && !option.choices.empty()) {
    absl::StrAppend(&out, " (", plain(absl::StrJoin(option.choices, ", ")), ")");
  }
  return out + "\n";
}

// Options in their groups; the parser's own group has no title. --help is said once, at the top.
std::string options_text(Command command, bool is_top) {
  if (!is_top) std::erase_if(command.options, [](const CommandOption& o) { return o.names.back() == "--help"; });
  std::vector<std::string> groups;
  for (const CommandOption& option : command.options) {
    if (std::find(groups.begin(), groups.end(), option.group) == groups.end()) groups.push_back(option.group);
  }
  std::string out;
  for (const std::string& group : groups) {
    if (group != "Options" && group != "Node") absl::StrAppend(&out, ".SS ", plain(group), "\n");
    for (const CommandOption& option : command.options) {
      if (option.group == group) out += option_text(option);
    }
  }
  return out;
}

void add_commands(const Command& command, const std::string& path, std::string* out) {
  for (const Command& next : command.commands) {
    const std::string name = absl::StrCat(path, " ", next.name);
    std::string usage = name;
    for (const CommandOption& option : next.options) {
      if (!option.is_positional) continue;
      absl::StrAppend(&usage, " ", option.is_required ? upper(option.names[0]) : "[" + upper(option.names[0]) + "]");
    }
    if (!next.commands.empty()) usage += " ...";
    absl::StrAppend(out, ".SS ", plain(usage), "\n", paragraphs(next.description), options_text(next, false));
    add_commands(next, name, out);
  }
}

}  // namespace

std::string manual_page(const Command& program, const ManualText& text) {
  std::string out = absl::StrCat(".TH ", upper(program.name), " ", text.section, " \"\" \"ScyPer ", text.version,
                                 "\" \"ScyPer\"\n.SH NAME\n", plain(program.name), " \\- ", plain(text.summary),
                                 "\n.SH SYNOPSIS\n.B ", plain(program.name), "\n[options]",
                                 program.commands.empty() ? "" : " command [...]", "\n.SH DESCRIPTION\n",
                                 paragraphs(program.description), ".SH OPTIONS\n", options_text(program, true));
  if (!program.commands.empty()) out += ".SH COMMANDS\n";
  add_commands(program, program.name, &out);
  for (const auto& [title, body] : text.sections) absl::StrAppend(&out, ".SH ", title, "\n", paragraphs(body));
  return out;
}

}  // namespace scyper::client
