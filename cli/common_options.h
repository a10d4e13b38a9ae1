// The options that several commands have, and the checks of their values.
#pragma once

#include <map>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>

#include "cli/options.h"

namespace sailor::cli {

// Adds an option with named values, which must outlive the command. The help text lists the names.
template <class E>
CLI::Option* add_choice(CLI::App& command, const std::string& name, E& value, const std::map<std::string, E>& choices,
                        const std::string& help) {
  std::vector<std::string> names;
  std::string listed;
  for (const auto& [choice, meaning] : choices) {
    names.push_back(choice);
    listed += (listed.empty() ? "" : "|") + choice;
  }
  return command
      .add_option_function<std::string>(
          name, [&value, &choices](const std::string& choice) { value = choices.at(choice); }, help)
      ->check(CLI::IsMember(names).description(""))
      ->type_name(listed);
}

const std::map<std::string, Format>& output_formats();  // all but Markdown, which only one command writes

std::string execution_values();  // of --execution: the built-in models, or a file

// Returns the option that names the file of the cluster.
CLI::Option* add_inputs(CLI::App& command, Inputs& inputs);
CLI::Option* add_slow(CLI::App& command, Inputs& inputs);
std::vector<CLI::Option*> add_kubectl(CLI::App& command, KubectlOptions& options);

CLI::Validator seconds_above_zero();
CLI::Validator seconds_from_zero();

}  // namespace sailor::cli
