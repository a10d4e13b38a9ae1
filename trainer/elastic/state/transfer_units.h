// TransferUnits: the state of a model, cut into numbered units. Before and after a change of plan each worker has each
// unit entirely or not at all.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "core/model/error.h"
#include "trainer/step/roster.h"

namespace sailor::trainer {

// Slices by layer state.
using StateSlices = std::map<int, std::vector<Slice>>;

std::vector<Slice> neighbours_joined(std::vector<Slice> slices);  // sorts slices and merges adjacent ones

std::string to_line(const StateSlices& held);
Result<StateSlices> state_slices_from_line(const ModelSpec& model,
                                           const std::string& line);  // refuses slices that the model does not have

// The slices of a worker: those that it updates, and those that it keeps as peer replicas. A slice is in only one of
// them.
struct WorkerSlices {
  StateSlices own;
  StateSlices peer_replicas;
  friend bool operator==(const WorkerSlices&, const WorkerSlices&) = default;
};

class TransferUnits {
 public:
  // Both by rank: the slices that each worker has, and those that it needs in the new plan.
  TransferUnits(const ModelSpec& model, const std::vector<WorkerSlices>& held, const std::vector<WorkerSlices>& wanted);

  [[nodiscard]] const ModelSpec& model() const { return model_; }
  [[nodiscard]] const std::vector<TransferUnit>& units() const { return units_; }
  [[nodiscard]] std::vector<int> ids() const;  // ascending
  [[nodiscard]] const std::vector<int>& held_by(int rank) const { return held_.at(static_cast<std::size_t>(rank)); }
  [[nodiscard]] const std::vector<int>& replicated_by(int rank) const {
    return replicated_.at(static_cast<std::size_t>(rank));
  }
  [[nodiscard]] const std::vector<int>& wanted_by(int rank) const { return wanted_.at(static_cast<std::size_t>(rank)); }

 private:
  ModelSpec model_;
  std::vector<TransferUnit> units_;                           // their holders are in the lists below
  std::vector<std::vector<int>> held_, replicated_, wanted_;  // by rank, ascending; replicated units are also in held_
};

}  // namespace sailor::trainer
