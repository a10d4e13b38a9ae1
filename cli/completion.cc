#include "cli/completion.h"

#include <algorithm>
#include <cctype>
#include <map>
#include <sstream>

namespace sailor::cli {
namespace {

constexpr std::string_view kBashScript = R"(# bash completion of sailor; load it with: source <(sailor completion bash)
_sailor() {
  local line
  COMPREPLY=()
  while IFS= read -r line; do
    case $line in
      :0) compopt -o default ;;
      :16) compopt -o dirnames ;;
      :*) ;;
      *) COMPREPLY+=("${line%%$'\t'*}") ;;
    esac
  done < <("$1" __complete "${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null)
}
complete -F _sailor sailor kubectl-sailor
)";

constexpr std::string_view kZshScript = R"(#compdef sailor kubectl-sailor
# zsh completion of sailor; load it with: source <(sailor completion zsh)
_sailor() {
  local line
  local -a answers
  for line in "${(@f)$(${words[1]} __complete "${(@)words[2,CURRENT]}" 2>/dev/null)}"; do
    case $line in
      :0) _files ;;
      :16) _files -/ ;;
      :*) ;;
      *) answers+=("${${line//:/\\:}/$'\t'/:}") ;;
    esac
  done
  _describe sailor answers
}
if [ "$funcstack[1]" = _sailor ]; then _sailor; else compdef _sailor sailor kubectl-sailor; fi
)";

constexpr std::string_view kFishScript = R"(# fish completion of sailor; load it with: sailor completion fish | source
function __sailor_complete
    set -l words (commandline -opc)
    set -l current (commandline -ct)
    for line in ($words[1] __complete $words[2..-1] "$current" 2>/dev/null)
        switch $line
            case ':0'
                __fish_complete_path "$current"
            case ':16'
                __fish_complete_directories "$current"
            case ':*'
            case '*'
                echo $line
        end
    end
end
complete -c sailor -f -a '(__sailor_complete)'
complete -c kubectl-sailor -f -a '(__sailor_complete)'
)";

enum class FromShell { kFiles = 0, kNothing = 4, kFolders = 16 };

struct Candidates {
  std::vector<std::pair<std::string, std::string>> words;  // with their descriptions
  FromShell from_shell = FromShell::kNothing;
};

// The words before the cursor, understood.
struct Position {
  const CommandHelp* command;
  const OptionHelp* needs_value = nullptr;    // the option whose value is at the cursor
  std::size_t positionals = 0;                // the number of positional words
  std::map<std::string, std::string> values;  // of options, by the last of their names

  [[nodiscard]] std::string value(const std::string& option) const {
    const auto found = values.find(option);
    return found == values.end() ? "" : found->second;
  }
};

const OptionHelp* find_option(const CommandHelp& command, const std::string& name) {
  const auto found = std::ranges::find_if(command.options, [&](const OptionHelp& option) {
    return std::ranges::find(option.names, name) != option.names.end();
  });
  return found == command.options.end() ? nullptr : &*found;
}

void add_option(Position& position, const std::string& word) {
  const std::size_t equals = word.find('=');
  const OptionHelp* option = find_option(*position.command, word.substr(0, equals));
  if (option == nullptr || option->value.empty()) return;
  if (equals == std::string::npos) {
    position.needs_value = option;
  } else {
    position.values[option->names.back()] = word.substr(equals + 1);
  }
}

Position position_after(const CommandHelp& program, const std::vector<std::string>& words) {
  Position position{.command = &program, .values = {}};
  for (const std::string& word : words) {
    if (position.needs_value != nullptr) {
      position.values[position.needs_value->names.back()] = word;
      position.needs_value = nullptr;
    } else if (word.starts_with('-') && word != "-") {
      add_option(position, word);
    } else if (const auto next = std::ranges::find(position.command->commands, word, &CommandHelp::name);
               next != position.command->commands.end()) {
      position.command = &*next;
    } else {
      ++position.positionals;
    }
  }
  return position;
}

