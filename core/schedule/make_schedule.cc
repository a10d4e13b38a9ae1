#include "core/schedule/make_schedule.h"

#include <algorithm>

#include "core/model/check.h"
#include "core/schedule/routes.h"
#include "core/schedule/step_flow.h"
#include "core/schedule/step_simulation.h"

namespace sailor {
namespace {

// Numbers of microbatches that differ by one at most count as even: one replica has one more only because the
// microbatches do not divide evenly, not because it is faster.
bool has_even_shares(const Stage& stage) {
  const auto [fewest, most] = std::ranges::minmax(stage.replicas, {}, &Replica::microbatches);
  return most.microbatches - fewest.microbatches <= 1;
}

ReplicaTimes times_of_share(double share) {
  constexpr double kForwardOfStep = 1e9;  // ns of all forward passes of a replica; only ratios matter
  const auto forward = static_cast<std::int64_t>(kForwardOfStep / share);
  return {.forward = Nanoseconds(forward), .backward = Nanoseconds(2 * forward)};
}

// A lower bound of the duration in every order: before the first pass of a replica, a microbatch comes down through the
// stages above; after its last pass, a microbatch goes back up.
Nanoseconds least_duration(const Plan& plan, const ScheduleTimes& times) {
  Nanoseconds least{};
  Nanoseconds above{};
  for (std::size_t stage = 0; stage < plan.stages.size(); ++stage) {
    Nanoseconds fastest = Nanoseconds::max();
    for (std::size_t r = 0; r < times.replicas[stage].size(); ++r) {
      const Nanoseconds passes = times.replicas[stage][r].forward + times.replicas[stage][r].backward;
      least = std::max(least, above + plan.stages[stage].replicas[r].microbatches * passes);
      fastest = std::min(fastest, passes);
    }
    if (stage + 1 == plan.stages.size()) break;
    Nanoseconds message = Nanoseconds::max();
    for (const LinkTimes& link : times.links[stage]) message = std::min(message, link.latency + link.occupancy);
    above += fastest + 2 * message;
  }
  return least;
}

// Simulates the step with both route rules and backward passes first. Under kFlow it also simulates kSpread with
// forward passes first, unless the step cannot become shorter. Measured: to choose the route, or to try kStart too,
// makes steps shorter by at most 0.1 % on average. The candidates must not depend on `deadlines`.
std::optional<Schedule> fastest_schedule(std::span<const Nanoseconds> deadlines, const Plan& plan,
                                         const ScheduleTimes& times, SchedulePolicy policy) {
  SAILOR_CHECK(!plan.stages.empty(), "a schedule of no stages");
  auto start = make_routes(plan, RouteRule::kStart);
  auto spread = make_routes(plan, RouteRule::kSpread);
  const StepFlow from_start = flow_of(times, start);
  StepFlow spread_out = flow_of(times, spread);
  const std::int64_t one = step_duration(from_start, deadlines);
  const std::int64_t other = start == spread ? one : step_duration(spread_out, deadlines);
  const std::int64_t shorter = std::min(one, other);
  if (policy == SchedulePolicy::kFlow && shorter > least_duration(plan, times).count()) {
    spread_out.order = PassOrder::kForwardFirst;
    if (step_duration(spread_out, deadlines) < shorter) return simulate_step(spread_out, plan, std::move(spread));
    spread_out.order = PassOrder::kBackwardFirst;
  }
  if (shorter == kTooLate) return std::nullopt;
  return other < one ? simulate_step(spread_out, plan, std::move(spread))
                     : simulate_step(from_start, plan, std::move(start));
}

}  // namespace

ScheduleTimes times_from_shares(const Plan& plan) {
  ScheduleTimes times;
  for (const Stage& stage : plan.stages) {
    const double even = static_cast<double>(plan.microbatches()) / static_cast<double>(stage.replicas.size());
    auto& replicas = times.replicas.emplace_back();
    for (const Replica& replica : stage.replicas) {
      replicas.push_back(times_of_share(has_even_shares(stage) ? even : replica.microbatches));
    }
  }
  times.links.assign(plan.stages.size() - 1, {LinkTimes{}});
  return times;
}

Schedule make_schedule(const Plan& plan, const ScheduleTimes& times) {
  return make_schedule_within({}, plan, times).value();
}

Schedule make_schedule(const Plan& plan, const ScheduleTimes& times, SchedulePolicy policy) {
  return fastest_schedule({}, plan, with_in_flight_caps(plan, times, policy), policy).value();
}

std::optional<Schedule> make_schedule_within(std::span<const Nanoseconds> deadlines, const Plan& plan,
                                             const ScheduleTimes& times) {
  return fastest_schedule(deadlines, plan, times, SchedulePolicy::kFlow);
}

}  // namespace sailor
