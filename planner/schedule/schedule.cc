#include "planner/schedule/schedule.h"

#include <algorithm>

#include "planner/schedule/routes.h"
#include "planner/schedule/step_simulation.h"

namespace sailor {
namespace {

// A replica that does one microbatch more only because the shares do not divide evenly is as fast as the others.
bool has_even_shares(const Stage& stage) {
  const auto [fewest, most] = std::ranges::minmax(stage.replicas, {}, &Replica::microbatches);
  return most.microbatches - fewest.microbatches <= 1;
}

ReplicaTimes times_of_share(double share) {
  constexpr double kForwardOfStep = 1e9;  // ns; only ratios matter
  const auto forward = static_cast<std::int64_t>(kForwardOfStep / share);
  return {.forward = Nanoseconds(forward), .backward = Nanoseconds(2 * forward)};
}

}  // namespace

std::string_view to_string(OperationKind kind) {
  switch (kind) {
    case OperationKind::kForward:
      return "forward";
    case OperationKind::kBackward:
      return "backward";
    case OperationKind::kSendActivation:
      return "send activation";
    case OperationKind::kReceiveActivation:
      return "receive activation";
    case OperationKind::kSendGradient:
      return "send gradient";
    case OperationKind::kReceiveGradient:
      return "receive gradient";
  }
  return "unknown";
}

ScheduleTimes times_from_shares(const Plan& plan) {
  ScheduleTimes times;
  for (const Stage& stage : plan.stages) {
    const double even = static_cast<double>(plan.microbatches()) / static_cast<double>(stage.replicas.size());
    auto& replicas = times.replicas.emplace_back();
    for (const Replica& replica : stage.replicas) {
      replicas.push_back(times_of_share(has_even_shares(stage) ? even : replica.microbatches));
    }
  }
  times.links.assign(plan.stages.size(), {LinkTimes{}});
  return times;
}

Schedule make_schedule(const Plan& plan, const ScheduleTimes& times, SchedulePolicy policy) {
  const auto caps = in_flight_caps(plan, times, policy);
  auto start = make_routes(plan, RouteRule::kStart);
  auto spread = make_routes(plan, RouteRule::kSpread);
  if (start == spread) return simulate_step(plan, times, caps, std::move(start));
  Schedule best = simulate_step(plan, times, caps, std::move(start));
  Schedule other = simulate_step(plan, times, caps, std::move(spread));
  return other.duration < best.duration ? other : best;
}

}  // namespace sailor
