// TransferUnits: divides the state of a model into numbered transfer units for one change of plan. Before and after the
// change, each worker has each unit entirely or not at all. model/shards.h divides one layer state; this class divides
// all layer states.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "core/model/error.h"
#include "trainer/step/roster.h"

namespace sailor::trainer {

// The bytes of an element of a state: the weight and its two moments in FP32.
inline constexpr std::int64_t kBytesOfElement = 3 * std::int64_t{sizeof(float)};

// Slices by layer state.
using StateSlices = std::map<int, std::vector<Slice>>;

// Returns the slices sorted, with adjacent ones merged.
std::vector<Slice> neighbours_joined(std::vector<Slice> slices);

std::string to_line(const StateSlices& held);
// Fails if the model does not have one of the slices.
Result<StateSlices> state_slices_from_line(const ModelSpec& model, const std::string& line);

// The slices of a worker: those that it updates (`own`), and those that it keeps as peer replicas. No slice is in both.
struct WorkerSlices {
  StateSlices own;
  StateSlices peer_replicas;
  friend bool operator==(const WorkerSlices&, const WorkerSlices&) = default;
};

class TransferUnits {
 public:
  // `held`: the slices that each worker has, by rank. `wanted`: the slices that it needs in the new plan, by rank.
  TransferUnits(const ModelSpec& model, const std::vector<WorkerSlices>& held, const std::vector<WorkerSlices>& wanted);

  [[nodiscard]] const ModelSpec& model() const { return model_; }
  [[nodiscard]] const std::vector<TransferUnit>& units() const { return units_; }
  [[nodiscard]] std::vector<int> ids() const;  // the positions in units(), ascending
  [[nodiscard]] const std::vector<int>& held_by(int rank) const { return held_.at(static_cast<std::size_t>(rank)); }
  // Returns the ids of the units that the rank has as peer replicas. held_by() contains them too.
  [[nodiscard]] const std::vector<int>& replicated_by(int rank) const {
    return replicated_.at(static_cast<std::size_t>(rank));
  }
  [[nodiscard]] const std::vector<int>& wanted_by(int rank) const { return wanted_.at(static_cast<std::size_t>(rank)); }

 private:
  ModelSpec model_;
  std::vector<TransferUnit> units_;  // their holders are in the lists below
  // Indexed by rank. Each list is ascending. Replicated units are also in held_.
  std::vector<std::vector<int>> held_, replicated_, wanted_;
};

}  // namespace sailor::trainer
