#include "simulator/pipeline_time.h"

#include <algorithm>
#include <cmath>
#include <map>

namespace sailor {
namespace {

// Fitted in the study on 216 random plans and tested there on 600 others.
constexpr double kUnevenDownstream = 0.1;
constexpr double kUnevenElsewhere = 0.05;

std::map<int, int> shares_of(const StageTiming& stage) {
  std::map<int, int> counts;
  for (const GroupTiming& group : stage.groups) counts[group.microbatches] += group.count;
  return counts;
}

bool has_equal_shares(std::span<const StageTiming> stages) {
  return std::ranges::all_of(stages, [](const StageTiming& stage) {
    return stage.groups.front().microbatches == stage.groups.back().microbatches &&
           std::ranges::all_of(stage.groups, [&](const GroupTiming& group) {
             return group.microbatches == stage.groups.front().microbatches;
           });
  });
}

void set_unevenness(std::span<StageTiming> stages) {
  if (has_equal_shares(stages) && std::ranges::all_of(stages, [&](const StageTiming& stage) {
        return stage.groups.front().microbatches == stages.front().groups.front().microbatches;
      })) {
    return;
  }
  std::vector<std::map<int, int>> shares;
  for (const StageTiming& stage : stages) shares.push_back(shares_of(stage));
  for (std::size_t i = 0; i < stages.size(); ++i) {
    const bool differs = (i > 0 && shares[i] != shares[i - 1]) || (i + 1 < stages.size() && shares[i] != shares[i + 1]);
    if (differs) stages[i].unevenness = stages[i].pass();
  }
}

// The time in which one replica does its microbatches once the first has reached it.
double busy_time(const GroupTiming& group, double downstream, double uneven_downstream, bool is_uneven) {
  const double work = group.microbatches * group.pass();
  const double waiting = group.microbatches * (group.pass() + downstream + kUnevenDownstream * uneven_downstream) /
                         std::min(group.cap, group.microbatches);
  const double links = group.microbatches * group.occupancy;
  if (!is_uneven) return std::max({work, waiting, links});
  return std::max(links, std::cbrt(work * work * work + waiting * waiting * waiting));
}

}  // namespace

void set_means(std::span<StageTiming> stages, int microbatches) {
  for (StageTiming& stage : stages) {
    stage.forward = 0;
    stage.backward = 0;
    stage.unevenness = 0;
    for (const GroupTiming& group : stage.groups) {
      const double share = static_cast<double>(group.count) * group.microbatches / microbatches;
      stage.forward += share * group.forward;
      stage.backward += share * group.backward;
    }
  }
  set_unevenness(stages);
}

std::vector<double> downstream_times(std::span<const StageTiming> stages) {
  std::vector<double> times(stages.size());
  for (std::size_t i = stages.size() - 1; i-- > 0;) {
    times[i] = times[i + 1] + stages[i + 1].pass() + 2 * stages[i].link;
  }
  return times;
}

std::vector<double> tail_times(std::span<const StageTiming> stages) {
  std::vector<double> tails(stages.size());
  for (std::size_t i = 1; i < stages.size(); ++i) {
    tails[i] = tails[i - 1] + stages[i - 1].backward + stages[i - 1].link;
  }
  return tails;
}

double pipeline_time(std::span<const StageTiming> stages) {
  const std::vector<double> downstream = downstream_times(stages);
  double all_uneven = 0;
  for (const StageTiming& stage : stages) all_uneven += stage.unevenness;
  double before = 0;  // the way down to this stage and the way up from it
  double uneven_downstream = all_uneven;
  double longest = 0;
  for (std::size_t i = 0; i < stages.size(); ++i) {
    const StageTiming& stage = stages[i];
    uneven_downstream -= stage.unevenness;
    for (const GroupTiming& group : stage.groups) {
      const double busy = busy_time(group, downstream[i], uneven_downstream, all_uneven > 0);
      longest = std::max(longest, before + busy + kUnevenElsewhere * (all_uneven - stage.unevenness));
    }
    before += stage.pass() + 2 * stage.link;
  }
  return longest;
}

}  // namespace sailor
