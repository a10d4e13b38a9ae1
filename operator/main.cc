// sailor-operator: reads its options, then runs until it receives a signal or loses its leadership.
#include <csignal>
#include <cstdlib>
#include <iostream>
#include <random>
#include <thread>

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <malloc.h>
#include <unistd.h>

#include "core/command_line/empty_values.h"
#include "core/log/log.h"
#include "core/manifest/manifest.h"
#include "core/manifest/source.h"
#include "core/net/system_cas.h"
#include "operator/kube/http_transport.h"
#include "operator/runtime.h"
#include "operator/self_check.h"

namespace sailor {
namespace {

constexpr int kMallocArenas = 2;

struct Flags {
  OperatorOptions options;
  std::string kubeconfig;
  std::string network_model;
  std::string log_level = "info";
  bool checks_installation = false;
  long pod_start_limit = OperatorOptions{}.pod_start_limit.count();
  long new_node_limit = OperatorOptions{}.new_node_limit.count();
  long cool_down = OperatorOptions{}.cool_down.count();
  long peer_timeout = OperatorOptions{}.peer_timeout.count();
  std::string least_capability = to_string(OperatorOptions{}.least_capability);
};

void declare(CLI::App& app, Flags& flags) {
  app.option_defaults()->multi_option_policy(CLI::MultiOptionPolicy::TakeLast);  // for the chart's extraArgs
  app.add_option("--trainer-image", flags.options.trainer_image, "Image of trainer pods")->required();
  app.add_option("--kubeconfig", flags.kubeconfig, "Kubeconfig, outside of a cluster");
  app.add_option("--metrics-address", flags.options.metrics_address, "HOST:PORT of /metrics");
  app.add_option("--health-address", flags.options.health_address, "HOST:PORT of /healthz and /readyz");
  app.add_option("--callback-address", flags.options.callback_address, "HOST:PORT at which agents reach the operator");
  app.add_option("--status-address", flags.options.status_address,
                 "HOST:PORT of pages about all jobs; whoever reaches it may read them");
  app.add_option("--namespaces", flags.options.namespaces,
                 "Run the jobs of these namespaces only, separated by commas; default: of all")
      ->delimiter(',');
  app.add_option("--planner-threads", flags.options.planner_threads, "Jobs planned at the same time")
      ->check(CLI::Range(1, 64));
  app.add_option("--pod-start-limit", flags.pod_start_limit,
                 "Seconds after which a pod that does not start is given up")
      ->check(CLI::Range(1, 86400));
  app.add_option("--new-node-limit", flags.new_node_limit,
                 "Seconds after which a pod for which the autoscaler has made no node is given up")
      ->check(CLI::Range(1, 86400));
  app.add_option("--cool-down", flags.cool_down, "Seconds between a change of a running job and the next voluntary one")
      ->check(CLI::Range(0, 86400));
  app.add_option("--peer-timeout", flags.peer_timeout, "Seconds after which an unresponsive worker counts as lost")
      ->check(CLI::Range(1, 3600));
  app.add_option(
         "--min-compute-capability", flags.least_capability,
         "The least compute capability for which the trainer's image has kernels; nodes of older GPUs are not used")
      ->check([](const std::string& text) {
        const auto capability = parse_compute_capability(text);
        return capability ? std::string() : capability.error().message;
      });
  app.add_option("--network-model", flags.network_model, "File with a NetworkModel, instead of Google Cloud's figures");
  app.add_option("--log-level", flags.log_level, "trace, debug, info, warn or error")
      ->check(CLI::IsMember({"trace", "debug", "info", "warn", "error"}));
  app.add_option("--lease-name", flags.options.lease_name, "Name of that Lease; each release has its own");
  app.add_option(
      "--ca-secret", flags.options.ca_secret,
      "Name of the Secret with the operator's CA, which it makes if there is none; each release has its own");
  app.add_flag("!--no-job-network-policies", flags.options.isolates_jobs,
               "Make no NetworkPolicy for each job, which lets only the job's own pods reach its workers");
  app.add_option("--kueue", flags.options.kueue_version,
                 "Ask Kueue for the GPUs of jobs with a queue's label, by this version of its API")
      ->check(CLI::IsMember({"v1beta1", "v1beta2"}));
  app.add_flag("--check", flags.checks_installation, "Say whether an installation is complete and works, and end");
  app.add_flag("--leader-elect", flags.options.elects_leader, "Wait for a Lease before doing anything");
  refuse_empty_values(app);
}

// Returns the name of the pod, or of the host, and a random suffix that distinguishes processes of the same name.
std::string identity(const std::string& pod) {
  char host[256] = "";
  gethostname(host, sizeof host - 1);
  return fmt::format("{}_{:08x}", pod.empty() ? host : pod, std::random_device{}());
}

Result<NetworkModel> read_network(const std::string& file) {
  const auto documents = read_documents(file);
  if (!documents) return tl::unexpected(documents.error());
  for (const SourceDocument& document : *documents) {
    if (document.kind() == "NetworkModel") return network_from_manifest(document.value);
  }
  return fail(ErrorCode::kInvalidArgument, fmt::format("{} holds no NetworkModel", file));
}

Result<void> complete(Flags& flags) {
  auto cluster = kube::find_config(flags.kubeconfig);
  if (!cluster) return tl::unexpected(std::move(cluster).error());
  flags.options.cluster = std::move(*cluster);
  if (const char* namespace_name = std::getenv("POD_NAMESPACE")) flags.options.cluster.namespace_name = namespace_name;
  if (const char* pod = std::getenv("POD_NAME")) flags.options.pod = pod;
  flags.options.identity = identity(flags.options.pod);
  flags.options.pod_start_limit = std::chrono::seconds(flags.pod_start_limit);
  flags.options.new_node_limit = std::chrono::seconds(flags.new_node_limit);
  flags.options.cool_down = std::chrono::seconds(flags.cool_down);
  flags.options.peer_timeout = std::chrono::seconds(flags.peer_timeout);
  flags.options.least_capability = parse_compute_capability(flags.least_capability).value();
  if (flags.network_model.empty()) return {};
  auto network = read_network(flags.network_model);
  if (!network) return tl::unexpected(std::move(network).error());
  flags.options.network = std::move(*network);
  return {};
}

// Blocks SIGTERM and SIGINT in all threads. The main thread waits for them, so no signal handler interrupts a thread.
sigset_t blocked_signals() {
  sigset_t signals;
  sigemptyset(&signals);
  sigaddset(&signals, SIGTERM);
  sigaddset(&signals, SIGINT);
  pthread_sigmask(SIG_BLOCK, &signals, nullptr);
  std::signal(SIGPIPE, SIG_IGN);
  return signals;
}

bool run_until_signal(OperatorOptions options, const sigset_t& signals) {
  OperatorRuntime process(std::move(options));
  std::atomic<bool> has_ended = false;
  bool ended_well = false;
  {
    std::jthread worker([&](std::stop_token stop) {
      try {
        ended_well = process.run(std::move(stop));
      } catch (const std::exception& error) {  // for example, an address is in use
        log_error("cannot run", {{"reason", error.what()}});
      }
      has_ended = true;
    });
    const timespec patience{.tv_sec = 0, .tv_nsec = 100'000'000};
    while (!has_ended && sigtimedwait(&signals, nullptr, &patience) < 0) {
    }
    if (!has_ended) log_info("stopping");
  }
  return ended_well;
}

// Prints a line for each thing that is checked, and returns whether all is well.
bool check(const OperatorOptions& options) {
  kube::HttpTransport transport(options.cluster);
  kube::Api api(transport);
  const auto sleep = [](std::chrono::milliseconds time) { std::this_thread::sleep_for(time); };
  bool is_good = true;
  for (const CheckLine& line : check_installation(api, options, sleep)) {
    std::cout << (line.is_good ? "ok      " : "FAILED  ") << line.text << "\n" << std::flush;
    is_good = is_good && line.is_good;
  }
  return is_good;
}

constexpr int kBadInput = 2;

int run(int argc, char** argv) {
  // Many threads exchange objects of all sizes. With an arena for each thread, a third of the memory lay unused in
  // them.
  mallopt(M_ARENA_MAX, kMallocArenas);
  net::ignore_system_cas();
  CLI::App app("Trains TrainingJobs on the GPUs of a Kubernetes cluster, wherever they are.", "sailor-operator");
  Flags flags;
  declare(app, flags);
  app.set_version_flag("--version", SAILOR_VERSION);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : kBadInput;
  }
  start_log("operator", parse_log_level(flags.log_level).value_or(LogLevel::kInfo));
  const sigset_t signals = blocked_signals();
  if (const auto ready = complete(flags); !ready) {
    log_error("cannot start", {{"reason", ready.error().message}});
    return kBadInput;
  }
  if (flags.checks_installation) return check(flags.options) ? 0 : 1;
  log_info("starting", {{"server", flags.options.cluster.server}, {"identity", flags.options.identity}});
  return run_until_signal(std::move(flags.options), signals) ? 0 : 1;
}

}  // namespace
}  // namespace sailor

int main(int argc, char** argv) { return sailor::run(argc, argv); }
