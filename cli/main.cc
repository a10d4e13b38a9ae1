// sailor: everything that the operator decides, asked offline.
#include <cstdlib>
#include <exception>
#include <iostream>
#include <map>
#include <sstream>

#include <CLI/CLI.hpp>

#include "cli/commands.h"
#include "cli/evaluate.h"
#include "cli/patience.h"
#include "cli/render.h"
#include "cli/replay.h"

namespace {

using sailor::PlanSpace;
using sailor::cli::Format;
using sailor::cli::Patience;

const std::map<std::string, Format> kFormats = {
    {"table", Format::kTable}, {"json", Format::kJson}, {"yaml", Format::kYaml}, {"html", Format::kHtml}};
const std::map<std::string, PlanSpace> kSpaces = {{"paper", PlanSpace::kPaper}, {"flow", PlanSpace::kFlow}};

// Names in the help text, not the numbers behind them.
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

void add_inputs(CLI::App& command, sailor::cli::Inputs& inputs) {
  command.add_option("-f,--file", inputs.job, "manifest with one TrainingJob")->required()->type_name("JOB.yaml");
  command.add_option("--cluster", inputs.cluster, "GpuPools, and at most one NetworkModel")
      ->required()
      ->type_name("CLUSTER.yaml");
  command
      .add_option("--profiles", inputs.profiles,
                  "folder of ModelProfiles; without it times are computed from data sheets")
      ->type_name("DIR");
}

CLI::Validator seconds_above_zero() {
  return {[](std::string& text) {
            double seconds = 0;
            const bool is_positive = CLI::detail::lexical_cast(text, seconds) && seconds > 0 && seconds < 1e6;
            return is_positive ? std::string() : text + " is no number of seconds above 0 and below a million";
          },
          ""};
}

CLI::App* add_plan(CLI::App& app, sailor::cli::PlanArguments& arguments) {
  CLI::App* command = app.add_subcommand("plan", "Plan one job: which GPUs, where, and how to split the model");
  add_inputs(*command, arguments.inputs);
  add_choice(*command, "--space", arguments.space, kSpaces,
             "paper: equal replicas and layers in every stage; flow (the default): anything");
  auto* current =
      command
          ->add_option("--current", arguments.current, "the running plan: it is kept unless another is clearly better")
          ->type_name("PLAN.json");
  command
      ->add_option("--lifetime", arguments.lifetime_seconds,
                   "how long a plan runs, most likely: what moving costs is spread over it (default 3600)")
      ->needs(current)
      ->check(seconds_above_zero())
      ->type_name("SECONDS");
  command->add_flag("--repair", arguments.is_repair, "look no further than near the running plan: an answer at once")
      ->needs(current);
  command->add_option("--budget", arguments.budget_seconds, "return the best plan found within so many seconds")
      ->check(seconds_above_zero())
      ->type_name("SECONDS");
  command
      ->add_option("--prove", arguments.proof_seconds,
                   "after the search, prove for so long that no plan is much better (default: some hundredths)")
      ->check(seconds_above_zero())
      ->type_name("SECONDS");
  command
      ->add_option("--max-tensor-parallel", arguments.max_tensor_parallel,
                   "GPUs of a tensor-parallel group at most (default 8)")
      ->check(CLI::Range(1, 1024))
      ->type_name("N");
  add_choice(*command, "-o,--output", arguments.format, kFormats, "how to print it (default table)");
  return command;
}

CLI::App* add_simulate(CLI::App& app, sailor::cli::SimulateArguments& arguments) {
  CLI::App* command = app.add_subcommand("simulate", "Estimate time, memory and cost of a given plan");
  add_inputs(*command, arguments.inputs);
  command
      ->add_option(
          "--plan", arguments.plan,
          "a plan, or an object with a key `plan`, as `sailor plan -o json` prints; - reads it from standard input")
      ->required()
      ->type_name("PLAN.json");
  command
      ->add_option("--timeline", arguments.timeline,
                   "also write what every replica does when, as a trace that Perfetto and chrome://tracing open")
      ->type_name("TRACE.json");
  add_choice(*command, "-o,--output", arguments.format, kFormats, "how to print it (default table)");
  return command;
}

CLI::App* add_evaluate(CLI::App& app, sailor::cli::EvaluateArguments& arguments) {
  static const std::map<std::string, Format> formats = {{"table", Format::kTable}, {"json", Format::kJson}};
  CLI::App* command = app.add_subcommand("evaluate", "Hold the simulator against measured runs");
  command->add_option("runs", arguments.runs, "folder of measured runs, a JSON file each")
      ->required()
      ->type_name("RUNS_DIR");
  command->add_option("--profiles", arguments.profiles, "folder of the profiles and bandwidths that they are told by")
      ->required()
      ->type_name("DIR");
  add_choice(*command, "-o,--output", arguments.format, formats, "how to print it (default table)");
  return command;
}

CLI::App* add_render(CLI::App& app, sailor::cli::RenderArguments& arguments) {
  static const std::map<std::string, Format> formats = {{"json", Format::kJson}, {"yaml", Format::kYaml}};
  CLI::App* command = app.add_subcommand("render", "Print the pods that the operator would create for a job");
  add_inputs(*command, arguments.inputs);
  command->add_option("--trainer-image", arguments.trainer_image, "image of the trainer (default sailor-trainer)")
      ->type_name("IMAGE");
  command
      ->add_option("--max-tensor-parallel", arguments.max_tensor_parallel,
                   "GPUs of a tensor-parallel group at most (default 8, as the operator has it)")
      ->check(CLI::Range(1, 1024))
      ->type_name("N");
  add_choice(*command, "-o,--output", arguments.format, formats, "how to print it (default yaml)");
  return command;
}

CLI::Option* add_seconds(CLI::App& command, const std::string& name, sailor::Seconds& value, const std::string& help) {
  return command
      .add_option_function<std::string>(
          name, [&value](const std::string& text) { value = sailor::Seconds(std::stod(text)); }, help)
      ->check(seconds_above_zero())
      ->type_name("SECONDS");
}

CLI::App* add_replay(CLI::App& app, sailor::cli::ReplayArguments& arguments) {
  using sailor::ReplayPolicy;
  static const std::map<std::string, ReplayPolicy> policies = {
      {"live", ReplayPolicy::kLive}, {"restart", ReplayPolicy::kRestart}, {"static", ReplayPolicy::kStatic}};
  CLI::App* command = app.add_subcommand("replay", "Play a job over a trace of availability: work done, cost, goodput");
  add_inputs(*command, arguments.inputs);
  command
      ->add_option("--trace", arguments.traces,
                   "how many nodes or GPUs there were when; of the only spot pool, or POOL=FILE; may be repeated")
      ->required()
      ->type_name("[POOL=]FILE");
  add_choice(*command, "--policy", arguments.options.policy, policies,
             "live (the default): re-planned while it runs; restart: from a checkpoint; static: planned once");
  add_seconds(*command, "--rescale-seconds", arguments.options.rescale,
              "a live change of plan takes so long (default 2)");
  add_seconds(*command, "--restart-seconds", arguments.options.restart, "a start takes so long (default 60)");
  add_choice(*command, "-o,--output", arguments.format, kFormats, "how to print it (default table)");
  return command;
}

CLI::App* add_validate(CLI::App& app, std::vector<std::string>& files) {
  CLI::App* command = app.add_subcommand("validate", "Check manifests without a cluster: file, line, field, remedy");
  command->add_option("-f,--file,files", files, "manifests")->required()->type_name("FILE...");
  return command;
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
    what = std::string("there is no command ") + first_argument;
  if (parsed.empty()) what += "; commands are " + names_of_commands(app);
  const std::string command = parsed.empty() ? "sailor" : "sailor " + parsed.front()->get_name();
  std::cerr << "sailor: " << what << "; see `" << command << " --help`\n";
  return kBadInput;
}

int run(int argc, char** argv) {
  CLI::App app(
      "Sailor plans training jobs over GPU pools. All that its operator decides can be asked here, without a "
      "cluster, of the files that one applies.\nExit status: 0 done, 1 a fault of sailor, 2 bad input, 3 no "
      "feasible plan.",
      "sailor");
  app.set_version_flag("--version", SAILOR_VERSION);
  app.require_subcommand(1);
  sailor::cli::PlanArguments plan;
  sailor::cli::SimulateArguments simulate;
  sailor::cli::EvaluateArguments evaluate;
  sailor::cli::RenderArguments render;
  sailor::cli::ReplayArguments replay;
  std::vector<std::string> files;
  const CLI::App* plan_command = add_plan(app, plan);
  const CLI::App* simulate_command = add_simulate(app, simulate);
  const CLI::App* evaluate_command = add_evaluate(app, evaluate);
  const CLI::App* replay_command = add_replay(app, replay);
  const CLI::App* render_command = add_render(app, render);
  add_validate(app, files);
  try {
    app.parse(argc, argv);
  } catch (const CLI::Success& asked_for_help) {
    return app.exit(asked_for_help);
  } catch (const CLI::ParseError& error) {
    return bad_usage(app, error, argc > 1 ? argv[1] : nullptr);
  }
  sailor::Result<void> done;
  std::ostringstream result;  // printed when the progress is off the terminal
  if (plan_command->parsed()) {
    const Patience patience("planning", Patience::Interrupt::kAsksForBestSoFar);
    done = run_plan(plan, result, patience.token());
  } else if (simulate_command->parsed()) {
    done = run_simulate(simulate, result);
  } else if (evaluate_command->parsed()) {
    done = run_evaluate(evaluate, result);
  } else if (replay_command->parsed()) {
    const Patience patience("replaying", Patience::Interrupt::kEndsProgram);
    done = run_replay(replay, result);
  } else if (render_command->parsed()) {
    done = run_render(render, result);
  } else {
    done = sailor::cli::run_validate(files, result, std::cerr);
  }
  std::cout << result.str();
  if (!done) {
    std::cerr << "sailor: " << done.error().message << "\n";
    return sailor::cli::exit_status(done.error());
  }
  if (std::cout.flush()) return EXIT_SUCCESS;
  std::cerr << "sailor: the result cannot be written to standard output; check where it goes and the room there\n";
  return EXIT_FAILURE;
}

}  // namespace

int main(int argc, char** argv) {
  try {
    return run(argc, argv);
  } catch (const std::exception& error) {
    std::cerr << "sailor: a fault of ours: " << error.what() << "; please report it with the files you used\n";
    return EXIT_FAILURE;
  }
}
