#include "core/schedule/caps.h"

#include <algorithm>
#include <cmath>

#include "core/model/check.h"

namespace sailor {
namespace {

struct StageMeans {
  double pass = 0;  // forward and backward pass of one microbatch in ns, weighted by the replicas' microbatches
  double link = 0;  // latency and occupancy of one message to the next stage
};

double pass_time(const ReplicaTimes& times) { return static_cast<double>((times.forward + times.backward).count()); }

double mean_link(const Plan& plan, const ScheduleTimes& times, std::size_t boundary) {
  std::vector<double> from(static_cast<std::size_t>(times.link_classes));
  std::vector<double> to(from.size());
  const auto add_shares = [&](std::size_t stage, std::vector<double>& shares) {
    for (std::size_t r = 0; r < times.replicas[stage].size(); ++r) {
      shares[static_cast<std::size_t>(times.replicas[stage][r].link_class)] +=
          plan.stages[stage].replicas[r].microbatches;
    }
  };
  add_shares(boundary, from);
  add_shares(boundary + 1, to);
  const double microbatches = plan.microbatches();
  double sum = 0;
  for (std::size_t a = 0; a < from.size(); ++a) {
    for (std::size_t b = 0; b < to.size(); ++b) {
      const LinkTimes& link = times.link(static_cast<int>(boundary), static_cast<int>(a), static_cast<int>(b));
      sum += from[a] * to[b] * static_cast<double>((link.latency + link.occupancy).count());
    }
  }
  return sum / (microbatches * microbatches);
}

std::vector<StageMeans> stage_means(const Plan& plan, const ScheduleTimes& times) {
  std::vector<StageMeans> means(plan.stages.size());
  for (std::size_t stage = 0; stage < plan.stages.size(); ++stage) {
    double sum = 0;
    for (std::size_t r = 0; r < times.replicas[stage].size(); ++r) {
      sum += plan.stages[stage].replicas[r].microbatches * pass_time(times.replicas[stage][r]);
    }
    means[stage].pass = sum / plan.microbatches();
    if (stage + 1 < plan.stages.size()) means[stage].link = mean_link(plan, times, stage);
  }
  return means;
}

// Equal pipelines over free links are the textbook's case: there P - i microbatches in flight keep stage i busy.
bool is_textbook(const Plan& plan, const ScheduleTimes& times, const std::vector<StageMeans>& means) {
  const ReplicaTimes& first = times.replicas.front().front();
  for (std::size_t stage = 0; stage < plan.stages.size(); ++stage) {
    const auto& replicas = plan.stages[stage].replicas;
    const auto [fewest, most] = std::ranges::minmax(replicas, {}, &Replica::microbatches);
    const bool equal_times = std::ranges::all_of(times.replicas[stage], [&](const ReplicaTimes& replica) {
      return replica.forward == first.forward && replica.backward == first.backward;
    });
    if (!equal_times || most.microbatches - fewest.microbatches > 1 || means[stage].link > 0) return false;
    if (replicas.size() != plan.stages.front().replicas.size()) return false;
  }
  return true;
}

}  // namespace

// A cap of 2 L + 1 allows for uneven arrivals. Measured: it is 1.5 % slower than no cap, at 2.5 times the activation
// memory of the cap P - i, with which unequal replicas are 2.1 times as slow. In the last stage 1 is enough, because a
// backward pass is ready as soon as its forward pass is done.
int flow_policy_cap(double little, bool is_textbook, bool is_last_stage) {
  constexpr double kRounding = 1e-9;
  if (is_last_stage) return 1;
  return static_cast<int>(std::ceil((is_textbook ? little : 2 * little + 1) - kRounding));
}

std::vector<std::vector<int>> in_flight_caps(const Plan& plan, const ScheduleTimes& times, SchedulePolicy policy) {
  SAILOR_CHECK(times.replicas.size() == plan.stages.size(), "times of {} stages for a plan of {}",
               times.replicas.size(), plan.stages.size());
  const auto means = stage_means(plan, times);
  const bool is_even = is_textbook(plan, times, means);
  double longest = 0;
  for (std::size_t stage = 0; stage < plan.stages.size(); ++stage) {
    for (std::size_t r = 0; r < times.replicas[stage].size(); ++r) {
      longest = std::max(longest, plan.stages[stage].replicas[r].microbatches * pass_time(times.replicas[stage][r]));
    }
  }
  std::vector<std::vector<int>> caps(plan.stages.size());
  double downstream = 0;
  for (std::size_t stage = plan.stages.size(); stage-- > 0;) {
    for (std::size_t r = 0; r < times.replicas[stage].size(); ++r) {
      const ReplicaTimes& replica = times.replicas[stage][r];
      const int microbatches = plan.stages[stage].replicas[r].microbatches;
      const double little = longest > 0 ? microbatches * (pass_time(replica) + downstream) / longest : 1;
      const int wanted = policy == SchedulePolicy::kFlow
                             ? flow_policy_cap(little, is_even, stage + 1 == plan.stages.size())
                             : static_cast<int>(plan.stages.size() - stage);
      caps[stage].push_back(std::max(1, std::min({wanted, microbatches, replica.cap})));
    }
    if (stage > 0) downstream += means[stage].pass + 2 * means[stage - 1].link;
  }
  return caps;
}

ScheduleTimes with_in_flight_caps(const Plan& plan, ScheduleTimes times, SchedulePolicy policy) {
  const auto caps = in_flight_caps(plan, times, policy);
  for (std::size_t stage = 0; stage < caps.size(); ++stage) {
    for (std::size_t r = 0; r < caps[stage].size(); ++r) times.replicas[stage][r].cap = caps[stage][r];
  }
  return times;
}

}  // namespace sailor
