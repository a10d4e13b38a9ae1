// The catalogue of accelerators: memory and peak rates of each, with their source.
#pragma once

#include <optional>
#include <string_view>

#include "core/model/ids.h"
#include "core/model/units.h"

namespace sailor {

struct AcceleratorSpec {
  std::string_view name;  // GKE's accelerator name, or a name in the same style for a GPU that GKE does not offer
  Bytes memory;           // the memory of one GPU
  FlopsPerSecond fp32;    // dense peak in FP32 training, which uses TF32 tensor cores from Ampere on
  FlopsPerSecond bf16;    // dense peak in BF16 training, which uses tensor cores from Ampere on
  BytesPerSecond memory_bandwidth;
  BytesPerSecond peer_bandwidth;  // bandwidth from one GPU to another GPU of the same node, in one direction
  // On-demand price of one GPU with its share of the machine in us-central1 (Google Cloud's price list, 2025). Absent
  // if Google does not rent this GPU or its price is unknown. Spot prices change daily, so a GpuPool states them.
  std::optional<DollarsPerHour> list_price;
  std::string_view source;
};

Result<AcceleratorSpec> find_accelerator(const Accelerator& accelerator);

}  // namespace sailor
