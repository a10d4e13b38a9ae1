#include "trainer/device/gpu_support.h"

#include <algorithm>
#include <fstream>
#include <regex>
#include <string_view>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "core/model/parse_number.h"

namespace sailor::trainer {
namespace {

namespace fs = std::filesystem;

std::string cuda_name(int version) { return fmt::format("CUDA {}.{}", version / 1000, version % 1000 / 10); }

int major_of(const std::string& version) { return parse_number<int>(version.substr(0, version.find('.'))).value_or(0); }

std::string why_not(const GpuSupport& support, int index) {
  if (support.cuda_version == 0)
    return "this program is built for CPUs; use the trainer's image for GPUs, or compute on the CPU with --device cpu";
  const int needed = oldest_driver_for(support.cuda_version);
  const std::string need = fmt::format("{} needs driver {} or newer", cuda_name(support.cuda_version), needed);
  if (!support.driver) return "the machine has no NVIDIA driver; " + need;
  const std::string found = "the NVIDIA driver is " + *support.driver;
  if (major_of(*support.driver) < needed) return fmt::format("{}; {}", found, need);
  if (support.usable_gpus == 0)
    return fmt::format(
        "{} ({}), but its libraries show no GPU; check that the pod requests GPUs and that "
        "LD_LIBRARY_PATH contains the folder with libcuda.so.1",
        found, need);
  if (index >= support.usable_gpus)
    return fmt::format("{} ({}), but the pod has only {} GPUs", found, need, support.usable_gpus);
  return "";
}

}  // namespace

Result<void> check_gpu(const GpuSupport& support, int index) {
  const std::string why = why_not(support, index);
  if (why.empty()) return {};
  return fail(ErrorCode::kUnavailable, fmt::format("GPU {} of this pod cannot be used: {}", index, why));
}

// From NVIDIA's table of CUDA releases and their minimum driver versions on Linux.
int oldest_driver_for(int cuda_version) {
  constexpr int kCuda13 = 13'000, kDriverOfCuda13 = 580, kDriverOfCuda12 = 525;
  return cuda_version >= kCuda13 ? kDriverOfCuda13 : kDriverOfCuda12;
}

// "NVRM version: NVIDIA UNIX x86_64 Kernel Module  535.104.05  Sat Aug 19 01:15:15 UTC 2023"
std::optional<std::string> nvidia_driver(const fs::path& root) {
  static const std::regex version(R"(\s([0-9]{3,}(\.[0-9]+)+)\s)");
  std::ifstream file(root / "proc/driver/nvidia/version");
  std::string line;
  std::smatch match;
  if (!std::getline(file, line) || !std::regex_search(line, match, version)) return std::nullopt;
  return match[1];
}

// Each GPU has a folder with a file of lines "Model: <tabs> NVIDIA L4".
std::vector<std::string> nvidia_models(const fs::path& root) {
  constexpr std::string_view kModel = "Model:";
  std::vector<std::string> models;
  std::error_code ignored;
  for (const auto& gpu : fs::directory_iterator(root / "proc/driver/nvidia/gpus", ignored)) {
    std::ifstream lines(gpu.path() / "information");
    for (std::string line; std::getline(lines, line);) {
      if (!line.starts_with(kModel)) continue;
      const auto begin = line.find_first_not_of(" \t", kModel.size());
      if (begin != std::string::npos) models.push_back(line.substr(begin));
    }
  }
  std::ranges::sort(models);
  return models;
}

std::vector<std::string> architectures_in(const std::string& flags) {
  static const std::regex architecture("code=(sm_[0-9a-z]+)");
  std::vector<std::string> architectures;
  for (std::sregex_iterator match(flags.begin(), flags.end(), architecture), end; match != end; ++match) {
    architectures.push_back((*match)[1]);
  }
  return architectures;
}

nlohmann::json to_json(const GpuSupport& support) {
  nlohmann::json json = {{"driver", nullptr},
                         {"gpus", support.models},
                         {"usableGpus", support.usable_gpus},
                         {"architectures", support.architectures},
                         {"collectives", {"gloo"}}};
  if (support.driver) json["driver"] = *support.driver;
  if (support.cuda_version > 0) {
    json["cuda"] = fmt::format("{}.{}", support.cuda_version / 1000, support.cuda_version % 1000 / 10);
    json["oldestDriver"] = oldest_driver_for(support.cuda_version);
    json["collectives"].push_back("nccl");
  }
  return json;
}

}  // namespace sailor::trainer
