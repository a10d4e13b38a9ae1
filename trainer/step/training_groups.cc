#include "trainer/step/training_groups.h"

#include <algorithm>
#include <numeric>
#include <set>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace sailor::trainer {
namespace {

std::set<std::vector<int>> holders_of_units(const Roster& roster, int rank) {
  std::set<std::vector<int>> sets;
  for (const int layer_state : roster.layer_states_of(rank)) {
    for (const TransferUnit& unit : roster.transfer_units_of(layer_state)) {
      if (std::ranges::binary_search(unit.holders, rank)) sets.insert(unit.holders);
    }
  }
  return sets;
}

}  // namespace

// All workers make their common groups in the same order, that of their members, so that they cannot deadlock.
TrainingGroups::TrainingGroups(const Roster& roster, int rank, GroupFactory& factory)
    : interrupt_(factory.interrupt()) {
  std::vector<int> everyone(static_cast<std::size_t>(roster.training_workers()));
  std::iota(everyone.begin(), everyone.end(), 0);
  control_ = factory.make_message_group("control", everyone);
  pipeline_ = factory.make_message_group("pipeline", everyone);
  const std::vector<int> replica = roster.group_of(rank);
  tensor_parallel_ = factory.make_collective_group(fmt::format("tensor-parallel-{}", fmt::join(replica, "-")), replica);
  for (const auto& holders : holders_of_units(roster, rank)) {
    data_parallel_[holders] =
        factory.make_collective_group(fmt::format("data-parallel-{}", fmt::join(holders, "-")), holders);
  }
}

void TrainingGroups::set_timeout(std::chrono::milliseconds timeout) {
  for (Group* group : {control_.get(), pipeline_.get(), tensor_parallel_.get()}) group->set_timeout(timeout);
  for (const auto& [holders, group] : data_parallel_) group->set_timeout(timeout);
}

Group& TrainingGroups::data_parallel(const std::vector<int>& holders) { return *data_parallel_.at(holders); }

}  // namespace sailor::trainer
