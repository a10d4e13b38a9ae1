#include "trainer/elastic/protocol/lease.h"

#include <gtest/gtest.h>

#include "trainer/elastic/protocol/worker_machine.h"

namespace sailor::trainer {
namespace {

using std::chrono::seconds;

TEST(Lease, CountsFromTheRequestHoweverLongTheAnswerTakes) {
  const BootClock::time_point asked{seconds(100)};
  const Lease lease = granted(3, asked, seconds(25));
  EXPECT_TRUE(is_valid(lease, 3, asked + seconds(24)));
  EXPECT_FALSE(is_valid(lease, 3, asked + seconds(25)));
}

TEST(Lease, IsOfOneGenerationOnly) {
  const BootClock::time_point now{seconds(100)};
  EXPECT_FALSE(is_valid(granted(3, now, seconds(25)), 4, now));
  EXPECT_FALSE(is_valid(Lease{}, 1, BootClock::time_point{}));
}

WorkerState voting() {
  WorkerState state{.place = WorkerPlace::kVoting, .generation = 1, .has_role = true, .version = {}, .next = {}};
  state.version.has_gradients = true;
  return state;
}

TEST(Lease, AWorkerWhoseLeaseHasLapsedWaitsAndKeepsItsGradients) {
  const WorkerState paused = after(voting(), event::LeaseLapsed{});
  EXPECT_EQ(paused.place, WorkerPlace::kAwaitingLease);
  EXPECT_EQ(after(paused, event::LeaseRenewed{}), voting());
  const Command newer{.generation = 2, .has_slot = true, .has_role = true};
  const WorkerState moved = after(paused, event::Assigned{newer});
  EXPECT_EQ(moved.generation, 2);
  EXPECT_TRUE(moved.version.has_gradients);
}

TEST(Lease, AWorkerThatKnowsANewerGenerationObeysItInsteadOfWaiting) {
  WorkerState state = voting();
  state.next = {.generation = 2, .has_slot = true, .has_role = true};
  EXPECT_EQ(after(state, event::LeaseLapsed{}).place, WorkerPlace::kRendezvous);
}

}  // namespace
}  // namespace sailor::trainer
