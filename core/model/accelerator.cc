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

// GiB, dense TFLOP/s (FP32, BF16), GB/s (memory, peer), $/h where there is a price. Dense rates: without sparsity.
// Volta's and Turing's tensor cores know FP16 only: there BF16 is computed as FP32. GiB are what the driver leaves.
// PCIe 3.0 x16 gives 16 GB/s a direction, 4.0 x16 32 GB/s; NVLink half its total.
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

std::span<const AcceleratorSpec> accelerator_catalog() { return kCatalog; }

Result<AcceleratorSpec> find_accelerator(const Accelerator& accelerator) {
  std::string known;
  for (const AcceleratorSpec& entry : kCatalog) {
    if (entry.name == accelerator.str()) return entry;
    known += fmt::format("{}{}", known.empty() ? "" : ", ", entry.name);
  }
  return fail(ErrorCode::kNotFound,
              fmt::format("nothing is known of accelerator \"{}\"; known are {}", accelerator.str(), known));
}

}  // namespace sailor
