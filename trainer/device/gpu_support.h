// What this program and this machine have for computing on GPUs, and whether that is enough for a worker.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "core/model/error.h"

namespace sailor::trainer {

struct GpuSupport {
  int cuda_version = 0;                    // of this program's libraries: 13000 for 13.0; 0: it is built for CPUs only
  std::vector<std::string> architectures;  // for which this program has kernels: "sm_90"
  std::optional<std::string> driver;       // the version of the machine's NVIDIA driver; nothing without a driver
  std::vector<std::string> models;         // of the machine's GPUs, by their driver: "NVIDIA H100 80GB HBM3"
  int usable_gpus = 0;                     // GPUs that this process can use; they may be fewer
};

// Returns an error if the process cannot use the GPU with this index among those of the pod. The error names the GPU,
// the driver that was found and the driver that is needed.
Result<void> check_gpu(const GpuSupport& support, int index);

// Returns the oldest NVIDIA driver (its major version) that CUDA of this version works with.
int oldest_driver_for(int cuda_version);

// Fill in driver and models from the folder with proc/.
std::optional<std::string> nvidia_driver(const std::filesystem::path& root = "/");
std::vector<std::string> nvidia_models(const std::filesystem::path& root = "/");

// Returns the architectures in the options of a compiler (cuda_flags.h).
std::vector<std::string> architectures_in(const std::string& flags);

nlohmann::json to_json(const GpuSupport& support);  // docs/trainer.md describes it

}  // namespace sailor::trainer
