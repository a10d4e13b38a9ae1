#include "trainer/profile/profile_command.h"

#include <algorithm>
#include <thread>

#include <fmt/format.h>

#include "core/log/log.h"
#include "trainer/device/device.h"
#include "trainer/profile/background_load.h"
#include "trainer/profile/manifests.h"

namespace sailor::trainer {
namespace {

std::string default_name(const ModelProfile& profile) {
  const std::string_view precision = profile.precision == Precision::kFp32 ? "fp32" : "bf16";
  const bool has_sequence_parallelism = profile.sequence_parallelism == SequenceParallelism::kAlways;
  std::string name = fmt::format("{}-{}-{}-{}{}", profile.model, profile.accelerator.str(), precision,
                                 profile.sequence_length, has_sequence_parallelism ? "-sequence-parallel" : "");
  std::ranges::replace(name, '.', '-');
  return name;
}

std::string name_of_device() {
  if (compute_device().is_cpu()) return cpu_model_name();
  const auto models = nvidia_models();
  return models.empty() ? "GPU" : models.front();
}

std::string describe_measurement(double cpu_utilization, const ProfileOptions& options) {
  if (!compute_device().is_cpu()) return "sailor-trainer profile on a GPU, each layer alone, at the clocks that it had";
  return fmt::format("sailor-trainer profile, {} of {} thread{} at once, one of them measured, with {:.0f} % of a core",
                     options.concurrency == 1 ? "1 process" : fmt::format("{} processes", options.concurrency),
                     options.threads, options.threads == 1 ? "" : "s", 100 * cpu_utilization);
}

// If the machine has enough cores for all threads of the measurement, other programs must have used them.
void warn_if_machine_is_busy(double cpu_utilization, const ProfileOptions& options) {
  constexpr double kQuiet = 0.9;
  if (!compute_device().is_cpu()) return;  // the thread waits for the GPU
  const auto wanted = static_cast<unsigned>(options.concurrency * options.threads);
  if (cpu_utilization >= kQuiet || wanted > std::thread::hardware_concurrency()) return;
  log_warning("other programs used the processor, so the times are too long; measure again when the machine is idle",
              {{"cpu_utilization", fmt::format("{:.2f}", cpu_utilization)}});
}

}  // namespace

Result<std::string> profile(const MeasureRequest& request, const ProfileOptions& options) {
  if (const auto device = use_device(options.device, 0); !device) return tl::unexpected(device.error());
  if (!compute_device().is_cpu()) allow_tf32();
  if (const auto checked = check_sizes(request); !checked) return tl::unexpected(checked.error());
  set_cpu_threads(options.threads);
  if (options.channel >= 0) run_as_background_load(request, options.channel);
  const auto load = BackgroundLoad::start(options.program, options.arguments, options.concurrency - 1);
  if (!load) return tl::unexpected(load.error());
  auto [measured, cpu_utilization] = measure(request);
  warn_if_machine_is_busy(cpu_utilization, options);
  measured.source = describe_measurement(cpu_utilization, options);
  const std::string name = options.name.empty() ? default_name(measured) : options.name;
  return profile_manifest(measured, {.name = name, .device = name_of_device(), .measured_at = current_time()});
}

}  // namespace sailor::trainer
