// Laws of schedules, on random plans of unequal replicas with random times.
#include <deque>
#include <set>

#include <gtest/gtest.h>

#include "core/schedule/make_schedule.h"
#include "core/schedule/routes.h"
#include "core/schedule/step_simulation.h"
#include "tests/support/random_plans.h"

namespace sailor {
namespace {

using testing::a_random_pool_plan;
using testing::Random;
using testing::random_times;

constexpr std::uint64_t kCases = 300;

struct Case {
  Plan plan;
  ScheduleTimes times;
  Schedule schedule;
};

Schedule schedule_in_order(const Case& one, RouteRule rule, PassOrder order) {
  auto routes = make_routes(one.plan, rule);
  StepFlow flow = flow_of(one.times, routes);
  flow.order = order;
  return simulate_step(flow, one.plan, std::move(routes));
}

// Half of the schedules are what make_schedule() chooses, and half have a random order, because it may choose either.
// The times have the caps of the policy.
Case random_case(std::uint64_t seed) {
  Random random(seed);
  Case one;
  one.plan = a_random_pool_plan(random);
  const auto policy = random() % 2 == 0 ? SchedulePolicy::kFlow : SchedulePolicy::kOneForwardOneBackward;
  one.times = with_in_flight_caps(one.plan, random_times(random, one.plan), policy);
  const RouteRule rule = random() % 2 == 0 ? RouteRule::kStart : RouteRule::kSpread;
  const PassOrder order = random() % 2 == 0 ? PassOrder::kForwardFirst : PassOrder::kBackwardFirst;
  one.schedule = random() % 2 == 0 ? make_schedule(one.plan, one.times, policy) : schedule_in_order(one, rule, order);
  return one;
}

bool is_send(OperationKind kind) {
  return kind == OperationKind::kSendActivation || kind == OperationKind::kSendGradient;
}
bool is_receive(OperationKind kind) {
  return kind == OperationKind::kReceiveActivation || kind == OperationKind::kReceiveGradient;
}

using Place = std::pair<int, int>;  // stage, replica

Place other_end(Place at, const Operation& operation) {
  const bool is_below =
      operation.kind == OperationKind::kSendActivation || operation.kind == OperationKind::kReceiveGradient;
  return {at.first + (is_below ? 1 : -1), operation.peer};
}

// Executes the lists without times. `is_blocking`: a send waits for its receive; else messages go into a channel that
// is first-in-first-out for each sender, receiver and direction. Returns what was not executed.
class Executor {
 public:
  Executor(const Schedule& schedule, bool is_blocking) : schedule_(schedule), is_blocking_(is_blocking) {
    for (std::size_t stage = 0; stage < schedule.replicas.size(); ++stage) {
      for (std::size_t r = 0; r < schedule.replicas[stage].size(); ++r) {
        next_[{static_cast<int>(stage), static_cast<int>(r)}] = 0;
      }
    }
  }

  std::size_t run() {
    for (bool progressed = true; progressed;) {
      progressed = false;
      for (auto& [place, next] : next_) {
        while (can_do(place)) {
          progressed = true;
          advance(place);
        }
      }
    }
    std::size_t left = 0;
    for (const auto& [place, next] : next_) left += operations(place).size() - next;
    return left;
  }

 private:
  [[nodiscard]] const std::vector<Operation>& operations(Place place) const {
    return schedule_.replicas[static_cast<std::size_t>(place.first)][static_cast<std::size_t>(place.second)].operations;
  }
  [[nodiscard]] const Operation* current(Place place) const {
    const std::size_t next = next_.at(place);
    return next < operations(place).size() ? &operations(place)[next] : nullptr;
  }

  bool can_do(Place place) {
    const Operation* operation = current(place);
    if (operation == nullptr) return false;
    if (is_receive(operation->kind)) {
      if (is_blocking_) return false;  // done together with the send
      const auto& channel = channels_[{other_end(place, *operation), place}];
      return !channel.empty() && channel.front() == operation->microbatch;
    }
    if (!is_send(operation->kind) || !is_blocking_) return true;
    const Operation* receiver = current(other_end(place, *operation));
    return receiver != nullptr && is_receive(receiver->kind) && receiver->microbatch == operation->microbatch &&
           other_end(other_end(place, *operation), *receiver) == place;
  }

  void advance(Place place) {
    const Operation operation = *current(place);
    if (is_send(operation.kind) && is_blocking_) ++next_[other_end(place, operation)];
    if (is_send(operation.kind) && !is_blocking_) {
      channels_[{place, other_end(place, operation)}].push_back(operation.microbatch);
    }
    if (is_receive(operation.kind)) channels_[{other_end(place, operation), place}].pop_front();
    ++next_[place];
  }

