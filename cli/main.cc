// sailor: makes the decisions of the operator offline, without a cluster.
#include <cstdlib>
#include <exception>
#include <filesystem>
#include <iostream>
#include <optional>
#include <sstream>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>

#include "cli/command_help.h"
#include "cli/command_options.h"
#include "cli/commands.h"
#include "cli/evaluate.h"
#include "cli/manual.h"
#include "cli/terminal_progress.h"

namespace sailor::cli {
namespace {

// Returns the words to complete if a shell or kubectl asks for completion.
std::optional<std::vector<std::string>> words_to_complete(int argc, char** argv) {
  const std::vector<std::string> words(argv, argv + argc);
  if (words.empty()) return std::nullopt;
  // kubectl finds the completion of a plugin by this name.
  if (std::filesystem::path(words.front()).filename() == "kubectl_complete-sailor") {
    return std::vector(words.begin() + 1, words.end());
  }
  if (argc > 1 && words[1] == "__complete") return std::vector(words.begin() + 2, words.end());
  return std::nullopt;
}

std::string names_of_commands(const CLI::App& app) {
  std::string names;
  for (const CLI::App* command : app.get_subcommands({})) names += (names.empty() ? "" : ", ") + command->get_name();
  return names;
}

// Says in plain words what the library says of a missing value and of a second one.
std::string what_is_wrong(const CLI::ParseError& error) {
  std::string said = error.what();
  const std::string option = said.substr(0, said.find(": "));
  if (said.starts_with(option + ": At Most 1 required")) return option + ": is given more than once; give it once";
  const bool lacks_value = said.starts_with(option + ": 1 required ") && said.ends_with(" missing");
  return lacks_value ? option + ": has no value; give one" : said;
}

int bad_usage(const CLI::App& app, const CLI::ParseError& error, const char* first_argument) {
  constexpr int kBadInput = 2;
  const auto parsed = app.get_subcommands();
  std::string what = what_is_wrong(error);
  if (parsed.empty() && first_argument != nullptr && *first_argument != '-')
    what = std::string("unknown command ") + first_argument;
  if (parsed.empty()) what += "; the commands are " + names_of_commands(app);
  const std::string command = parsed.empty() ? "sailor" : "sailor " + parsed.front()->get_name();
  std::cerr << "sailor: " << what << "; see `" << command << " --help`\n";
  return kBadInput;
}

// Prints the result and the error, and returns the exit status.
int finish(const Result<void>& done, const std::string& result) {
  std::cout << result;
  if (!done) {
    std::cerr << "sailor: " << done.error().message << "\n";
    return exit_status(done.error());
  }
  if (std::cout.flush()) return EXIT_SUCCESS;
  std::cerr << "sailor: the result cannot be written to standard output; check its target and the free space there\n";
  return EXIT_FAILURE;
}

// Runs the command if it is one of kJobCommands.
std::optional<Result<void>> run_job_command(const CLI::App& app, const JobArguments& arguments, std::ostream& out) {
  for (const JobCommand& one : kJobCommands) {
    if (app.got_subcommand(one.name)) return one.run(arguments, out);
  }
  return std::nullopt;
}

// Runs the command that was parsed.
Result<void> run_command(const CLI::App& app, Arguments& arguments, std::ostream& out) {
  if (app.got_subcommand("plan")) {
    const TerminalProgress progress("planning", TerminalProgress::Interrupt::kReturnsBestSoFar);
    if (arguments.plan.is_from_cluster) arguments.plan.inputs.live = arguments.plan.kubectl;
    return run_plan(arguments.plan, out, progress.token());
  }
  if (app.got_subcommand("simulate")) return run_simulate(arguments.simulate, out);
  if (app.got_subcommand("evaluate")) return run_evaluate(arguments.evaluate, out);
  if (app.got_subcommand("paper")) {
    const TerminalProgress progress("planning the paper's experiments", TerminalProgress::Interrupt::kEndsProgram);
    return run_paper(arguments.paper, out, progress.token());
  }
  if (app.got_subcommand("replay")) {
    const TerminalProgress progress("replaying", TerminalProgress::Interrupt::kEndsProgram);
    return run_replay(arguments.replay, out, std::cerr);
  }
  if (app.got_subcommand("render")) return run_render(arguments.render, out, std::cerr);
  if (app.got_subcommand("validate")) return run_validate(arguments.files, out, std::cerr);
  if (app.got_subcommand("completion")) {
    out << completion_script(arguments.shell);
  } else if (app.got_subcommand("manual")) {
    out << manual_page(command_help(app), SAILOR_VERSION);
  } else if (const auto job_done = run_job_command(app, arguments.job, out)) {
    return *job_done;
  }
  return {};
}

int run(int argc, char** argv) {
  CLI::App app(
      "Sailor plans training jobs over GPU pools. This command makes the decisions of the operator without a cluster, "
      "from the manifests that you apply. The commands for jobs of a cluster need kubectl.\nExit status: 0 success, 1 "
      "internal error, 2 bad input, 3 no feasible plan.",
      "sailor");
  app.set_version_flag("--version", SAILOR_VERSION);
  app.require_subcommand(1);
  Arguments arguments;
  add_commands(app, arguments);
  if (auto words = words_to_complete(argc, argv)) {
    return finish({}, complete(command_help(app), *std::move(words), job_names_in_cluster));
  }
  try {
    app.parse(argc, argv);
  } catch (const CLI::Success& asked_for_help) {
    return app.exit(asked_for_help);
  } catch (const CLI::ParseError& error) {
    return bad_usage(app, error, argc > 1 ? argv[1] : nullptr);
  }
  std::ostringstream result;  // printed after the progress has been removed from the terminal
  const Result<void> done = run_command(app, arguments, result);
  return finish(done, result.str());
}

}  // namespace
}  // namespace sailor::cli

int main(int argc, char** argv) {
  try {
    return sailor::cli::run(argc, argv);
  } catch (const std::exception& error) {
    std::cerr << "sailor: internal error: " << error.what() << "; please report it with the files that you used\n";
    return EXIT_FAILURE;
  }
}
