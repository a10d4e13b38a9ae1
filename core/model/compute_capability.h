// ComputeCapability: NVIDIA's version of what a GPU can execute. A program has kernels for the capabilities that it was
// built for, and runs on no others.
#pragma once

#include <compare>
#include <optional>
#include <string>
#include <string_view>

#include "core/model/error.h"
#include "core/model/ids.h"

namespace sailor {

struct ComputeCapability {
  int major = 0;
  int minor = 0;
  friend auto operator<=>(const ComputeCapability&, const ComputeCapability&) = default;
};

// The least one for which the trainer's image has kernels: that of PyTorch 2.11 with CUDA 13, which dropped Volta.
inline constexpr ComputeCapability kLeastComputeCapability{7, 5};

std::string to_string(const ComputeCapability& capability);                 // "7.5"
Result<ComputeCapability> parse_compute_capability(std::string_view text);  // the inverse

// The catalogue's entry; nothing if the catalogue does not have the accelerator.
std::optional<ComputeCapability> compute_capability(const Accelerator& accelerator);

// Returns whether the GPUs are known to be too old for programs that need this capability.
bool lacks_kernels(const Accelerator& accelerator, const ComputeCapability& least);

}  // namespace sailor
