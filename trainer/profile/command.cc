#include "trainer/profile/command.h"

#include <algorithm>
#include <thread>

#include <fmt/format.h>

#include "trainer/log.h"
#include "trainer/profile/load.h"
#include "trainer/profile/manifest.h"
#include "trainer/threads.h"

namespace sailor::trainer {
namespace {

std::string default_name(const ModelProfile& profile) {
  const std::string_view precision = profile.precision == Precision::kFp32 ? "fp32" : "bf16";
  const bool is_dealt = profile.sequence_parallelism == SequenceParallelism::kAlways;
  std::string name = fmt::format("{}-{}-{}-{}{}", profile.model, profile.accelerator.str(), precision,
                                 profile.sequence_length, is_dealt ? "-sequence-parallel" : "");
  std::ranges::replace(name, '.', '-');
  return name;
}

std::string source_of(double share_of_core, const ProfileOptions& options) {
  return fmt::format("sailor-trainer profile, {} of {} thread{} at once, one of them measured, with {:.0f} % of a core",
                     options.concurrency == 1 ? "1 process" : fmt::format("{} processes", options.concurrency),
                     options.threads, options.threads == 1 ? "" : "s", 100 * share_of_core);
}

// Where there are cores for all that were to compute, somebody else had them.
void warn_if_disturbed(double share_of_core, const ProfileOptions& options) {
  constexpr double kUndisturbed = 0.9;
  const auto wanted = static_cast<unsigned>(options.concurrency * options.threads);
  if (share_of_core >= kUndisturbed || wanted > std::thread::hardware_concurrency()) return;
  log_warning("other programs used the processor: the times are too long; measure again when it is quiet",
              {{"share_of_core", fmt::format("{:.2f}", share_of_core)}});
}

}  // namespace

Result<std::string> profile(const MeasureRequest& request, const ProfileOptions& options) {
  if (const auto checked = check_degrees(request); !checked) return tl::unexpected(checked.error());
  use_threads(options.threads);
  if (options.channel >= 0) compute_for_ever(request, options.channel);
  const auto load = Load::start(options.program, options.arguments, options.concurrency - 1);
  if (!load) return tl::unexpected(load.error());
  auto [measured, share_of_core] = measure(request);
  warn_if_disturbed(share_of_core, options);
  measured.source = source_of(share_of_core, options);
  const std::string name = options.name.empty() ? default_name(measured) : options.name;
  return to_manifest(measured, {.name = name, .device = name_of_this_processor(), .measured_at = time_now()});
}

}  // namespace sailor::trainer
