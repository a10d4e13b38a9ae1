#include "trainer/elastic/state/transfer_units.h"

#include <algorithm>
#include <numeric>

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
    const StateLayout whole = layout_of(model, layer_state);
    std::vector<StateLayout> shards;
    std::vector<std::vector<std::vector<int>*>> lists;  // by shard: the lists to which its units are added
    const auto add = [&](const StateSlices& slices, const std::vector<std::vector<int>*>& notes) {
      const auto found = slices.find(layer_state);
      if (found == slices.end()) return;
      shards.push_back(shard_of(whole, found->second));
      lists.push_back(notes);
    };
    for (std::size_t rank = 0; rank < held.size(); ++rank) {
      add(held[rank].own, {&held_[rank]});
      add(held[rank].peer_replicas, {&held_[rank], &replicated_[rank]});
    }
    for (std::size_t rank = 0; rank < wanted.size(); ++rank) {
      add(wanted[rank].own, {&wanted_[rank]});
      add(wanted[rank].peer_replicas, {&wanted_[rank]});
    }
    for (TransferUnit& unit : transfer_units_of(whole, shards)) {
      const int id = static_cast<int>(units_.size());
      for (const int index : unit.holders) {
        for (std::vector<int>* list : lists[static_cast<std::size_t>(index)]) {
          if (list->empty() || list->back() != id) list->push_back(id);
        }
      }
      unit.holders.clear();
      units_.push_back(std::move(unit));
    }
  }
}

std::vector<int> TransferUnits::ids() const {
  std::vector<int> ids(units_.size());
  std::iota(ids.begin(), ids.end(), 0);
  return ids;
}

}  // namespace sailor::trainer
