// The command line as data: its commands and options with their descriptions. Shell completion and the man page are
// made from it, so they contain what `--help` contains.
#pragma once

#include <string>
#include <vector>

namespace CLI {  // NOLINT(readability-identifier-naming): the library's name
class App;
}

namespace sailor::cli {

struct OptionHelp {
  std::vector<std::string> names;  // "-f", "--file"; empty: the option is only positional
  bool is_positional = false;
  bool is_required = false;
  std::string value;  // "JOB.yaml", "json|table"; empty: the option is a flag
  std::string description;
};

struct CommandHelp {
  std::string name;
  std::string description;
  std::vector<OptionHelp> options;
  std::vector<CommandHelp> commands;
};

CommandHelp command_help(const CLI::App& app);

}  // namespace sailor::cli