// A value such as "json|table|FILE" lists its choices. The words in capitals stand for others.
Candidates values_of(const OptionHelp& option, const Position& position, const JobNames& job_names) {
  Candidates candidates;
  std::istringstream alternatives(option.value);
  for (std::string one; std::getline(alternatives, one, '|');) {
    if (one == "JOB") {
      for (const std::string& job :
           job_names({position.value("--namespace"), position.value("--context"), position.value("--kubeconfig")})) {
        candidates.words.emplace_back(job, "");
      }
    } else if (one.ends_with("DIR")) {
      candidates.from_shell = FromShell::kFolders;
    } else if (one.find("FILE") != std::string::npos || one.ends_with(".yaml") || one.ends_with(".json")) {
      candidates.from_shell = FromShell::kFiles;
    } else if (std::ranges::none_of(one, [](unsigned char letter) { return std::isupper(letter) != 0; })) {
      candidates.words.emplace_back(one, "");
    }
  }
  return candidates;
}

Candidates options_of(const CommandHelp& command) {
  Candidates candidates;
  for (const OptionHelp& option : command.options) {
    for (const std::string& name : option.names) candidates.words.emplace_back(name, option.description);
  }
  return candidates;
}

const OptionHelp* positional(const CommandHelp& command, std::size_t index) {
  for (const OptionHelp& option : command.options) {
    if (!option.is_positional) continue;
    if (index == 0 || option.value.ends_with("...")) return &option;
    --index;
  }
  return nullptr;
}

Candidates candidates_at(const Position& position, const std::string& current, const JobNames& job_names) {
  if (position.needs_value != nullptr) return values_of(*position.needs_value, position, job_names);
  if (current.starts_with('-')) return options_of(*position.command);
  if (!position.command->commands.empty()) {
    Candidates candidates;
    for (const CommandHelp& command : position.command->commands) {
      candidates.words.emplace_back(command.name, command.description);
    }
    return candidates;
  }
  const OptionHelp* argument = positional(*position.command, position.positionals);
  return argument != nullptr ? values_of(*argument, position, job_names) : options_of(*position.command);
}

}  // namespace

std::string_view completion_script(Shell shell) {
  switch (shell) {
    case Shell::kBash:
      return kBashScript;
    case Shell::kZsh:
      return kZshScript;
    case Shell::kFish:
      return kFishScript;
  }
  return {};
}

std::string complete(const CommandHelp& program, std::vector<std::string> words, const JobNames& job_names) {
  // bash makes three words of "--output=json" and replaces only the last one.
  if (!words.empty() && words.back() == "=") words.emplace_back();
  std::erase(words, "=");
  std::string current = words.empty() ? "" : words.back();
  if (!words.empty()) words.pop_back();
  std::string prefix;
  if (const std::size_t equals = current.find('='); current.starts_with("--") && equals != std::string::npos) {
    prefix = current.substr(0, equals + 1);
    words.push_back(current.substr(0, equals));
    current.erase(0, equals + 1);
  }
  const Candidates candidates = candidates_at(position_after(program, words), current, job_names);
  std::string text;
  for (const auto& [word, description] : candidates.words) {
    if (word.starts_with(current)) text += prefix + word + (description.empty() ? "" : "\t" + description) + "\n";
  }
  return text + ":" + std::to_string(static_cast<int>(candidates.from_shell)) + "\n";
}

std::vector<std::string> job_names_in_cluster(const KubectlOptions& options) {
  const auto found = Kubectl(options).run({"get", "trainingjobs.sailor.dev", "-o", "name", "--request-timeout=2s"});
  std::vector<std::string> names;
  std::istringstream lines(found.value_or(""));
  for (std::string line; std::getline(lines, line);) names.push_back(line.substr(line.find('/') + 1));
  return names;
}

}  // namespace sailor::cli
