#include "trainer/step/training_groups.h"

#include <algorithm>
#include <iterator>
#include <set>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "trainer/comm/untimed_group.h"

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

// The workers with which messages between stages connect this one, and itself.
std::vector<int> pipeline_of(const Roster& roster, const WorkerSchedule& schedule) {
  std::vector<int> ranks;
  for (int stage = 0; stage < std::ssize(schedule.connected); ++stage) {
    for (const int replica : schedule.connected[static_cast<std::size_t>(stage)]) {
      std::ranges::copy(roster.group_of(roster.rank_of({stage, replica, 0})), std::back_inserter(ranks));
    }
  }
  std::ranges::sort(ranks);
  return ranks;
}

}  // namespace

// All workers make their common groups in the same order, that of their members, so that they cannot deadlock.
TrainingGroups::TrainingGroups(const Roster& roster, int rank, const WorkerSchedule& schedule, GroupFactory& factory,
                               std::shared_ptr<Group> everyone)
    : interrupt_(factory.interrupt()) {
  const int workers = roster.training_workers();
  control_ = workers < roster.workers() ? factory.make_message_group("control", workers) : std::move(everyone);
  const std::vector<int> pipeline = pipeline_of(roster, schedule);
  pipeline_ = factory.make_message_group(fmt::format("pipeline-{}", pipeline.front()), pipeline);
  const std::vector<int> replica = roster.group_of(rank);
  tensor_parallel_ = std::make_unique<UntimedGroup>(
      factory.make_collective_group(fmt::format("tensor-parallel-{}", fmt::join(replica, "-")), replica), own_passes_);
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
