#include "trainer/profile/manifests.h"

#include <chrono>
#include <fstream>

#include <fmt/chrono.h>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "core/model/job_json.h"

namespace sailor::trainer {
namespace {

std::string quoted(const std::string& text) { return nlohmann::json(text).dump(); }  // a JSON string is a YAML string

std::string decimal(Seconds time) { return fmt::format("\"{:.6g}\"", time.value()); }

// Adjacent layers with equal times become one entry.
std::string layer_entries(const std::vector<LayerTime>& times) {
  std::string text;
  for (std::size_t first = 0; first < times.size();) {
    std::size_t last = first + 1;
    while (last < times.size() && times[last] == times[first]) ++last;
    text += fmt::format("    - {{first: {}, last: {}, forwardSeconds: {}, backwardSeconds: {}, updateSeconds: {}}}\n",
                        first, last, decimal(times[first].forward), decimal(times[first].backward),
                        decimal(times[first].update));
    first = last;
  }
  return text;
}

std::string layer_entries(const std::vector<LayerMemory>& memory) {
  std::string text;
  for (std::size_t first = 0; first < memory.size();) {
    std::size_t last = first + 1;
    while (last < memory.size() && memory[last] == memory[first]) ++last;
    text += fmt::format(
        "    - {{first: {}, last: {}, parameters: {:.0f}, activationBytesPerSample: {:.0f}, outputBytesPerSample: "
        "{:.0f}}}\n",
        first, last, memory[first].parameters, memory[first].activations_per_sample.value(),
        memory[first].output_per_sample.value());
    first = last;
  }
  return text;
}

}  // namespace

std::string profile_manifest(const ModelProfile& profile, const ManifestHeader& header) {
  std::string text = fmt::format(
      "apiVersion: sailor.dev/v1alpha1\nkind: ModelProfile\nmetadata:\n  name: {}\nspec:\n  model: {}\n  accelerator: "
      "{}\n"
      "  precision: {}\n  sequenceLength: {}\n  sequenceParallelism: {}\n  layers: {}\n  device: {}\n  measuredAt: "
      "{}\n  source: {}\n  times:\n",
      quoted(header.name), quoted(profile.model), quoted(profile.accelerator.str()), to_string(profile.precision),
      profile.sequence_length, to_string(profile.sequence_parallelism), profile.times.begin()->second.size(),
      quoted(header.device), quoted(header.measured_at), quoted(profile.source));
  for (const auto& [point, times] : profile.times) {
    text += fmt::format("  - tensorParallel: {}\n    microbatchSize: {}\n    layers:\n{}", point.tensor_parallel,
                        point.microbatch_size, layer_entries(times));
  }
  if (!profile.memory.empty()) text += "  memory:\n";
  for (const auto& [tensor_parallel, memory] : profile.memory) {
    text += fmt::format("  - tensorParallel: {}\n    layers:\n{}", tensor_parallel, layer_entries(memory));
  }
  return text;
}

std::string cpu_model_name() {
  std::ifstream stream("/proc/cpuinfo");
  for (std::string line; std::getline(stream, line);) {
    if (!line.starts_with("model name")) continue;
    const auto colon = line.find(": ");
    if (colon != std::string::npos) return line.substr(colon + 2);
  }
  return "CPU";
}

std::string current_time() {
  return fmt::format("{:%FT%TZ}", fmt::gmtime(std::chrono::system_clock::to_time_t(std::chrono::system_clock::now())));
}

std::string network_manifest(const Link& link, const std::string& from_zone, const std::string& to_zone,
                             const ExecutionModel& execution) {
  const std::string figures = fmt::format("gigabytesPerSecond: \"{:.4g}\", latencyMicroseconds: {:.0f}",
                                          link.bandwidth.value() / 1e9, link.latency.value() * 1e6);
  std::string text = "apiVersion: sailor.dev/v1alpha1\nkind: NetworkModel\nspec:\n";
  text += from_zone.empty() ? fmt::format("  tiers:\n    node: {{{}}}\n", figures)
                            : fmt::format("  pairs:\n  - {{from: {}, to: {}, {}}}\n", from_zone, to_zone, figures);
  return text + fmt::format(
                    "  execution:\n    source: {}\n    measured: {}\n    messages: {{besidePasses: {}, "
                    "latencyMicroseconds: {:.0f}}}\n    sums: {{besidePasses: {}, shareOfRate: \"{:.3g}\"}}\n",
                    quoted(execution.source), execution.is_measured, execution.messages_beside_passes,
                    execution.message_latency.value() * 1e6, execution.sums_beside_passes, execution.sum_share);
}

}  // namespace sailor::trainer
