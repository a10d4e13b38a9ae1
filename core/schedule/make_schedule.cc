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
  return make_schedule(plan, with_in_flight_caps(plan, times, policy));
}

// Simulates the step with both route rules and writes the operations of the faster one down.
std::optional<Schedule> make_schedule_within(std::span<const Nanoseconds> deadlines, const Plan& plan,
                                             const ScheduleTimes& times) {
  SAILOR_CHECK(!plan.stages.empty(), "a schedule of no stages");
  auto start = make_routes(plan, RouteRule::kStart);
  auto spread = make_routes(plan, RouteRule::kSpread);
  const StepFlow from_start = flow_of(plan, times, start);
  if (start == spread) return simulate_step(from_start, plan, std::move(start), deadlines);
  const StepFlow spread_out = flow_of(plan, times, spread);
  const std::int64_t one = step_duration(from_start, deadlines);
  const std::int64_t other = step_duration(spread_out, deadlines);
  if (std::min(one, other) == kTooLate) return std::nullopt;
  return other < one ? simulate_step(spread_out, plan, std::move(spread), deadlines)
                     : simulate_step(from_start, plan, std::move(start), deadlines);
}

}  // namespace sailor
