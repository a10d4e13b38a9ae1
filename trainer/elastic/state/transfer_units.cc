#include "trainer/elastic/state/transfer_units.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace sailor::trainer {
namespace {

tl::unexpected<Error> not_understood(const std::string& line) {
  return fail(ErrorCode::kInvalidArgument, fmt::format("cannot parse the slices of a worker: {}", line));
}

bool is_slice_of(const StateLayout& whole, const Slice& slice) {
  if (slice.tensor < 0 || slice.tensor >= std::ssize(whole.tensors)) return false;
  const TensorLayout& tensor = whole.tensors[static_cast<std::size_t>(slice.tensor)];
  return 0 <= slice.begin && slice.begin < slice.end &&
         slice.end <= tensor.shape[static_cast<std::size_t>(tensor.cut.dimension)];
}

bool is_list_of_integers(const nlohmann::json& json, std::size_t length) {
  return json.is_array() && json.size() == length &&
         std::ranges::all_of(json, [](const nlohmann::json& element) { return element.is_number_integer(); });
}

// The shards of one layer state. Each belongs to lists of ids, to which the ids of its units are added.
class ListedShards {
 public:
  ListedShards(const ModelSpec& model, int layer_state)
      : layer_state_(layer_state), whole_(layout_of(model, layer_state)) {}

  void add(const StateSlices& slices, std::vector<std::vector<int>*> lists) {
    const auto found = slices.find(layer_state_);
    if (found == slices.end()) return;
    shards_.push_back(shard_of(whole_, found->second));
    lists_.push_back(std::move(lists));
  }

  // The id of a unit is its index in `units`. Each list has it once, even if several shards of the list have the unit.
  void append_units(std::vector<TransferUnit>& units) const {
    for (TransferUnit& unit : transfer_units_of(whole_, shards_)) {
      const int id = static_cast<int>(units.size());
      for (const int index : unit.holders) {
        for (std::vector<int>* list : lists_[static_cast<std::size_t>(index)]) {
          if (list->empty() || list->back() != id) list->push_back(id);
        }
      }
      unit.holders.clear();
      units.push_back(std::move(unit));
    }
  }

 private:
  int layer_state_;
  StateLayout whole_;
  std::vector<StateLayout> shards_;
  std::vector<std::vector<std::vector<int>*>> lists_;  // indexed by shard
};

}  // namespace

std::vector<Slice> neighbours_joined(std::vector<Slice> slices) {
  std::ranges::sort(slices);
  std::vector<Slice> joined;
  for (const Slice& slice : slices) {
    const bool goes_on = !joined.empty() && joined.back().tensor == slice.tensor && joined.back().end == slice.begin;
    if (goes_on) {
      joined.back().end = slice.end;
    } else {
      joined.push_back(slice);
    }
  }
  return joined;
}

std::string to_line(const StateSlices& held) {
  auto json = nlohmann::json::array();
  for (const auto& [layer_state, slices] : held) {
    for (const Slice& slice : slices) json.push_back({layer_state, slice.tensor, slice.begin, slice.end});
  }
  return json.dump();
}

Result<StateSlices> state_slices_from_line(const ModelSpec& model, const std::string& line) {
  const auto json = nlohmann::json::parse(line, nullptr, false);
  if (!json.is_array()) return not_understood(line);
  StateSlices held;
  for (const auto& element : json) {
    if (!is_list_of_integers(element, 4)) return not_understood(line);
    const int layer_state = element[0];
    const Slice slice{element[1], element[2], element[3]};
    if (layer_state < 0 || layer_state >= layer_state_count(model) ||
        !is_slice_of(layout_of(model, layer_state), slice)) {
      return not_understood(line);
    }
    held[layer_state].push_back(slice);
  }
  return held;
}

TransferUnits::TransferUnits(const ModelSpec& model, const std::vector<WorkerSlices>& held,
                             const std::vector<WorkerSlices>& wanted)
    : model_(model), held_(held.size()), replicated_(held.size()), wanted_(wanted.size()) {
  for (const int layer_state : all_layer_states(model)) {
    ListedShards shards(model, layer_state);
    for (std::size_t rank = 0; rank < held.size(); ++rank) {
      shards.add(held[rank].own, {&held_[rank]});
      shards.add(held[rank].peer_replicas, {&held_[rank], &replicated_[rank]});
    }
    for (std::size_t rank = 0; rank < wanted.size(); ++rank) {
      shards.add(wanted[rank].own, {&wanted_[rank]});
      shards.add(wanted[rank].peer_replicas, {&wanted_[rank]});
    }
    shards.append_units(units_);
  }
}

std::vector<int> TransferUnits::ids() const {
  std::vector<int> ids(units_.size());
  std::iota(ids.begin(), ids.end(), 0);
  return ids;
}

}  // namespace sailor::trainer
