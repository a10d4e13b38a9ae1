// sailor-trainer: the program in a trainer pod. `agent` is what a pod runs; `worker` is started by the agent.
#include <csignal>
#include <cstdlib>
#include <filesystem>

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <pthread.h>

#include "core/manifest/files.h"
#include "core/model/job_json.h"
#include "core/protocol/exit_status.h"
#include "core/protocol/timeouts.h"
#include "trainer/agent/agent.h"
#include "trainer/agent/worker_main.h"
#include "trainer/device.h"
#include "trainer/log.h"
#include "trainer/profile/command.h"
#include "trainer/profile/links_command.h"
#include "trainer/threads.h"
#include "trainer/weights/command.h"

namespace {

using namespace sailor::trainer;

void block_signals() {  // before any thread exists: all inherit it, and one waits for them
  sigset_t signals;
  sigemptyset(&signals);
  for (const int signal : {SIGTERM, SIGINT, SIGUSR1}) sigaddset(&signals, signal);
  pthread_sigmask(SIG_BLOCK, &signals, nullptr);
}

int agent_main(AgentSettings& settings) {
  block_signals();
  settings.program = std::filesystem::read_symlink("/proc/self/exe");
  name_log("agent");
  const auto status = run_agent(settings);
  if (status) return *status;
  log_error("agent cannot start", {{"why", status.error().message}});
  return sailor::kExitBadInput;
}

struct WorkerOptions {
  WorkerSettings settings;
  int threads = 1;
  long peer_timeout_s = sailor::kPeerTimeout.count();
  int channel = -1;
};

int worker_main(WorkerOptions& options) {
  name_log(fmt::format("worker-{}", options.settings.gpu));
  options.settings.patience.peer = std::chrono::seconds(options.peer_timeout_s);
  use_threads(options.threads);
  const bool has_gpu = use_gpu(options.settings.gpu);
  if (has_gpu) use_tf32();
  log_info(has_gpu ? "computes on its GPU" : "computes on the CPU", {{"threads", std::to_string(options.threads)}});
  serve_agent(options.settings, options.channel);
  return 0;
}

void add_agent_options(CLI::App& command, AgentSettings& settings, long& peer_timeout_s) {
  command.add_option("--name", settings.name, "name of the pod")->required();
  command.add_option("--host", settings.host, "IP address of the pod; everything listens on it only")->required();
  command.add_option("--gpus", settings.gpus, "worker processes to start")->check(CLI::Range(1, 64));
  command.add_option("--port", settings.port, "for the operator's requests")->check(CLI::Range(1, 65535));
  command.add_option("--store-port", settings.store_port, "of the rendezvous store")->check(CLI::Range(1, 65535));
  command.add_option("--threads", settings.threads, "CPU threads of each worker")->check(CLI::Range(1, 1024));
  command.add_option("--peer-timeout", peer_timeout_s, "seconds of silence after which a peer counts as lost")
      ->check(CLI::Range(1, 3600));
  command.add_option("--termination-log", settings.termination_log, "file for the last report");
}

void add_worker_options(CLI::App& command, WorkerOptions& options) {
  command.add_option("--agent", options.settings.agent)->required();
  command.add_option("--host", options.settings.host)->required();
  command.add_option("--gpu", options.settings.gpu)->required();
  command.add_option("--threads", options.threads);
  command.add_option("--peer-timeout", options.peer_timeout_s);
  command.add_option("--channel", options.channel, "descriptor of the socket to the agent")->required();
}

struct ProfileCommand {
  std::string job;
  std::string model;
  int sequence_length = 0;
  std::string accelerator;
  std::vector<int> microbatch_sizes;
  std::vector<int> degrees = {1};
  std::string precision = "FP32";
  bool has_sequence_parallelism = false;
  double seconds = 2;
  ProfileOptions options;
};

void add_profile_options(CLI::App& command, ProfileCommand& profile) {
  auto* job = command.add_option("--job", profile.job, "file with the TrainingJob whose model is measured");
  auto* model = command.add_option("--model", profile.model, "or a model of the catalogue");
  command.add_option("--sequence-length", profile.sequence_length, "with --model: tokens of a sequence")
      ->check(CLI::Range(1, 1 << 20));
  job->excludes(model);
  command.add_option("--accelerator", profile.accelerator, "name under which the planner finds the figures")
      ->required();
  command.add_option("--microbatch-sizes", profile.microbatch_sizes, "default: the job's")
      ->delimiter(',')
      ->check(CLI::Range(1, 65536));
  command.add_option("--degrees", profile.degrees, "of tensor parallelism; workers are threads of this process")
      ->delimiter(',')
      ->check(CLI::Range(1, 64));
  command.add_option("--precision", profile.precision, "with --model; a job has its own")
      ->check(CLI::IsMember({"FP32", "BF16"}));
  command.add_flag("--sequence-parallelism", profile.has_sequence_parallelism, "with --model; a job has its own");
  command.add_option("--seconds", profile.seconds, "to spend on each microbatch size and degree")
      ->check(CLI::Range(0.0, 3600.0));
  command.add_option("--concurrency", profile.options.concurrency, "processes that compute at once; one is measured")
      ->check(CLI::Range(1, 256));
  command.add_option("--threads", profile.options.threads, "CPU threads of each")->check(CLI::Range(1, 1024));
  command.add_option("--name", profile.options.name, "metadata.name of the manifest");
  command.add_option("--channel", profile.options.channel)->group("");  // of a process that only loads the machine
}

sailor::Result<MeasureRequest> measure_request(const ProfileCommand& command) {
  MeasureRequest request{.model = {},
                         .sequence_length = command.sequence_length,
                         .accelerator = sailor::Accelerator(command.accelerator),
                         .microbatch_sizes = command.microbatch_sizes,
                         .degrees = command.degrees,
                         .precision = sailor::parse_precision(command.precision).value(),
                         .sequence_parallelism = command.has_sequence_parallelism ? sailor::SequenceParallelism::kAlways
                                                                                  : sailor::SequenceParallelism::kNever,
                         .threads = command.options.threads,
                         .time = std::chrono::milliseconds(static_cast<std::int64_t>(command.seconds * 1000))};
  if (!command.job.empty()) {
    const auto job = sailor::read_job(command.job);
    if (!job) return tl::unexpected(job.error());
    request.model = job->model;
    request.precision = job->training.precision;
    request.sequence_parallelism = job->training.sequence_parallelism;
    request.sequence_length = job->training.sequence_length;
    if (request.microbatch_sizes.empty()) request.microbatch_sizes = job->training.microbatch_sizes;
    return request;
  }
  auto model = sailor::find_model(command.model);
  if (!model) return tl::unexpected(model.error());
  request.model = *std::move(model);
  if (request.sequence_length == 0) {
    return sailor::fail(sailor::ErrorCode::kInvalidArgument, "--model needs --sequence-length as well, or give --job");
  }
  if (request.microbatch_sizes.empty()) request.microbatch_sizes = {1, 2, 4};
  return request;
}

int profile_main(ProfileCommand& command, int argc, char** argv) {
  name_log("profile");
  command.options.program = std::filesystem::read_symlink("/proc/self/exe");
  command.options.arguments.assign(argv + 1, argv + argc);
  const auto request = measure_request(command);
  if (!request) {
    log_error("nothing to measure", {{"why", request.error().message}});
    return sailor::kExitBadInput;
  }
  const auto manifest = profile(*request, command.options);
  if (!manifest) {
    log_error("not measured", {{"why", manifest.error().message}});
    return 1;
  }
  fmt::print("{}", *manifest);
  return 0;
}

void add_links_options(CLI::App& command, LinksCommand& links) {
  command.add_option("--rank", links.rank, "0 on one machine, 1 on the other")->check(CLI::Range(0, 1));
  auto* host = command.add_option("--host", links.host, "own IP address; absent: both ends are on this machine");
  auto* store = command.add_option("--store", links.store, "IP address of the machine with rank 0");
  host->needs(store);
  store->needs(host);
  command.add_option("--port", links.port, "at which they meet")->check(CLI::Range(1, 65535));
  command.add_option("--zones", links.zones, "FROM,TO: the link is that of these zones")->delimiter(',')->expected(2);
}

int links_main(const LinksCommand& command) {
  name_log("links");
  const auto manifest = measure_links(command);
  if (manifest) fmt::print("{}", *manifest);
  if (!manifest) log_error("not measured", {{"why", manifest.error().message}});
  return manifest ? 0 : 1;
}

struct WeightCommands {
  std::string model_folder;
  ExportOptions to_export;
};

void add_import_options(CLI::App& command, WeightCommands& weights) {
  command.add_option("folder", weights.model_folder, "with config.json and safetensors, as trainer pods see it")
      ->required();
}

void add_export_options(CLI::App& command, WeightCommands& weights) {
  command.add_option("--checkpoints", weights.to_export.checkpoints, "a job's: checkpoint.path/namespace/job/uid")
      ->required();
  command.add_option("--step", weights.to_export.step, "default: the newest complete checkpoint");
  command.add_option("--into", weights.to_export.into, "folder for config.json and model.safetensors")->required();
}

int import_main(const WeightCommands& command) {
  name_log("import");
  const auto spec = import_model(command.model_folder);
  if (spec) fmt::print("{}", *spec);
  if (!spec) log_error("not imported", {{"why", spec.error().message}});
  return spec ? 0 : sailor::kExitBadInput;
}

int export_main(const WeightCommands& command) {
  name_log("export");
  const auto step = export_model(command.to_export);
  if (step) log_info("exported", {{"step", std::to_string(*step)}, {"into", command.to_export.into.string()}});
  if (!step) log_error("not exported", {{"why", step.error().message}});
  return step ? 0 : sailor::kExitBadInput;
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app("Trains a model as the operator's plan says, on whatever workers there are.", "sailor-trainer");
  app.require_subcommand(1);
  AgentSettings agent;
  long peer_timeout_s = sailor::kPeerTimeout.count();
  CLI::App* agent_command = app.add_subcommand("agent", "serve the operator and run one worker per GPU");
  add_agent_options(*agent_command, agent, peer_timeout_s);
  WorkerOptions worker;
  CLI::App* worker_command = app.add_subcommand("worker", "train on one GPU; started by the agent");
  add_worker_options(*worker_command, worker);
  ProfileCommand profile;
  CLI::App* profile_command = app.add_subcommand("profile", "measure a model's layers here; prints a ModelProfile");
  add_profile_options(*profile_command, profile);
  LinksCommand links;
  CLI::App* links_command = app.add_subcommand("links", "measure messages between workers; prints a NetworkModel");
  add_links_options(*links_command, links);
  WeightCommands weights;
  CLI::App* import_command = app.add_subcommand("import", "check a Hugging Face model; prints what to put into a job");
  add_import_options(*import_command, weights);
  CLI::App* export_command = app.add_subcommand("export", "write a checkpoint as a Hugging Face model");
  add_export_options(*export_command, weights);
  try {
    app.parse(argc, argv);
    if (links_command->parsed()) return links_main(links);
    if (import_command->parsed()) return import_main(weights);
    if (export_command->parsed()) return export_main(weights);
    if (profile_command->parsed()) return profile_main(profile, argc, argv);
    agent.peer_timeout = std::chrono::seconds(peer_timeout_s);
    return agent_command->parsed() ? agent_main(agent) : worker_main(worker);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : sailor::kExitBadInput;
  } catch (const std::exception& error) {
    log_error("stopped by a fault", {{"why", error.what()}});
    return 1;
  }
}
