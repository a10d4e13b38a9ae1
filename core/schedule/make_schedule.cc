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

// Returns by when each stage must have completed its passes for the step to take no longer than `duration`: the last
// gradient still goes up from there. No stage gets a later deadline than the given one.
std::vector<Nanoseconds> deadlines_within(std::int64_t duration, std::span<const Nanoseconds> given,
                                          const ScheduleTimes& times) {
  std::vector<Nanoseconds> deadlines;
  Nanoseconds left(duration);
  for (std::size_t stage = 0; stage < times.replicas.size(); ++stage) {
    deadlines.push_back(given.empty() ? left : std::min(left, given[stage]));
    left -= std::ranges::min(times.replicas[stage], {}, &ReplicaTimes::backward).backward;
  }
  return deadlines;
}

// Searches the fastest of several ways to execute a step. Of equally fast ways, the one that was tried last wins if its
// caller says so.
class FastestWay {
 public:
  FastestWay(std::span<const Nanoseconds> deadlines, const Plan& plan, const ScheduleTimes& times)
      : deadlines_(deadlines), times_(times), least_(least_duration(plan, times).count()) {}

  // Stops the simulation as soon as it is clear that this way is not faster than the fastest one so far. `flow` must
  // outlive this object.
  void try_way(const StepFlow& flow, bool wins_ties) {
    const std::int64_t most = wins_ties || duration_ == kTooLate ? duration_ : duration_ - 1;
    if (most < least_) return;
    const std::int64_t duration = most == kTooLate ? step_duration(flow, deadlines_)
                                                   : step_duration(flow, deadlines_within(most, deadlines_, times_));
    if (duration == kTooLate || duration > most) return;
    duration_ = duration;
    fastest_ = &flow;
  }

  [[nodiscard]] const StepFlow* fastest() const { return fastest_; }  // null: no way meets the deadlines

 private:
  std::span<const Nanoseconds> deadlines_;
  const ScheduleTimes& times_;
  std::int64_t least_;
  std::int64_t duration_ = kTooLate;
  const StepFlow* fastest_ = nullptr;
};

// Simulates the step with both route rules and backward passes first. Under kFlow it also simulates kSpread with
// forward passes first, which is the fastest way for nine plans in ten with unequal shares, and never for most others:
// what is tried first shortens the simulation of the rest. Measured: to try kStart too with forward passes first makes
// steps shorter by at most 0.1 % on average. The candidates must not depend on `deadlines`.
std::optional<Schedule> fastest_schedule(std::span<const Nanoseconds> deadlines, const Plan& plan,
                                         const ScheduleTimes& times, SchedulePolicy policy) {
  SAILOR_CHECK(!plan.stages.empty(), "a schedule of no stages");
  auto start = make_routes(plan, RouteRule::kStart);
  auto spread = make_routes(plan, RouteRule::kSpread);
  const bool is_even = start == spread;
  const StepFlow backward_first = flow_of(times, spread);
  StepFlow forward_first = backward_first;
  forward_first.order = PassOrder::kForwardFirst;
  FastestWay ways(deadlines, plan, times);
  if (policy == SchedulePolicy::kFlow && !is_even) ways.try_way(forward_first, false);
  ways.try_way(backward_first, true);
  if (policy == SchedulePolicy::kFlow && is_even) ways.try_way(forward_first, false);
  std::optional<StepFlow> from_start;
  if (!is_even) ways.try_way(from_start.emplace(flow_of(times, start)), true);
  if (ways.fastest() == nullptr) return std::nullopt;
  const bool is_from_start = from_start && ways.fastest() == &*from_start;
  return simulate_step(*ways.fastest(), plan, is_from_start ? std::move(start) : std::move(spread));
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
