// sailor: makes the decisions of the operator offline, without a cluster.
#include <cstdint>
#include <cstdlib>
#include <exception>
#include <filesystem>
#include <iostream>
#include <limits>
#include <map>
#include <optional>
#include <sstream>
#include <string_view>

#include <CLI/CLI.hpp>

#include "cli/command_help.h"
#include "cli/commands.h"
#include "cli/completion.h"
#include "cli/evaluate.h"
#include "cli/job_commands.h"
#include "cli/manual.h"
#include "cli/paper.h"
#include "cli/render.h"
#include "cli/replay.h"
#include "cli/terminal_progress.h"
#include "core/manifest/rules.h"
#include "core/model/execution_model.h"

namespace {

using sailor::PlanSpace;
using sailor::cli::Format;
using sailor::cli::TerminalProgress;

const std::map<std::string, Format> kFormats = {
    {"table", Format::kTable}, {"json", Format::kJson}, {"yaml", Format::kYaml}, {"html", Format::kHtml}};
const std::map<std::string, PlanSpace> kSpaces = {{"paper", PlanSpace::kPaper}, {"flow", PlanSpace::kFlow}};

// Adds an option with named values. The help text lists the names.
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

// The values of --execution: the built-in models, or a file.
std::string execution_values() {
  std::string values;
  for (const sailor::ExecutionModel& model : sailor::built_in_execution_models()) values += model.name + "|";
  return values + "FILE";
}

CLI::Option* add_inputs(CLI::App& command, sailor::cli::Inputs& inputs) {
  command.add_option("-f,--file", inputs.job, "manifest with one TrainingJob")->required()->type_name("JOB.yaml");
  CLI::Option* cluster =
      command.add_option("--cluster", inputs.cluster, "manifests of GpuPools and at most one NetworkModel")
          ->required()
          ->type_name("CLUSTER.yaml");
  command
      .add_option("--profiles", inputs.profiles,
                  "folder of ModelProfiles (default: times are computed from data sheets)")
      ->type_name("DIR");
  command
      .add_option("--execution", inputs.execution,
                  "how plans are executed; FILE has an ExecutionModel (default: what the NetworkModel says, else the "
                  "most conservative model)")
      ->type_name(execution_values());
  return cluster;
}

CLI::Option* add_slow(CLI::App& command, sailor::cli::Inputs& inputs) {
  return command
      .add_option("--slow", inputs.slow,
                  "a node with slow GPUs: its pool, and for each slow GPU the time of a pass over its usual time, such "
                  "as us-central1-a/nvidia-tesla-a100/spot=2.5,1.4 or .../spot=8x2.5; may be repeated")
      ->type_name("POOL=SLOWDOWN,...");
}

std::vector<CLI::Option*> add_kubectl(CLI::App& command, sailor::cli::KubectlOptions& options) {
  return {command.add_option("-n,--namespace", options.name_space, "namespace (default: that of kubectl's context)")
              ->type_name("NAME"),
          command.add_option("--context", options.context, "context of the kubeconfig file")->type_name("NAME"),
          command.add_option("--kubeconfig", options.kubeconfig, "kubeconfig file (default: kubectl's)")
              ->type_name("FILE")};
}

// CLI::Range would accept "nan".
CLI::Validator seconds_within(bool (*is_valid)(double), const std::string& range) {
  return {[is_valid, range](std::string& text) {
            double seconds = 0;
            const bool is_right = CLI::detail::lexical_cast(text, seconds) && is_valid(seconds);
            return is_right ? std::string() : text + " is not a number of seconds " + range;
          },
          ""};
}

CLI::Validator seconds_above_zero() {
  return seconds_within([](double seconds) { return seconds > 0 && seconds < 1e6; }, "above 0 and below 1000000");
}

CLI::Validator seconds_from_zero() {
  return seconds_within([](double seconds) { return seconds >= 0 && seconds <= 1e6; }, "from 0 to 1000000");
}

void add_plan(CLI::App& app, sailor::cli::PlanArguments& arguments) {
  CLI::App* command = app.add_subcommand("plan", "Plan a job: which GPUs to use and how to split the model over them");
  CLI::Option* cluster = add_inputs(*command, arguments.inputs)->required(false);
  CLI::Option* slow = add_slow(*command, arguments.inputs);
  CLI::Option* from_cluster =
      command
          ->add_flag("--from-cluster", arguments.is_from_cluster,
                     "plan with the GPUs that are free now in the cluster that kubectl talks to, with its GpuPools and "
                     "ModelProfiles")
          ->excludes(cluster)
          ->excludes(slow);
  for (CLI::Option* option : add_kubectl(*command, arguments.kubectl)) option->needs(from_cluster);
  add_choice(*command, "--space", arguments.space, kSpaces,
             "paper: equal replicas and layers in every stage; flow (default): any shape");
  auto* current = command
                      ->add_option("--current", arguments.current,
                                   "the running plan, which is kept unless another plan is clearly better")
                      ->type_name("PLAN.json");
  command
      ->add_option("--lifetime", arguments.lifetime_seconds,
                   "expected time until the next change; a move must pay off within it (default 3600)")
      ->needs(current)
      ->check(seconds_above_zero())
      ->type_name("SECONDS");
  command
      ->add_flag("--repair", arguments.is_repair,
                 "search only near the running plan, which takes hundredths of a second")
      ->needs(current);
  command
      ->add_option("--budget", arguments.budget_seconds,
                   "stop the search after this time and return the best plan so far")
      ->check(seconds_above_zero())
      ->type_name("SECONDS");
  command
      ->add_option("--prove", arguments.proof_seconds,
                   "time for proving a bound after the search (default: some hundredths of a second)")
      ->check(seconds_above_zero())
      ->type_name("SECONDS");
  command
      ->add_option("--max-tensor-parallel", arguments.max_tensor_parallel,
                   "maximum number of GPUs of a tensor-parallel group (default 8)")
      ->check(CLI::Range(1, 1024))
      ->type_name("N");
  add_choice(*command, "-o,--output", arguments.format, kFormats, "output format (default table)");
}

void add_simulate(CLI::App& app, sailor::cli::SimulateArguments& arguments) {
  CLI::App* command = app.add_subcommand("simulate", "Estimate time, memory and cost of a given plan");
  add_inputs(*command, arguments.inputs);
  add_slow(*command, arguments.inputs);
  command
      ->add_option("--plan", arguments.plan,
                   "plan, or object with a key `plan` as `sailor plan -o json` prints it; - is standard input")
      ->required()
      ->type_name("PLAN.json");
  command
      ->add_option("--timeline", arguments.timeline, "also write a trace of the step for Perfetto or chrome://tracing")
      ->type_name("TRACE.json");
  add_choice(*command, "-o,--output", arguments.format, kFormats, "output format (default table)");
}

void add_evaluate(CLI::App& app, sailor::cli::EvaluateArguments& arguments) {
  static const std::map<std::string, Format> formats = {{"table", Format::kTable}, {"json", Format::kJson}};
  CLI::App* command = app.add_subcommand("evaluate", "Compare the simulator with measured runs");
  command->add_option("runs", arguments.runs, "folder of measured runs, one JSON file each")
      ->required()
      ->type_name("RUNS_DIR");
  command->add_option("--profiles", arguments.profiles, "folder with the profiles and bandwidths for these runs")
      ->required()
      ->type_name("DIR");
  command
      ->add_option("--execution", arguments.execution,
                   "how the runs executed their plans (default: deepspeed, or deepspeed-ethernet for RTX GPUs)")
      ->type_name(execution_values());
  add_choice(*command, "-o,--output", arguments.format, formats, "output format (default table)");
}

void add_paper(CLI::App& app, sailor::cli::PaperArguments& arguments) {
  static const std::map<std::string, Format> formats = {
      {"table", Format::kTable}, {"json", Format::kJson}, {"html", Format::kHtml}, {"markdown", Format::kMarkdown}};
  CLI::App* command = app.add_subcommand("paper", "Repeat the evaluation of the Sailor paper in simulation");
  command->add_option("artifact", arguments.artifact, "folder of the public artifact of Sailor's authors")
      ->required()
      ->type_name("ARTIFACT_DIR");
  command
      ->add_option("--peer-plans", arguments.peer_plans,
                   "folder of recorded plans of Sailor's planner and others (default: only our plans)")
      ->type_name("DIR");
  command
      ->add_option("--measured", arguments.measured,
                   "folder of measured runs (default: the errors of the simulator are left out)")
      ->type_name("DIR");
  command->add_option("--only", arguments.only, "a figure or table, such as 8a or t2; may be repeated (default: all)")
      ->type_name("FIGURE");
  add_choice(*command, "-o,--output", arguments.format, formats, "output format (default table)");
}

void add_render(CLI::App& app, sailor::cli::RenderArguments& arguments) {
  static const std::map<std::string, Format> formats = {{"json", Format::kJson}, {"yaml", Format::kYaml}};
  CLI::App* command = app.add_subcommand("render", "Print the pods that the operator would create for a job");
  add_inputs(*command, arguments.inputs);
  command->add_option("--trainer-image", arguments.trainer_image, "image of the trainer (default sailor-trainer)")
      ->type_name("IMAGE");
  command
      ->add_option("--max-tensor-parallel", arguments.max_tensor_parallel,
                   "maximum number of GPUs of a tensor-parallel group (default 8, as in the operator)")
      ->check(CLI::Range(1, 1024))
      ->type_name("N");
  add_choice(*command, "-o,--output", arguments.format, formats, "output format (default yaml)");
}

CLI::Option* add_seconds(CLI::App& command, const std::string& name, sailor::Seconds& value, const std::string& help) {
  return command
      .add_option_function<double>(
          name, [&value](double seconds) { value = sailor::Seconds(seconds); }, help)
      ->type_name("SECONDS");
}

void add_replay_times(CLI::App& command, sailor::ReplayOptions& options) {
  add_seconds(command, "--restart-seconds", options.restart,
              "from the start of pods until all workers have loaded the checkpoint (default 60)")
      ->check(seconds_above_zero());
  add_seconds(command, "--planning-seconds", options.planning,
              "time for which a job that lost GPUs waits for its new plan (default 0.5)")
      ->check(seconds_from_zero());
  add_seconds(command, "--node-start-seconds", options.node_start,
              "from when a new node exists until workers can start on it (default 60)")
      ->check(seconds_from_zero());
  add_seconds(command, "--notice-seconds", options.notice,
              "how long before its end a node is known to leave; 0: never (default 15)")
      ->check(seconds_from_zero());
}

void add_replay(CLI::App& app, sailor::cli::ReplayArguments& arguments) {
  using sailor::cli::PolicyChoice;
  static const std::map<std::string, PolicyChoice> policies = {
      {"live", PolicyChoice::kLive},     {"restart", PolicyChoice::kRestart}, {"static", PolicyChoice::kStatic},
      {"varuna", PolicyChoice::kVaruna}, {"oracle", PolicyChoice::kOracle},   {"all", PolicyChoice::kAll}};
  static const std::map<std::string, std::optional<sailor::LookAhead>> look_ahead = {
      {"off", sailor::LookAhead::kOff}, {"on", sailor::LookAhead::kOn}, {"auto", sailor::LookAhead::kAuto}};
  CLI::App* command =
      app.add_subcommand("replay", "Simulate a job over a trace of available nodes: steps, cost, goodput");
  add_inputs(*command, arguments.inputs);
  command
      ->add_option("--trace", arguments.traces,
                   "nodes or GPUs over time, of the only spot pool or of POOL; may be repeated")
      ->required()
      ->type_name("[POOL=]FILE");
  command->add_option("--prices", arguments.prices, "prices over time, likewise (default: the cluster's prices)")
      ->type_name("[POOL=]FILE");
  add_choice(*command, "--policy", arguments.policy, policies,
             "how the job reacts to changes; all compares them (default: by the job's elasticity mode)");
  add_choice(*command, "--look-ahead", arguments.look_ahead, look_ahead,
             "whether live and restart judge changes by what the history of the nodes says; auto: once it says enough "
             "(default off; without --policy as the job says; all compares off with auto)");
  add_replay_times(*command, arguments.options);
  command
      ->add_option("--seed", arguments.options.seed,
                   "draws the nodes that leave, where a trace has only counts (default 1)")
      ->check(CLI::Range(std::int64_t{0}, std::numeric_limits<std::int64_t>::max()))
      ->type_name("N");
  add_choice(*command, "-o,--output", arguments.format, kFormats, "output format (default table)");
}

struct JobCommand {
  const char* name;
  const char* help;
  sailor::Result<void> (*run)(const sailor::cli::JobArguments&, std::ostream&);
};

constexpr JobCommand kJobCommands[] = {
    {"top", "Show how fast jobs of a cluster are, and what they cost", sailor::cli::run_top},
    {"explain", "Say what a job of a cluster does, or what it waits for", sailor::cli::run_explain},
    {"history", "List the changes of plan of a job of a cluster", sailor::cli::run_history},
    {"logs", "Print the logs of all workers of a job, in the order of their times", sailor::cli::run_logs},
    {"suspend", "Save a job's state and free its GPUs", sailor::cli::run_suspend},
    {"resume", "Continue a suspended job", sailor::cli::run_resume},
};

void add_job_commands(CLI::App& app, sailor::cli::JobArguments& arguments) {
  for (const JobCommand& one : kJobCommands) {
    CLI::App* command = app.add_subcommand(one.name, one.help);
    const bool is_top = std::string_view(one.name) == "top";
    command->add_option("job", arguments.job, is_top ? "name of a job (default: all)" : "name of the job")
        ->required(!is_top)
        ->check(CLI::Validator([](std::string& name) { return sailor::object_name(name); }, ""))
        ->type_name("JOB");
    if (is_top) command->add_flag("-A,--all-namespaces", arguments.all_namespaces, "the jobs of all namespaces");
    if (std::string_view(one.name) == "logs") command->add_flag("-f,--follow", arguments.follow, "go on until Ctrl-C");
    add_kubectl(*command, arguments.kubectl);
  }
}

// Runs the command if it is one of kJobCommands.
std::optional<sailor::Result<void>> run_job_command(const CLI::App& app, const sailor::cli::JobArguments& arguments,
                                                    std::ostream& out) {
  for (const JobCommand& one : kJobCommands) {
    if (app.got_subcommand(one.name)) return one.run(arguments, out);
  }
  return std::nullopt;
}

void add_validate(CLI::App& app, std::vector<std::string>& files) {
  CLI::App* command =
      app.add_subcommand("validate", "Check manifests without a cluster; errors name file, line, field and remedy");
  command->add_option("-f,--file,files", files, "manifests")->required()->type_name("FILE...");
}

void add_completion(CLI::App& app, sailor::cli::Shell& shell) {
  using sailor::cli::Shell;
  static const std::map<std::string, Shell> shells = {
      {"bash", Shell::kBash}, {"zsh", Shell::kZsh}, {"fish", Shell::kFish}};
  CLI::App* command = app.add_subcommand("completion", "Print the script that completes commands in a shell");
  add_choice(*command, "shell", shell, shells, "the shell that runs the script")->required();
}

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

int bad_usage(const CLI::App& app, const CLI::ParseError& error, const char* first_argument) {
  constexpr int kBadInput = 2;
  const auto parsed = app.get_subcommands();
  std::string what = error.what();
  if (parsed.empty() && first_argument != nullptr && *first_argument != '-')
    what = std::string("unknown command ") + first_argument;
  if (parsed.empty()) what += "; the commands are " + names_of_commands(app);
  const std::string command = parsed.empty() ? "sailor" : "sailor " + parsed.front()->get_name();
  std::cerr << "sailor: " << what << "; see `" << command << " --help`\n";
  return kBadInput;
}

// Prints the result and the error, and returns the exit status.
int finish(const sailor::Result<void>& done, const std::string& result) {
  std::cout << result;
  if (!done) {
    std::cerr << "sailor: " << done.error().message << "\n";
    return sailor::cli::exit_status(done.error());
  }
  if (std::cout.flush()) return EXIT_SUCCESS;
  std::cerr << "sailor: the result cannot be written to standard output; check its target and the free space there\n";
  return EXIT_FAILURE;
}

struct Arguments {
  sailor::cli::PlanArguments plan;
  sailor::cli::SimulateArguments simulate;
  sailor::cli::EvaluateArguments evaluate;
  sailor::cli::PaperArguments paper;
  sailor::cli::ReplayArguments replay;
  sailor::cli::RenderArguments render;
  std::vector<std::string> files;
  sailor::cli::JobArguments job;
  sailor::cli::Shell shell = sailor::cli::Shell::kBash;
};

// A variable that a script has not set would otherwise count as an option that is not given, or as a file without name.
void refuse_empty_values(CLI::App& app) {
  const CLI::Validator is_given(
      [](const std::string& text) { return text.empty() ? "is empty; give a value, or omit it" : ""; }, "");
  for (CLI::App* command : app.get_subcommands([](const CLI::App*) { return true; })) {
    for (CLI::Option* option : command->get_options()) {
      if (option->get_items_expected_max() > 0) option->check(is_given);
    }
  }
}

void add_commands(CLI::App& app, Arguments& arguments) {
  add_plan(app, arguments.plan);
  add_simulate(app, arguments.simulate);
  add_evaluate(app, arguments.evaluate);
  add_paper(app, arguments.paper);
  add_replay(app, arguments.replay);
  add_render(app, arguments.render);
  add_validate(app, arguments.files);
  add_job_commands(app, arguments.job);
  add_completion(app, arguments.shell);
  app.add_subcommand("manual", "Print the man page of sailor; `man -l` shows it");
  refuse_empty_values(app);
}

// Runs the command that was parsed.
sailor::Result<void> run_command(const CLI::App& app, Arguments& arguments, std::ostream& out) {
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
  if (app.got_subcommand("validate")) return sailor::cli::run_validate(arguments.files, out, std::cerr);
  if (app.got_subcommand("completion")) {
    out << completion_script(arguments.shell);
  } else if (app.got_subcommand("manual")) {
    out << manual_page(sailor::cli::command_help(app), SAILOR_VERSION);
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
    return finish({}, complete(sailor::cli::command_help(app), *std::move(words), sailor::cli::job_names_in_cluster));
  }
  try {
    app.parse(argc, argv);
  } catch (const CLI::Success& asked_for_help) {
    return app.exit(asked_for_help);
  } catch (const CLI::ParseError& error) {
    return bad_usage(app, error, argc > 1 ? argv[1] : nullptr);
  }
  std::ostringstream result;  // printed after the progress has been removed from the terminal
  const sailor::Result<void> done = run_command(app, arguments, result);
  return finish(done, result.str());
}

}  // namespace

int main(int argc, char** argv) {
  try {
    return run(argc, argv);
  } catch (const std::exception& error) {
    std::cerr << "sailor: internal error: " << error.what() << "; please report it with the files that you used\n";
    return EXIT_FAILURE;
  }
}
