// sailor-trainer: the program in a trainer pod. The pod runs `agent`, which starts one `worker` process per GPU. The
// other commands measure this machine (`profile`, `links`) and convert weights (`import`, `export`).
#include <cerrno>
#include <cmath>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <map>
#include <thread>
#include <utility>

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <pthread.h>

#include "core/command_line/empty_values.h"
#include "core/log/log.h"
#include "core/manifest/files.h"
#include "core/manifest/rules.h"
#include "core/model/counted.h"
#include "core/model/job_json.h"
#include "core/net/system_cas.h"
#include "core/protocol/exit_status.h"
#include "core/protocol/timeouts.h"
#include "trainer/agent/agent.h"
#include "trainer/agent/worker_main.h"
#include "trainer/device/device.h"
#include "trainer/profile/links_command.h"
#include "trainer/profile/profile_command.h"
#include "trainer/weights/import_export.h"

namespace sailor::trainer {
namespace {

// Called before any thread exists: all threads inherit the mask, and one of them waits for the signals.
void block_signals() {
  sigset_t signals;
  sigemptyset(&signals);
  for (const int signal : {SIGTERM, SIGINT, SIGUSR1}) sigaddset(&signals, signal);
  pthread_sigmask(SIG_BLOCK, &signals, nullptr);
}

int agent_main(AgentSettings& settings) {
  block_signals();
  net::ignore_system_cas();
  settings.program = std::filesystem::read_symlink("/proc/self/exe");
  start_log("agent");
  const auto status = run_agent(settings);
  if (status) return *status;
  log_error("agent cannot start", {{"why", status.error().message}});
  return kExitBadInput;
}

struct WorkerOptions {
  WorkerSettings settings;
  DeviceChoice device = DeviceChoice::kAuto;
  int threads = 1;
  long peer_timeout_s = kPeerTimeout.count();
  int channel = -1;
};

int worker_main(WorkerOptions& options) {
  start_log(fmt::format("worker-{}", options.settings.gpu));
  options.settings.timeouts.peer = std::chrono::seconds(options.peer_timeout_s);
  set_cpu_threads(options.threads);
  if (const auto device = use_device(options.device, options.settings.gpu); !device) {
    report_failure(options.settings, options.channel, device.error().message);
    return kExitFailed;
  }
  const bool has_gpu = !compute_device().is_cpu();
  if (has_gpu) allow_tf32();
  if (!has_gpu && nvidia_driver())
    log_warning("computing on the CPU of a machine with an NVIDIA driver", {{"remedy", "use the image for GPUs"}});
  log_info(has_gpu ? "computing on the GPU" : "computing on the CPU", {{"threads", std::to_string(options.threads)}});
  serve_agent(options.settings, options.channel);
  return 0;
}

const std::map<std::string, DeviceChoice>& device_choices() {
  static const std::map<std::string, DeviceChoice> choices = {
      {"auto", DeviceChoice::kAuto}, {"cpu", DeviceChoice::kCpu}, {"gpu", DeviceChoice::kGpu}};
  return choices;
}

void add_agent_options(CLI::App& command, AgentSettings& settings, long& peer_timeout_s) {
  command.add_option("--name", settings.name, "name of the pod")->required();
  command.add_option("--pod-uid", settings.pod_uid, "UID of the pod");
  command.add_option("--host", settings.host, "IP address of the pod; the agent listens on this address only")
      ->required();
  command.add_option("--gpus", settings.gpus, "worker processes to start")->check(CLI::Range(1, 64));
  command.add_option("--port", settings.port, "port for the operator's requests")->check(CLI::Range(1, 65535));
  command.add_option("--store-port", settings.store_port, "port of the rendezvous store")->check(CLI::Range(1, 65535));
  command.add_option("--threads", settings.threads, "CPU threads of each worker")->check(CLI::Range(1, 1024));
  command.add_option("--peer-timeout", peer_timeout_s, "seconds without an answer after which a peer counts as lost")
      ->check(CLI::Range(1, 3600));
  command
      .add_option("--device", settings.device,
                  "what workers compute on: gpu, cpu, or auto, which means gpu if this program is built for GPUs; a "
                  "worker without its GPU fails")
      ->envname("SAILOR_DEVICE")
      ->check(CLI::IsMember(device_choices()));
  command.add_option("--credentials", settings.credentials,
                     "folder with ca.crt, tls.crt and tls.key; without it, the agent obeys whoever reaches it");
  command.add_option("--termination-log", settings.termination_log, "file for the termination report");
}

void add_worker_options(CLI::App& command, WorkerOptions& options) {
  command.add_option("--agent", options.settings.agent, "name of the pod")->required();
  command.add_option("--host", options.settings.host, "IP address of the pod")->required();
  command.add_option("--gpu", options.settings.gpu, "index of the GPU in the pod")->required();
  command.add_option("--threads", options.threads, "CPU threads");
  command.add_option("--device", options.device, "as of the agent")
      ->transform(CLI::CheckedTransformer(device_choices()));
  command.add_option("--peer-timeout", options.peer_timeout_s,
                     "seconds without an answer after which a peer counts as lost");
  command.add_option("--channel", options.channel, "file descriptor of the socket to the agent")->required();
}

struct ProfileCommand {
  std::string job;
  std::string model;
  int sequence_length = 0;
  std::string accelerator;
  std::vector<int> microbatch_sizes;
  std::vector<int> tensor_parallel_sizes = {1};
  std::string precision = "FP32";
  bool has_sequence_parallelism = false;
  double seconds = 2;
  ProfileOptions options;
};

void add_profile_options(CLI::App& command, ProfileCommand& profile) {
  auto* job = command.add_option("--job", profile.job, "file with a TrainingJob; measures its model with its settings");
  auto* model = command.add_option("--model", profile.model, "instead of --job: name of a model in the catalogue");
  command.add_option("--sequence-length", profile.sequence_length, "with --model: tokens per sequence")
      ->check(CLI::Range(1, 1 << 20))
      ->excludes(job);
  job->excludes(model);
  command
      .add_option("--accelerator", profile.accelerator,
                  "GPU type of this machine, under which the planner finds the profile")
      ->required()
      ->check(plain_name);
  command
      .add_option("--microbatch-sizes", profile.microbatch_sizes, "default: those of the job, or 1,2,4 with --model")
      ->delimiter(',')
      ->check(CLI::Range(1, 65536));
  command
      .add_option("--degrees", profile.tensor_parallel_sizes,
                  "tensor-parallel sizes; the workers of a group are threads of this process")
      ->delimiter(',')
      ->check(CLI::Range(1, 64));
  command.add_option("--precision", profile.precision, "with --model: precision; a job has its own setting")
      ->check(CLI::IsMember({"FP32", "BF16"}))
      ->excludes(job);
  command
      .add_flag("--sequence-parallelism", profile.has_sequence_parallelism,
                "with --model: use sequence parallelism; a job has its own setting")
      ->excludes(job);
  command.add_option("--seconds", profile.seconds, "seconds to spend on each combination of sizes")
      ->check(CLI::Range(0.0, 3600.0));
  command
      .add_option("--concurrency", profile.options.concurrency,
                  "processes that compute at the same time; one of them is measured")
      ->check(CLI::Range(1, 256));
  command.add_option("--threads", profile.options.threads, "CPU threads of each process")->check(CLI::Range(1, 1024));
  command.add_option("--device", profile.options.device, "what to measure: gpu, cpu, or auto, as of the agent")
      ->transform(CLI::CheckedTransformer(device_choices()));
  command
      .add_option("--name", profile.options.name,
                  "metadata.name of the manifest; default: made of model and accelerator")
      ->check(object_name);
  command.add_option("--channel", profile.options.channel)
      ->group("");  // set in processes that only generate background load
}

// Checks what the ranges of the options do not: NaN is in every range.
Result<void> check_limits(const ProfileCommand& command) {
  if (std::isnan(command.seconds))
    return fail(ErrorCode::kInvalidArgument, "--seconds nan is not a number of seconds; use one such as 2");
  const unsigned processors = std::thread::hardware_concurrency();  // 0: unknown
  if (processors == 0 || std::cmp_less_equal(command.options.threads, processors)) return {};
  return fail(ErrorCode::kInvalidArgument,
              fmt::format("--threads {} is more than the {} of this machine; measure with the threads of a worker, and "
                          "with --concurrency as many workers as share the machine",
                          command.options.threads, counted(processors, "processor")));
}

Result<MeasureRequest> measure_request(const ProfileCommand& command) {
  if (const auto checked = check_limits(command); !checked) return tl::unexpected(checked.error());
  MeasureRequest request{.model = {},
                         .sequence_length = command.sequence_length,
                         .accelerator = Accelerator(command.accelerator),
                         .microbatch_sizes = command.microbatch_sizes,
                         .tensor_parallel_sizes = command.tensor_parallel_sizes,
                         .precision = parse_precision(command.precision).value(),
                         .sequence_parallelism = command.has_sequence_parallelism ? SequenceParallelism::kAlways
                                                                                  : SequenceParallelism::kNever,
                         .threads = command.options.threads,
                         .time = std::chrono::milliseconds(static_cast<std::int64_t>(command.seconds * 1000))};
  if (!command.job.empty()) {
    const auto job = read_job(command.job);
    if (!job) return tl::unexpected(job.error());
    request.model = job->model;
    request.precision = job->training.precision;
    request.sequence_parallelism = job->training.sequence_parallelism;
    request.sequence_length = job->training.sequence_length;
    if (request.microbatch_sizes.empty()) request.microbatch_sizes = job->training.microbatch_sizes;
    return request;
  }
  if (command.model.empty())
    return fail(ErrorCode::kInvalidArgument, "no model is named; add --job FILE, or --model with --sequence-length");
  auto model = find_model(command.model);
  if (!model) return tl::unexpected(model.error());
  request.model = *std::move(model);
  if (request.sequence_length == 0) {
    return fail(ErrorCode::kInvalidArgument, "--model needs --sequence-length as well, or give --job");
  }
  const auto longest = request.model.longest_sequence();
  if (longest && request.sequence_length > *longest) {
    return fail(
        ErrorCode::kInvalidArgument,
        fmt::format("--sequence-length {} exceeds the {} positions of model {}; shorten the sequences or choose "
                    "another model",
                    request.sequence_length, *longest, request.model.name));
  }
  if (request.microbatch_sizes.empty()) request.microbatch_sizes = {1, 2, 4};
  return request;
}

// Returns the exit status.
int print_result(const std::string& text) {
  if (std::fputs(text.c_str(), stdout) >= 0 && std::fflush(stdout) == 0) return 0;
  log_error("the result cannot be written to standard output; check its target and the free space there",
            {{"why", std::strerror(errno)}});
  return 1;
}

int profile_main(ProfileCommand& command, int argc, char** argv) {
  start_log("profile");
  command.options.program = std::filesystem::read_symlink("/proc/self/exe");
  command.options.arguments.assign(argv + 1, argv + argc);
  const auto request = measure_request(command);
  if (!request) {
    log_error("cannot measure: invalid options", {{"why", request.error().message}});
    return kExitBadInput;
  }
  const auto manifest = profile(*request, command.options);
  if (!manifest) {
    log_error("measurement failed", {{"why", manifest.error().message}});
    return 1;
  }
  return print_result(*manifest);
}

void add_links_options(CLI::App& command, LinksOptions& links) {
  command.add_option("--rank", links.rank, "0 at the end that prints the manifest, 1 at the other")
      ->check(CLI::Range(0, 1));
  command.add_option("--host", links.host, "IP address of this end; default: both ends are threads of this process");
  command.add_option("--store", links.store, "with --rank 1: an address or name that leads to the end with rank 0");
  command.add_option("--port", links.port, "port of the rendezvous store, at the end with rank 0")
      ->check(CLI::Range(1, 65535));
  const auto set_patience = [&links](int seconds) { links.patience = std::chrono::seconds(seconds); };
  command.add_option_function<int>("--wait", set_patience, "seconds that an end waits for the other; default: 600")
      ->check(CLI::Range(1, 86400));
  command.add_option("--device", links.device, "what sends and sums: gpu, cpu, or auto, as of the agent")
      ->transform(CLI::CheckedTransformer(device_choices()));
  command.add_option("--zones", links.zones, "FROM,TO: zones of the two machines; default: the link within a node")
      ->delimiter(',')
      ->expected(2)
      ->check(plain_name);
}

int links_main(const LinksOptions& options) {
  start_log("links");
  const auto manifest = measure_links(options);
  if (!manifest) log_error("measurement failed", {{"why", manifest.error().message}});
  return manifest ? print_result(*manifest) : 1;
}

int capabilities_main() {
  start_log("capabilities");
  return print_result(to_json(gpu_support()).dump(2) + "\n");
}

struct WeightCommands {
  std::string model_folder;
  ExportOptions to_export;
};

void add_import_options(CLI::App& command, WeightCommands& weights) {
  command
      .add_option("folder", weights.model_folder,
                  "folder with config.json and safetensors files, at the path where trainer pods see it")
      ->required();
}

void add_export_options(CLI::App& command, WeightCommands& weights) {
  command
      .add_option("--checkpoints", weights.to_export.checkpoints,
                  "folder of a job's checkpoints: checkpoint.path/namespace/job/uid")
      ->required();
  command.add_option("--step", weights.to_export.step, "step of the checkpoint; default: the newest complete one");
  command.add_option("--into", weights.to_export.into, "folder for config.json and model.safetensors")->required();
}

int import_main(const WeightCommands& command) {
  start_log("import");
  const auto spec = import_model(command.model_folder);
  if (!spec) log_error("import failed", {{"why", spec.error().message}});
  return spec ? print_result(*spec) : kExitBadInput;
}

int export_main(const WeightCommands& command) {
  start_log("export");
  const auto step = export_model(command.to_export);
  if (step) log_info("exported", {{"step", std::to_string(*step)}, {"into", command.to_export.into.string()}});
  if (!step) log_error("export failed", {{"why", step.error().message}});
  return step ? 0 : kExitBadInput;
}

int run(int argc, char** argv) {
  CLI::App app("Trains a model according to the operator's plan.", "sailor-trainer");
  app.require_subcommand(1);
  app.set_version_flag("--version", SAILOR_VERSION);
  AgentSettings agent;
  long peer_timeout_s = kPeerTimeout.count();
  CLI::App* agent_command =
      app.add_subcommand("agent", "run in a pod: take assignments from the operator and start one worker per GPU");
  add_agent_options(*agent_command, agent, peer_timeout_s);
  WorkerOptions worker;
  CLI::App* worker_command = app.add_subcommand("worker", "train on one GPU; started by the agent only");
  add_worker_options(*worker_command, worker);
  ProfileCommand profile;
  CLI::App* profile_command =
      app.add_subcommand("profile", "measure the layers of a model on this machine and print a ModelProfile");
  add_profile_options(*profile_command, profile);
  LinksOptions links;
  CLI::App* links_command =
      app.add_subcommand("links", "measure the network between two workers and print a NetworkModel");
  add_links_options(*links_command, links);
  CLI::App* capabilities_command =
      app.add_subcommand("capabilities", "print as JSON the GPUs that this program can use, here and at all");
  WeightCommands weights;
  CLI::App* import_command = app.add_subcommand(
      "import", "check that a Hugging Face model can be trained and print the spec of a job that does so");
  add_import_options(*import_command, weights);
  CLI::App* export_command = app.add_subcommand("export", "write a checkpoint as a Hugging Face model");
  add_export_options(*export_command, weights);
  refuse_empty_values(app);
  try {
    app.parse(argc, argv);
    if (links_command->parsed()) return links_main(links);
    if (capabilities_command->parsed()) return capabilities_main();
    if (import_command->parsed()) return import_main(weights);
    if (export_command->parsed()) return export_main(weights);
    if (profile_command->parsed()) return profile_main(profile, argc, argv);
    agent.peer_timeout = std::chrono::seconds(peer_timeout_s);
    return agent_command->parsed() ? agent_main(agent) : worker_main(worker);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : kExitBadInput;
  } catch (const std::exception& error) {
    log_error("stopped by an error", {{"why", error.what()}});
    return 1;
  }
}

}  // namespace
}  // namespace sailor::trainer

int main(int argc, char** argv) { return sailor::trainer::run(argc, argv); }
