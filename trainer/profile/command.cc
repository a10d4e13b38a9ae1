#include "trainer/profile/command.h"

#include <algorithm>

#include <fmt/format.h>

#include "trainer/profile/load.h"
#include "trainer/profile/manifest.h"
#include "trainer/threads.h"

namespace sailor::trainer {
namespace {

std::string default_name(const ModelProfile& profile) {
  const std::string_view precision = profile.precision == Precision::kFp32 ? "fp32" : "bf16";
  std::string name =
      fmt::format("{}-{}-{}-{}", profile.model, profile.accelerator.str(), precision, profile.sequence_length);
  std::ranges::replace(name, '.', '-');
  return name;
}

}  // namespace

Result<std::string> profile(const MeasureRequest& request, const ProfileOptions& options) {
  use_threads(options.threads);
  if (options.channel >= 0) compute_for_ever(request, options.channel);
  const auto load = Load::start(options.program, options.arguments, options.concurrency - 1);
  if (!load) return tl::unexpected(load.error());
  ModelProfile measured = measure(request);
  measured.source =
      fmt::format("sailor-trainer profile, {} of {} thread{} at once, one of them measured",
                  options.concurrency == 1 ? "1 process" : fmt::format("{} processes", options.concurrency),
                  options.threads, options.threads == 1 ? "" : "s");
  const std::string name = options.name.empty() ? default_name(measured) : options.name;
  return to_manifest(measured, {.name = name, .device = name_of_this_processor(), .measured_at = time_now()});
}

}  // namespace sailor::trainer
