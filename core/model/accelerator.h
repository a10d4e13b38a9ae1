// What the planner must know about an accelerator: the memory and the peak rates of one GPU. A GpuPool states them in
// spec.gpu. accelerators.json, the built-in catalogue, states them in the same format for the GPUs that Google Cloud
// rents and for some others.
#pragma once

#include <map>
#include <optional>
#include <string>

#include "core/model/ids.h"
#include "core/model/units.h"

namespace sailor {

class JsonReader;

struct AcceleratorSpec {
  Accelerator name;     // GKE's accelerator name, or a name in the same style for a GPU that GKE does not offer
  Bytes memory;         // the memory of one GPU that the driver leaves to programs
  FlopsPerSecond fp32;  // dense peak in FP32 training, which uses TF32 tensor cores from Ampere on
  // Dense peak in BF16 training. It is the FP32 rate on Volta and Turing, whose tensor cores support FP16 only.
  FlopsPerSecond bf16;
  BytesPerSecond memory_bandwidth;
  // The bandwidth from one GPU to another GPU of the same node, in one direction: half of NVLink's total.
  BytesPerSecond peer_bandwidth;
  friend bool operator==(const AcceleratorSpec&, const AcceleratorSpec&) = default;
};

// Reads the object `gpu` of a GpuPool's spec or of an entry of the catalogue; nothing if it is absent. Records an error
// for a missing figure, and for one that no GPU has. Without `peerGigabytesPerSecond`, the GPUs of a node are taken to
// exchange data over PCIe 3.0 x16, because almost every server has at least that.
std::optional<AcceleratorSpec> read_gpu(JsonReader& spec, const Accelerator& name);

// Returns the catalogue's entry; null if the catalogue does not have this accelerator.
const AcceleratorSpec* find_accelerator(const Accelerator& name);

// Returns the catalogue's entry of the GPUs that a label of a node names. Besides GKE's names the catalogue knows those
// of NVIDIA's products ("NVIDIA-L4") and Amazon's ("l4"). Null: it has no such GPU.
const AcceleratorSpec* accelerator_of_label(const std::string& value);

// Returns the price of one GPU with its share of the machine in us-central1 (Google Cloud's price list, 2025): that on
// demand, or half of it for a spot GPU. Spot prices change daily and differ by region; of those that were looked up,
// none is above half of the price on demand (docs/decisions/0069). A GpuPool can state the true price. Absent if Google
// does not rent this GPU or its price is unknown.
std::optional<DollarsPerHour> list_price(const Accelerator& name, Provisioning provisioning);

// The names of the catalogue for messages, separated by commas.
std::string known_accelerators();

// The accelerators that a cluster knows: those that its GpuPools describe, and the catalogue's.
class AcceleratorBook {
 public:
  // What a GpuPool states replaces the catalogue's entry. The first statement about an accelerator is kept.
  void add(const AcceleratorSpec& stated) { stated_.try_emplace(stated.name, stated); }
  // Null if the accelerator is unknown. Then no plan can use it.
  [[nodiscard]] const AcceleratorSpec* find(const Accelerator& name) const;
  friend bool operator==(const AcceleratorBook&, const AcceleratorBook&) = default;

 private:
  std::map<Accelerator, AcceleratorSpec> stated_;
};

}  // namespace sailor
