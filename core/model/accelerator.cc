#include "core/model/accelerator.h"

#include <array>

#include <fmt/format.h>

namespace sailor {
namespace {

// NOLINTNEXTLINE(readability-function-size): its parameters are the columns of the table below
constexpr AcceleratorSpec spec(std::string_view name, double gib, double fp32, double bf16, double memory_gbs,
                               double peer_gbs, double price, std::string_view source) {
  return {name,
          gibibytes(gib),
          teraflops_per_second(fp32),
          teraflops_per_second(bf16),
          gigabytes_per_second(memory_gbs),
          gigabytes_per_second(peer_gbs),
          price > 0 ? std::optional(DollarsPerHour(price)) : std::nullopt,
          source};
}

// Columns: GiB, dense TFLOP/s (FP32, BF16), GB/s (memory, peer), $/h (0: unknown). Dense rates exclude sparsity.
// The tensor cores of Volta and Turing support FP16 only, so BF16 runs at the FP32 rate there. GiB is the memory that
// the driver leaves to programs. PCIe 3.0 x16 has 16 GB/s in each direction, PCIe 4.0 x16 has 32 GB/s, and NVLink has
// half of its total bandwidth in each direction.
constexpr std::array<AcceleratorSpec, 13> kCatalog = {
    spec("nvidia-tesla-t4", 15, 8.1, 8.1, 320, 16, 0.54, "NVIDIA T4 data sheet, 2019"),
    spec("nvidia-l4", 23, 60, 121, 300, 32, 0.71, "NVIDIA L4 data sheet, 2023"),
    spec("nvidia-tesla-v100", 16, 15.7, 15.7, 900, 150, 2.86, "NVIDIA V100 data sheet (SXM2), 2020"),
    spec("nvidia-tesla-a100", 40, 156, 312, 1555, 300, 3.67, "NVIDIA A100 data sheet (SXM 40 GB), 2021"),
    spec("nvidia-a100-80gb", 80, 156, 312, 2039, 300, 5.07, "NVIDIA A100 data sheet (SXM 80 GB), 2021"),
    spec("nvidia-h100-80gb", 80, 494, 989, 3350, 450, 11.06, "NVIDIA H100 data sheet (SXM), 2023"),
    spec("nvidia-h100-mega-80gb", 80, 494, 989, 3350, 450, 0, "NVIDIA H100 data sheet (SXM), 2023"),
    spec("nvidia-h200-141gb", 141, 494, 989, 4800, 450, 0, "NVIDIA H200 data sheet (SXM), 2024"),
    spec("nvidia-b200", 180, 1100, 2250, 8000, 900, 0, "NVIDIA Blackwell data sheet (HGX B200), 2024"),
    spec("nvidia-gh200", 96, 494, 989, 4000, 450, 0, "NVIDIA GH200 data sheet (96 GB HBM3), 2023"),
    spec("nvidia-titan-rtx", 24, 16.3, 16.3, 672, 50, 0, "NVIDIA Titan RTX product page, 2018"),
    spec("nvidia-rtx-2080", 8, 10.1, 10.1, 448, 16, 0, "NVIDIA Turing architecture white paper, 2018"),
    spec("nvidia-rtx-3090", 24, 35.6, 71, 936, 32, 0, "NVIDIA Ampere GA102 white paper, 2021"),
};

}  // namespace

Result<AcceleratorSpec> find_accelerator(const Accelerator& accelerator) {
  std::string known;
  for (const AcceleratorSpec& entry : kCatalog) {
    if (entry.name == accelerator.str()) return entry;
    known += fmt::format("{}{}", known.empty() ? "" : ", ", entry.name);
  }
  return fail(ErrorCode::kNotFound,
              fmt::format("accelerator \"{}\" is unknown; the known accelerators are {}", accelerator.str(), known));
}

}  // namespace sailor
