#include "trainer/step/groups.h"

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

// All workers make the groups that they have in common in one order, that of their members, so that none waits for
// another in a circle.
Groups::Groups(const Roster& roster, int rank, GroupFactory& factory) : interrupt_(factory.interrupt()) {
  std::vector<int> everyone(static_cast<std::size_t>(roster.training_workers()));
  std::iota(everyone.begin(), everyone.end(), 0);
  control_ = factory.make_messages("control", everyone);
  pipeline_ = factory.make_messages("pipeline", everyone);
  const std::vector<int> group = roster.group_of(rank);
  parallel_ = factory.make(fmt::format("tensor-parallel-{}", fmt::join(group, "-")), group);
  for (const auto& holders : holders_of_units(roster, rank)) {
    by_holders_[holders] = factory.make(fmt::format("holders-{}", fmt::join(holders, "-")), holders);
  }
}

void Groups::set_timeout(std::chrono::milliseconds timeout) {
  for (Group* group : {control_.get(), pipeline_.get(), parallel_.get()}) group->set_timeout(timeout);
  for (const auto& [holders, group] : by_holders_) group->set_timeout(timeout);
}

Group& Groups::of(const std::vector<int>& holders) { return *by_holders_.at(holders); }

}  // namespace sailor::trainer
