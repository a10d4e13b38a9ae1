#include "simulator/fast_step_time.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "core/schedule/routes.h"
#include "core/schedule/step_flow.h"

namespace sailor {
namespace {

// These constants are numbers of simulated passes, of 40 ns each. Where the closed form is nearly right, few are
// enough; over slow links between uneven replicas it is off by a third.
constexpr int kPassesOfEqualReplicas = 128;
constexpr int kPassesOfUnevenReplicas = 256;
constexpr int kPassesOverSlowLinks = 900;  // if the replicas are uneven
constexpr double kSlowLinks = 0.2;  // links are slow if they are busy for more than this part of a replica's work
constexpr int kRounds = 2;          // microbatches of every replica, or the beginning says nothing about the rest

std::int64_t nanoseconds(double seconds) { return std::llround(seconds * 1e9); }

double busiest_links(std::span<const StageTiming> stages) {
  double longest = 0;
  for (const StageTiming& stage : stages) {
    for (const GroupTiming& group : stage.groups) longest = std::max(longest, group.microbatches * group.occupancy);
  }
  return longest;
}

// Equal replicas take turns. So a plan with n times as many replicas of every kind is n plans side by side that do not
// interact.
int copies_of_one_plan(std::span<const StageTiming> stages) {
  int copies = 0;
  for (const StageTiming& stage : stages) {
    for (const GroupTiming& group : stage.groups) copies = std::gcd(copies, group.count);
  }
  return copies;
}

// `shares_above` are the shares of the stage before. Its route is used for this stage too if the shares are the same.
void add_stage(const StageTiming& stage, int copies, std::vector<int>& shares_above, StepFlow& flow) {
  flow.first_worker.push_back(static_cast<int>(flow.workers.size()));
  std::vector<int> shares;
  shares.reserve(stage.groups.size());
  for (int index = 0; index < std::ssize(stage.groups); ++index) {
    const GroupTiming& group = stage.groups[static_cast<std::size_t>(index)];
    for (int i = 0; i < group.count / copies; ++i) {
      flow.workers.push_back({nanoseconds(group.forward), nanoseconds(group.backward), group.cap, index});
      shares.push_back(group.microbatches);
    }
  }
  const auto microbatches = static_cast<std::size_t>(flow.microbatches);
  if (shares.size() == 1) {
    flow.routes.resize(flow.routes.size() + microbatches);
  } else if (!flow.routes.empty() && shares == shares_above) {
    flow.routes.resize(flow.routes.size() + microbatches);
    std::copy_n(flow.routes.end() - static_cast<std::ptrdiff_t>(2 * microbatches), microbatches,
                flow.routes.end() - static_cast<std::ptrdiff_t>(microbatches));
  } else {
    const std::vector<int> route = make_route(shares, RouteRule::kSpread, flow.microbatches);
    flow.routes.insert(flow.routes.end(), route.begin(), route.end());
  }
  shares_above = std::move(shares);
}

void reserve_for(std::span<const StageTiming> stages, int copies, StepFlow& flow) {
  std::size_t workers = 0;
  std::size_t links = 0;
  for (const StageTiming& stage : stages) {
    for (const GroupTiming& group : stage.groups) workers += static_cast<std::size_t>(group.count / copies);
    links += stage.links.size();
  }
  flow.workers.reserve(workers);
  flow.first_worker.reserve(stages.size() + 1);
  flow.boundaries.reserve(stages.size());
  flow.links.reserve(links);
  flow.routes.reserve(stages.size() * static_cast<std::size_t>(flow.microbatches));
}

// Forward passes go first, because steps are shorter then in most plans whose replicas are idle at times.
StepFlow first_rounds(std::span<const StageTiming> stages, int copies, int microbatches) {
  StepFlow flow{.microbatches = microbatches, .order = PassOrder::kForwardFirst};
  reserve_for(stages, copies, flow);
  std::vector<int> shares;
  for (std::size_t i = 0; i < stages.size(); ++i) {
    add_stage(stages[i], copies, shares, flow);
    if (i + 1 == stages.size()) break;
    flow.boundaries.push_back({static_cast<int>(flow.links.size()), static_cast<int>(stages[i + 1].groups.size())});
    for (const LinkTiming& link : stages[i].links) {
      flow.links.push_back({nanoseconds(link.latency), nanoseconds(link.occupancy)});
    }
  }
  flow.first_worker.push_back(static_cast<int>(flow.workers.size()));
  return flow;
}

// Returns by when each stage must have completed its passes for the last one of all to end by `end`: from there, the
// last gradient still goes up through the fastest links and replicas. Times in a flow are rounded to nanoseconds.
std::vector<Nanoseconds> deadlines_within(double end, std::span<const StageTiming> stages) {
  constexpr double kNoDeadline = 1e9;  // seconds; nanoseconds of no step come near the largest integer
  if (!(end < kNoDeadline)) return {};
  std::vector<Nanoseconds> deadlines;
  deadlines.reserve(stages.size());
  for (const StageTiming& stage : stages) {
    deadlines.emplace_back(nanoseconds(end) + 2 * std::ssize(stages));
    end -= stage.fastest_backward() + stage.fastest_message();
  }
  return deadlines;
}

int most_replicas(std::span<const StageTiming> stages) {
  int most = 0;
  for (const StageTiming& stage : stages) {
    int replicas = 0;
    for (const GroupTiming& group : stage.groups) replicas += group.count;
    most = std::max(most, replicas);
  }
  return most;
}

}  // namespace

double least_step_time(std::span<const StageTiming> stages) {
  double before = 0;
  double longest = 0;
  for (const StageTiming& stage : stages) {
    double fastest = std::numeric_limits<double>::infinity();
    for (const GroupTiming& group : stage.groups) {
      longest = std::max(longest, before + group.microbatches * group.pass());
      fastest = std::min(fastest, group.pass());
    }
    before += fastest + 2 * stage.fastest_message();
  }
  return longest;
}

double long_step_time(std::span<const StageTiming> stages, int microbatches) {
  return long_step_time(stages, microbatches, kMostSimulatedPasses / 2);
}

double long_step_time(std::span<const StageTiming> stages, int microbatches, int passes) {
  const int copies = copies_of_one_plan(stages);
  const int all = microbatches / copies;
  const int rounds = std::max(passes / (2 * static_cast<int>(stages.size())), 2 * kRounds * most_replicas(stages));
  double least = std::numeric_limits<double>::infinity();
  for (const PassOrder order : {PassOrder::kForwardFirst, PassOrder::kBackwardFirst}) {
    const auto beginning = [&](int simulated) {
      StepFlow flow = first_rounds(stages, copies, simulated);
      flow.order = order;
      return static_cast<double>(step_duration(flow, {})) * 1e-9;
    };
    const int simulated = std::min(rounds, all);
    const int half = simulated / 2;
    const double whole = beginning(simulated);
    const double rate = (whole - beginning(half)) / (simulated - half);
    least = std::min(least, whole + rate * (all - simulated));
  }
  return std::max({longest_work(stages), least_step_time(stages), least});
}

double fast_step_time(std::span<const StageTiming> stages, int microbatches, double limit) {
  const double by_form = pipeline_time(stages);
  const double work = longest_work(stages);
  const bool has_slow_links = busiest_links(stages) > kSlowLinks * work;
  const bool is_even = has_equal_shares(stages);
  if (stages.size() == 1 || (is_even && !has_slow_links)) return by_form;
  const int copies = copies_of_one_plan(stages);
  const int all = microbatches / copies;
  const int passes = is_even ? kPassesOfEqualReplicas : has_slow_links ? kPassesOverSlowLinks : kPassesOfUnevenReplicas;
  const int affordable = passes / (2 * static_cast<int>(stages.size()));
  const int simulated = std::min(all, affordable);
  if (simulated < all && simulated < kRounds * most_replicas(stages) / copies) return by_form;
  // The beginning takes longer than its closed form by some time, for filling and draining. So does the whole.
  const double rest = simulated == all ? 0 : by_form - pipeline_time(stages, static_cast<double>(simulated) / all);
  const std::int64_t beginning =
      step_duration(first_rounds(stages, copies, simulated), deadlines_within(limit - rest, stages));
  if (beginning == kTooLate) return limit;
  const double whole = static_cast<double>(beginning) * 1e-9 + rest;
  return std::max({simulated == all ? 0 : work, least_step_time(stages), whole});
}

}  // namespace sailor
