#include "cli/command_help.h"

#include <CLI/CLI.hpp>

namespace sailor::cli {
namespace {

OptionHelp option_help(const CLI::Option& option) {
  OptionHelp help;
  for (const std::string& name : option.get_snames()) help.names.push_back("-" + name);
  for (const std::string& name : option.get_lnames()) help.names.push_back("--" + name);
  help.is_positional = option.get_positional();
  help.is_required = option.get_required();
  if (option.get_items_expected_max() > 0) help.value = option.get_type_name();
  help.description = option.get_description();
  return help;
}

}  // namespace

CommandHelp command_help(const CLI::App& app) {
  CommandHelp help{.name = app.get_name(), .description = app.get_description(), .options = {}, .commands = {}};
  for (const CLI::Option* option : app.get_options()) help.options.push_back(option_help(*option));
  for (const CLI::App* command : app.get_subcommands({})) help.commands.push_back(command_help(*command));
  return help;
}

}  // namespace sailor::cli
