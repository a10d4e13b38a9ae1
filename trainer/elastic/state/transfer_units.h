// TransferUnits: the state of a model cut and numbered so that in a change of plans each worker, before and after,
// holds each unit entirely or not at all. What transfers.h calls a slice.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "core/model/error.h"
#include "trainer/step/roster.h"

namespace sailor::trainer {

// What a worker holds: of each layer state these slices.
using StateSlices = std::map<int, std::vector<Slice>>;

std::vector<Slice> neighbours_joined(std::vector<Slice> slices);  // in ascending order

std::string to_line(const StateSlices& held);
Result<StateSlices> state_slices_from_line(const ModelSpec& model,
                                           const std::string& line);  // refuses what is no slice

// What a worker holds, or is to hold: of which it computes the updates, and of which it keeps copies. A slice is in one
// of both.
struct WorkerSlices {
  StateSlices own;
  StateSlices copies;
  friend bool operator==(const WorkerSlices&, const WorkerSlices&) = default;
};

class TransferUnits {
 public:
  // By rank: what each has, and what each needs in the new plan.
  TransferUnits(const ModelSpec& model, const std::vector<WorkerSlices>& held, const std::vector<WorkerSlices>& wanted);

  [[nodiscard]] const ModelSpec& model() const { return model_; }
  [[nodiscard]] const std::vector<TransferUnit>& units() const { return units_; }
  [[nodiscard]] std::vector<int> ids() const;  // of all of them, ascending
  [[nodiscard]] const std::vector<int>& held_by(int rank) const { return held_.at(static_cast<std::size_t>(rank)); }
  [[nodiscard]] const std::vector<int>& copied_by(int rank) const { return copied_.at(static_cast<std::size_t>(rank)); }
  [[nodiscard]] const std::vector<int>& wanted_by(int rank) const { return wanted_.at(static_cast<std::size_t>(rank)); }

 private:
  ModelSpec model_;
  std::vector<TransferUnit> units_;                       // their holders are in the lists below
  std::vector<std::vector<int>> held_, copied_, wanted_;  // by rank, ascending; what is copied is held too
};

}  // namespace sailor::trainer
