// The data sheet of every accelerator that we know: memory and peak rates, each with its source.
#pragma once

#include <optional>
#include <span>
#include <string_view>

#include "core/model/ids.h"
#include "core/model/units.h"

namespace sailor {

struct AcceleratorSpec {
  std::string_view name;  // GKE's name of it, or one made alike where GKE has none
  Bytes memory;           // of one GPU
  FlopsPerSecond fp32;    // dense peak of what FP32 training uses: TF32 tensor cores from Ampere on
  FlopsPerSecond bf16;    // dense peak of what BF16 training uses: tensor cores from Ampere on
  BytesPerSecond memory_bandwidth;
  BytesPerSecond peer_bandwidth;  // from one GPU to another of its node, one direction
  // Of one GPU with its share of the machine, on demand, in us-central1 (Google Cloud's price list, 2025); absent where
  // Google rents none or we know no price. Spot prices change daily: a GpuPool says them.
  std::optional<DollarsPerHour> list_price;
  std::string_view source;
};

std::span<const AcceleratorSpec> accelerator_catalog();
Result<AcceleratorSpec> find_accelerator(const Accelerator& accelerator);

}  // namespace sailor
