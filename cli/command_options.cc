#include "cli/command_options.h"

#include <cstdint>
#include <limits>
#include <map>
#include <optional>
#include <string_view>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "cli/common_options.h"
#include "core/command_line/empty_values.h"
#include "core/manifest/rules.h"
#include "core/model/parse_number.h"

namespace sailor::cli {
namespace {

const std::map<std::string, PlanSpace> kSpaces = {{"paper", PlanSpace::kPaper}, {"flow", PlanSpace::kFlow}};

void add_plan(CLI::App& app, PlanArguments& arguments) {
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
  add_choice(*command, "-o,--output", arguments.format, output_formats(), "output format (default table)");
}

void add_simulate(CLI::App& app, SimulateArguments& arguments) {
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
  add_choice(*command, "-o,--output", arguments.format, output_formats(), "output format (default table)");
}

void add_evaluate(CLI::App& app, EvaluateArguments& arguments) {
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

void add_paper(CLI::App& app, PaperArguments& arguments) {
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

void add_render(CLI::App& app, RenderArguments& arguments) {
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

CLI::Option* add_seconds(CLI::App& command, const std::string& name, Seconds& value, const std::string& help) {
  return command
      .add_option_function<double>(
          name, [&value](double seconds) { value = Seconds(seconds); }, help)
      ->type_name("SECONDS");
}

void add_replay_times(CLI::App& command, ReplayOptions& options) {
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

// CLI::Range would take a number that is too large for the largest of the range.
std::string refuse_wrong_seed(const std::string& text) {
  const auto seed = parse_number<std::int64_t>(text);
  if (seed && *seed >= 0) return "";
  return fmt::format("Value {} not in range 0 to {}", text, std::numeric_limits<std::int64_t>::max());
}

void add_replay(CLI::App& app, ReplayArguments& arguments) {
  static const std::map<std::string, PolicyChoice> policies = {
      {"live", PolicyChoice::kLive},     {"restart", PolicyChoice::kRestart}, {"static", PolicyChoice::kStatic},
      {"varuna", PolicyChoice::kVaruna}, {"oracle", PolicyChoice::kOracle},   {"all", PolicyChoice::kAll}};
  static const std::map<std::string, std::optional<LookAhead>> look_ahead = {
      {"off", LookAhead::kOff}, {"on", LookAhead::kOn}, {"auto", LookAhead::kAuto}};
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
      ->check(CLI::Validator(refuse_wrong_seed, ""))
      ->type_name("N");
  add_choice(*command, "-o,--output", arguments.format, output_formats(), "output format (default table)");
}

void add_job_commands(CLI::App& app, JobArguments& arguments) {
  for (const JobCommand& one : kJobCommands) {
    CLI::App* command = app.add_subcommand(one.name, one.help);
    const bool is_top = std::string_view(one.name) == "top";
    command->add_option("job", arguments.job, is_top ? "name of a job (default: all)" : "name of the job")
        ->required(!is_top)
        ->check(CLI::Validator([](std::string& name) { return object_name(name); }, ""))
        ->type_name("JOB");
    if (is_top) command->add_flag("-A,--all-namespaces", arguments.all_namespaces, "the jobs of all namespaces");
    if (std::string_view(one.name) == "logs") command->add_flag("-f,--follow", arguments.follow, "go on until Ctrl-C");
    add_kubectl(*command, arguments.kubectl);
  }
}

void add_validate(CLI::App& app, std::vector<std::string>& files) {
  CLI::App* command =
      app.add_subcommand("validate", "Check manifests without a cluster; errors name file, line, field and remedy");
  command->add_option("-f,--file,files", files, "manifests")->required()->type_name("FILE...");
}

void add_completion(CLI::App& app, Shell& shell) {
  static const std::map<std::string, Shell> shells = {
      {"bash", Shell::kBash}, {"zsh", Shell::kZsh}, {"fish", Shell::kFish}};
  CLI::App* command = app.add_subcommand("completion", "Print the script that completes commands in a shell");
  add_choice(*command, "shell", shell, shells, "the shell that runs the script")->required();
}

}  // namespace

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

}  // namespace sailor::cli
