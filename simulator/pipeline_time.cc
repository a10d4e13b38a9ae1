#include "simulator/pipeline_time.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace sailor {
namespace {

// The study fitted these on 216 random plans and tested them on 600 others.
constexpr double kUnevenDownstream = 0.1;
constexpr double kUnevenElsewhere = 0.05;

int replicas_with_share(const StageTiming& stage, int microbatches) {
  int count = 0;
  for (const GroupTiming& group : stage.groups) count += group.microbatches == microbatches ? group.count : 0;
  return count;
}

bool has_shares_of(const StageTiming& stage, const StageTiming& other) {
  const auto is_shared = [&](const GroupTiming& group) {
    return replicas_with_share(stage, group.microbatches) == replicas_with_share(other, group.microbatches);
  };
  return std::ranges::all_of(stage.groups, is_shared) && std::ranges::all_of(other.groups, is_shared);
}

void set_unevenness(std::span<StageTiming> stages) {
  if (has_equal_shares(stages)) return;
  for (std::size_t i = 0; i + 1 < stages.size(); ++i) {
    if (has_shares_of(stages[i], stages[i + 1])) continue;
    stages[i].unevenness = stages[i].pass();
    stages[i + 1].unevenness = stages[i + 1].pass();
  }
}

struct Surroundings {
  double downstream = 0;
  double uneven_downstream = 0;
  bool is_uneven = false;  // whether some stage is
  bool is_last = false;    // stage, where a backward pass can start as soon as the forward pass is done
};

// Returns how long one replica needs for its part of its microbatches after the first has arrived.
double busy_time(const GroupTiming& group, const Surroundings& around, double part) {
  const double microbatches = group.microbatches * part;
  const double in_flight = std::min(static_cast<double>(group.cap), std::max(1.0, microbatches));
  const double work = microbatches * group.pass();
  const double round_trip = group.pass() + around.downstream + kUnevenDownstream * around.uneven_downstream;
  const double waiting = around.is_last ? 0 : microbatches * round_trip / in_flight;
  const double links = microbatches * group.occupancy;
  if (!around.is_uneven) return std::max({work, waiting, links});
  return std::cbrt(work * work * work + waiting * waiting * waiting + links * links * links);
}

double share_of(const GroupTiming& group, int microbatches) {
  return static_cast<double>(group.count) * group.microbatches / microbatches;
}

void add_links(StageTiming& stage, StageTiming& next, int microbatches) {
  auto link = stage.links.begin();
  for (GroupTiming& from : stage.groups) {
    for (GroupTiming& to : next.groups) {
      const double from_share = share_of(from, microbatches);
      const double to_share = share_of(to, microbatches);
      stage.link += from_share * to_share * (link->latency + link->occupancy);
      from.occupancy += to_share * link->occupancy;
      to.occupancy += from_share * link->occupancy;
      ++link;
    }
  }
}

}  // namespace

double StageTiming::fastest_backward() const {
  double fastest = std::numeric_limits<double>::infinity();
  for (const GroupTiming& group : groups) fastest = std::min(fastest, group.backward);
  return fastest;
}

double StageTiming::fastest_message() const {
  double fastest = links.empty() ? 0 : std::numeric_limits<double>::infinity();
  for (const LinkTiming& each : links) fastest = std::min(fastest, each.latency + each.occupancy);
  return fastest;
}

bool has_equal_shares(std::span<const StageTiming> stages) {
  const int share = stages.front().groups.front().microbatches;
  return std::ranges::all_of(stages, [&](const StageTiming& stage) {
    return std::ranges::all_of(stage.groups, [&](const GroupTiming& group) { return group.microbatches == share; });
  });
}

void set_means(std::span<StageTiming> stages, int microbatches) {
  for (StageTiming& stage : stages) {
    stage.forward = 0;
    stage.backward = 0;
    stage.unevenness = 0;
    stage.link = 0;
    for (GroupTiming& group : stage.groups) {
      const double share = share_of(group, microbatches);
      group.occupancy = 0;
      stage.forward += share * group.forward;
      stage.backward += share * group.backward;
    }
  }
  for (std::size_t i = 0; i + 1 < stages.size(); ++i) add_links(stages[i], stages[i + 1], microbatches);
  set_unevenness(stages);
}

double longest_work(std::span<const StageTiming> stages) {
  double longest = 0;
  for (const StageTiming& stage : stages) {
    for (const GroupTiming& group : stage.groups) longest = std::max(longest, group.microbatches * group.pass());
  }
  return longest;
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

double pipeline_time(std::span<const StageTiming> stages, double part) {
  const std::vector<double> downstream = downstream_times(stages);
  double all_uneven = 0;
  for (const StageTiming& stage : stages) all_uneven += stage.unevenness;
  double before = 0;  // the path down to this stage and the path up from it
  double uneven_downstream = all_uneven;
  double longest = 0;
  for (std::size_t i = 0; i < stages.size(); ++i) {
    const StageTiming& stage = stages[i];
    uneven_downstream -= stage.unevenness;
    for (const GroupTiming& group : stage.groups) {
      const double busy =
          busy_time(group, {downstream[i], uneven_downstream, all_uneven > 0, i + 1 == stages.size()}, part);
      longest = std::max(longest, before + busy + kUnevenElsewhere * (all_uneven - stage.unevenness));
    }
    before += stage.pass() + 2 * stage.link;
  }
  return longest;
}

}  // namespace sailor