  const Schedule& schedule_;
  bool is_blocking_;
  std::map<Place, std::size_t> next_;
  std::map<std::pair<Place, Place>, std::deque<int>> channels_;
};

TEST(ScheduleLaws, EveryMicrobatchGoesThroughOneReplicaOfEachStage) {
  for (std::uint64_t seed = 1; seed <= kCases; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    const Case one = random_case(seed);
    for (std::size_t stage = 0; stage < one.plan.stages.size(); ++stage) {
      std::multiset<int> forwards;
      std::multiset<int> backwards;
      for (std::size_t r = 0; r < one.plan.stages[stage].replicas.size(); ++r) {
        const ReplicaSchedule& replica = one.schedule.replicas[stage][r];
        EXPECT_EQ(static_cast<int>(replica.microbatches.size()), one.plan.stages[stage].replicas[r].microbatches);
        for (const Operation& operation : replica.operations) {
          if (operation.kind == OperationKind::kForward) forwards.insert(operation.microbatch);
          if (operation.kind == OperationKind::kBackward) backwards.insert(operation.microbatch);
        }
      }
      std::multiset<int> all;
      for (int mb = 0; mb < one.plan.microbatches(); ++mb) all.insert(mb);
      EXPECT_EQ(forwards, all);
      EXPECT_EQ(backwards, all);
    }
  }
}

TEST(ScheduleLaws, NoReplicaHasMoreInFlightThanItsCapAllows) {
  for (std::uint64_t seed = 1; seed <= kCases; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    const Case one = random_case(seed);
    for (std::size_t stage = 0; stage < one.plan.stages.size(); ++stage) {
      for (std::size_t r = 0; r < one.plan.stages[stage].replicas.size(); ++r) {
        int in_flight = 0;
        for (const Operation& operation : one.schedule.replicas[stage][r].operations) {
          in_flight += operation.kind == OperationKind::kForward ? 1 : 0;
          in_flight -= operation.kind == OperationKind::kBackward ? 1 : 0;
          EXPECT_LE(in_flight, one.times.replicas[stage][r].cap);
          EXPECT_LE(in_flight, one.schedule.replicas[stage][r].max_in_flight);
        }
      }
    }
  }
}

TEST(ScheduleLaws, BlockingInEverySendNeverDeadlocks) {
  for (std::uint64_t seed = 1; seed <= kCases; ++seed) {
    EXPECT_EQ(Executor(random_case(seed).schedule, true).run(), 0U) << "seed " << seed;
  }
}

TEST(ScheduleLaws, BufferedChannelsWithoutTagsNeverDeadlock) {
  for (std::uint64_t seed = 1; seed <= kCases; ++seed) {
    EXPECT_EQ(Executor(random_case(seed).schedule, false).run(), 0U) << "seed " << seed;
  }
}

TEST(ScheduleLaws, AnInputIsReceivedBeforeThePassThatNeedsIt) {
  for (std::uint64_t seed = 1; seed <= kCases; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    const Case one = random_case(seed);
    const std::size_t last = one.plan.stages.size() - 1;
    for (std::size_t stage = 0; stage <= last; ++stage) {
      for (const ReplicaSchedule& replica : one.schedule.replicas[stage]) {
        std::set<int> activations;
        std::set<int> gradients;
        for (const Operation& operation : replica.operations) {
          if (operation.kind == OperationKind::kReceiveActivation) activations.insert(operation.microbatch);
          if (operation.kind == OperationKind::kReceiveGradient) gradients.insert(operation.microbatch);
          const bool needs_input = operation.kind == OperationKind::kForward && stage > 0;
          const bool needs_gradient = operation.kind == OperationKind::kBackward && stage < last;
          EXPECT_TRUE(!needs_input || activations.contains(operation.microbatch));
          EXPECT_TRUE(!needs_gradient || gradients.contains(operation.microbatch));
        }
      }
    }
  }
}

// The caps are those of either policy; make_schedule() tries all orders with them. Of equally long steps it takes the
// one with backward passes first, and then the one in which all replicas start at once.
TEST(ScheduleLaws, TheScheduleIsTheFirstOfTheShortest) {
  for (std::uint64_t seed = 1; seed <= kCases; ++seed) {
    const Case one = random_case(seed);
    const std::vector<Schedule> orders{schedule_in_order(one, RouteRule::kStart, PassOrder::kBackwardFirst),
                                       schedule_in_order(one, RouteRule::kSpread, PassOrder::kBackwardFirst),
                                       schedule_in_order(one, RouteRule::kSpread, PassOrder::kForwardFirst)};
    EXPECT_EQ(make_schedule(one.plan, one.times), *std::ranges::min_element(orders, {}, &Schedule::duration))
        << "seed " << seed;
  }
}

TEST(ScheduleLaws, ADeadlineThatIsMetDoesNotChangeTheSchedule) {
  for (std::uint64_t seed = 1; seed <= kCases; ++seed) {
    const Case one = random_case(seed);
    const Schedule schedule = make_schedule(one.plan, one.times);
    const std::vector<Nanoseconds> deadlines(one.plan.stages.size(), schedule.duration);
    EXPECT_EQ(make_schedule_within(deadlines, one.plan, one.times), schedule) << "seed " << seed;
  }
}

TEST(ScheduleLaws, TheStepIsNoShorterThanItsBusiestReplica) {
  for (std::uint64_t seed = 1; seed <= kCases; ++seed) {
    const Case one = random_case(seed);
    for (std::size_t stage = 0; stage < one.plan.stages.size(); ++stage) {
      for (std::size_t r = 0; r < one.plan.stages[stage].replicas.size(); ++r) {
        const ReplicaTimes& times = one.times.replicas[stage][r];
        EXPECT_GE(one.schedule.duration,
                  (times.forward + times.backward) * one.plan.stages[stage].replicas[r].microbatches)
            << "seed " << seed;
      }
    }
  }
}

}  // namespace
}  // namespace sailor
