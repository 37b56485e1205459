#include <functional>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "command_tree.h"

// Completion for bash, zsh and fish. All scripts work alike: the words before the cursor that name commands are the
// path; an option that takes a value is followed by its choices, else by files; otherwise commands and options come.
namespace scyper::client {

namespace {

// A word in single quotes, as all three shells understand it; fish wants \ doubled, too.
std::string quoted(const std::string& text, bool is_fish = false) {
  if (is_fish) return absl::StrCat("'", absl::StrReplaceAll(text, {{"\\", "\\\\"}, {"'", "\\'"}}), "'");
  return absl::StrCat("'", absl::StrReplaceAll(text, {{"'", "'\\''"}}), "'");
}

std::string first_line(const std::string& text) { return text.substr(0, text.find('\n')); }

// Each command with the words that lead to it (" bench oltp"; "" is the program) and what it takes, its own options
// first.
using Visit = std::function<void(const std::string& path, const Command&, const std::vector<const CommandOption*>&)>;
void visit(const Command& command, const std::string& path, std::vector<const CommandOption*> inherited,
           const Visit& each) {
  std::vector<const CommandOption*> options;
  for (const CommandOption& option : command.options) options.push_back(&option);
  std::vector<const CommandOption*> below;
  for (const CommandOption* option : options) {
    if (!option->is_positional && option->names.back() != "--help" && option->names.back() != "--version")
      below.push_back(option);
  }
  options.insert(options.end(), inherited.begin(), inherited.end());
  below.insert(below.end(), inherited.begin(), inherited.end());
  each(path, command, options);
  for (const Command& next : command.commands) visit(next, path + " " + next.name, below, each);
}

std::vector<std::string> all_paths(const Command& program) {
  std::vector<std::string> paths;
  visit(program, "", {}, [&](const std::string& path, const Command&, const auto&) {
    if (!path.empty()) paths.push_back(quoted(path));
  });
  return paths;
}

// What may follow, and the options ("path option") that it follows; first those without choices, as one: files.
struct ValueCase {
  std::vector<std::string> patterns;
  std::vector<std::string> choices;
};
std::vector<ValueCase> value_cases(const Command& program) {
  std::vector<ValueCase> cases(1);
  visit(program, "", {}, [&](const std::string& path, const Command&, const auto& options) {
    for (const CommandOption* option : options) {
      if (option->is_positional || option->value.empty()) continue;
      std::vector<std::string> patterns;
      for (const std::string& name : option->names) patterns.push_back(quoted(absl::StrCat(path, " ", name)));
      if (option->choices.empty()) {
        cases[0].patterns.insert(cases[0].patterns.end(), patterns.begin(), patterns.end());
      } else {
        cases.push_back({patterns, option->choices});
      }
    }
  });
  if (cases[0].patterns.empty()) cases.erase(cases.begin());
  return cases;
}

std::string function_of(const Command& program) { return "_" + program.name; }

std::string bash_script(const Command& program) {
  const std::string paths = absl::StrJoin(all_paths(program), "|");
  std::string out =
      absl::StrCat("# Completion of ", program.name, " for bash, made by scyper completion bash.\n",
                   function_of(program), "() {\n  local cur=${COMP_WORDS[COMP_CWORD]} at='' words='' i\n");
  if (!paths.empty()) {
    absl::StrAppend(&out, "  for ((i = 1; i < COMP_CWORD; ++i)); do\n    case \"$at ${COMP_WORDS[i]}\" in\n      ",
                    paths, ") at=\"$at ${COMP_WORDS[i]}\" ;;\n    esac\n  done\n");
  }
  out += "  COMPREPLY=()\n  case \"$at ${COMP_WORDS[COMP_CWORD - 1]}\" in\n";
  for (const ValueCase& value : value_cases(program)) {
    const std::string then =
        value.choices.empty() ? "return" : absl::StrCat("words=", quoted(absl::StrJoin(value.choices, " ")));
    absl::StrAppend(&out, "    ", absl::StrJoin(value.patterns, "|"), ") ", then, " ;;\n");
  }
  out += "  esac\n  [ -n \"$words\" ] || case \"$at\" in\n";
  visit(program, "", {}, [&](const std::string& path, const Command& command, const auto& options) {
    std::vector<std::string> words;
    for (const Command& next : command.commands) words.push_back(next.name);
    for (const CommandOption* option : options) {
      const auto& more = option->is_positional ? option->choices : option->names;
      words.insert(words.end(), more.begin(), more.end());
    }
    absl::StrAppend(&out, "    ", quoted(path), ") words=", quoted(absl::StrJoin(words, " ")), " ;;\n");
  });
  absl::StrAppend(&out,
                  "  esac\n  mapfile -t COMPREPLY < <(compgen -W \"$words\" -- \"$cur\")\n}\ncomplete -o default -F ",
                  function_of(program), " ", program.name, "\n");
  return out;
}

// "name:text" of zsh's _describe.
std::string described(const std::string& name, const std::string& text) {
  return quoted(absl::StrCat(absl::StrReplaceAll(name, {{":", "\\:"}}), ":", first_line(text)));
}

std::string zsh_script(const Command& program) {
  const std::string paths = absl::StrJoin(all_paths(program), "|");
  std::string out =
      absl::StrCat("#compdef ", program.name, "\n# Made by scyper completion zsh.\n", function_of(program),
                   "() {\n  local at='' word\n  local -a commands choices options\n");
  if (!paths.empty()) {
    absl::StrAppend(&out, "  for word in ${words[2,CURRENT-1]}; do\n    case \"$at $word\" in\n      (", paths,
                    ") at=\"$at $word\" ;;\n    esac\n  done\n");
  }
  out += "  case \"$at ${words[CURRENT-1]}\" in\n";
  for (const ValueCase& value : value_cases(program)) {
    std::vector<std::string> choices;
    for (const std::string& choice : value.choices) choices.push_back(quoted(choice));
    const std::string then = choices.empty() ? "_files" : "compadd -- " + absl::StrJoin(choices, " ");
    absl::StrAppend(&out, "    (", absl::StrJoin(value.patterns, "|"), ") ", then, "; return ;;\n");
  }
  out += "  esac\n  case \"$at\" in\n";
  visit(program, "", {}, [&](const std::string& path, const Command& command, const auto& options) {
    std::vector<std::string> commands, choices, flags;
    for (const Command& next : command.commands) commands.push_back(described(next.name, next.description));
    for (const CommandOption* option : options) {
      for (const std::string& choice : option->choices) {
        if (option->is_positional) choices.push_back(quoted(choice));
      }
      for (const std::string& name : option->names) {
        if (!option->is_positional) flags.push_back(described(name, option->description));
      }
    }
    absl::StrAppend(&out, "    (", quoted(path), ")\n      commands=(", absl::StrJoin(commands, " "),
                    ")\n      choices=(", absl::StrJoin(choices, " "), ")\n      options=(", absl::StrJoin(flags, " "),
                    ")\n      ;;\n");
  });
  absl::StrAppend(&out, "  esac\n  if [[ ${words[CURRENT]} == -* ]]; then\n    _describe option options\n",
                  "  elif (( $#commands )); then\n    _describe command commands\n",
                  "  elif (( $#choices )); then\n    compadd -- $choices\n  else\n    _files\n  fi\n}\n",
                  // autoloaded as a completion it is to run; sourced it is only to be known
                  "if [[ ${funcstack[1]} == ", function_of(program), " ]]; then\n  ", function_of(program),
                  " \"$@\"\nelse\n  compdef ", function_of(program), " ", program.name, "\nfi\n");
  return out;
}

std::string fish_option(const std::string& begin, const CommandOption& option) {
  std::string out = begin;
  for (const std::string& name : option.names) {
    const bool is_long = name.starts_with("--");
    absl::StrAppend(&out, is_long ? " -l " : " -s ", name.substr(is_long ? 2 : 1));
  }
  if (!option.choices.empty()) {
    absl::StrAppend(&out, " -x -a ", quoted(absl::StrJoin(option.choices, " "), true));
  } else if (!option.value.empty()) {
    out += " -r";
  }
  return absl::StrCat(out, " -d ", quoted(first_line(option.description), true), "\n");
}

std::string fish_script(const Command& program) {
  const std::string at = absl::StrCat("__", program.name, "_at");
  std::vector<std::string> paths;
  visit(program, "", {}, [&](const std::string& path, const Command&, const auto&) {
    if (!path.empty()) paths.push_back(quoted(path, true));
  });
  std::string out =
      absl::StrCat("# Completion of ", program.name, " for fish, made by scyper completion fish.\nfunction ", at,
                   "\n  set -l at ''\n  set -l words (commandline -opc)\n");
  absl::StrAppend(&out, "  for word in $words[2..-1]\n    if contains -- \"$at $word\" ", absl::StrJoin(paths, " "),
                  "\n      set at \"$at $word\"\n    end\n  end\n  test \"$at\" = \"$argv[1]\"\nend\n");
  visit(program, "", {}, [&](const std::string& path, const Command& command, const auto& options) {
    const std::string begin =
        absl::StrCat("complete -c ", program.name, " -n ", quoted(absl::StrCat(at, " ", quoted(path)), true));
    for (const Command& next : command.commands) {
      absl::StrAppend(&out, begin, " -f -a ", quoted(next.name, true), " -d ",
                      quoted(first_line(next.description), true), "\n");
    }
    for (const CommandOption* option : options) {
      if (!option->is_positional) {
        out += fish_option(begin, *option);
      } else if (!option->choices.empty()) {
        absl::StrAppend(&out, begin, " -f -a ", quoted(absl::StrJoin(option->choices, " "), true), "\n");
      }
    }
  });
  return out;
}

}  // namespace

std::string completion_script(const Command& program, const std::string& shell) {
  if (shell == "zsh") return zsh_script(program);
  return shell == "fish" ? fish_script(program) : bash_script(program);
}

}  // namespace scyper::client
