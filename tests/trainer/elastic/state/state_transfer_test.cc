// State moves between any two plans: units of the common refinement, real Gloo, a thread for each worker.
#include "trainer/elastic/state/state_transfer.h"

#include <algorithm>
#include <numeric>
#include <random>
#include <thread>

#include <ATen/ATen.h>
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/seed.h"
#include "tests/trainer/support/delegating_group.h"
#include "tests/trainer/support/random_stages.h"
#include "trainer/comm/communication_error.h"
#include "trainer/comm/group_factory.h"
#include "trainer/elastic/state/peer_replicas.h"

namespace sailor::trainer {
namespace {

using ::testing::SizeIs;

constexpr int kWorkers = 8;

Assignment random_assignment(std::mt19937& random) {
  const auto number = [&](int least, int most) { return std::uniform_int_distribution(least, most)(random); };
  const Assignment job = testing::tiny_job("unused");
  while (true) {
    Plan plan = testing::plan_of(
        job, testing::random_stages(random, {.most_replicas = 2, .most_tensor_parallel = 3, .microbatches = 4}));
    plan.sharded_optimizer = number(0, 1) == 1;
    if (gpu_count(plan) > kWorkers) continue;
    std::vector<AgentAddress> agents;
    for (int i = 0; i < kWorkers; ++i) agents.push_back({fmt::format("pod-{}", i), "", 1, 1, {}, 1});
    Assignment assignment = testing::generation(job, 1, plan, agents);
    assignment.plan.peer_replicas = number(0, 1) == 1;
    return assignment;
  }
}

// What each rank has in this generation, by rank.
std::vector<WorkerSlices> slices_of_all(const Assignment& assignment) {
  const Roster roster(assignment);
  const auto peer_replicas = plan_peer_replicas(assignment, roster);
  std::vector<WorkerSlices> slices;
  for (int rank = 0; rank < kWorkers; ++rank) slices.push_back(worker_slices(roster, peer_replicas, rank));
  return slices;
}

TransferUnits units_between(const Assignment& before, const Assignment& after) {
  return {after.model, slices_of_all(before), slices_of_all(after)};
}

// The first holder sends.
std::vector<UnitMove> moves_of(const TransferUnits& units) {
  std::vector<UnitMove> moves;
  for (int to = 0; to < kWorkers; ++to) {
    for (const int unit : units.wanted_by(to)) {
      if (std::ranges::binary_search(units.held_by(to), unit)) continue;
      for (int from = 0; from < kWorkers; ++from) {
        if (!std::ranges::binary_search(units.held_by(from), unit)) continue;
        moves.push_back({unit, from, to});
        break;
      }
    }
  }
  return moves;
}

// A state whose three tensors differ.
LayerState marked_state(const Assignment& assignment, const StateLayout& shard) {
  LayerState state = initial_state(assignment.model, shard, 7);
  state.momentum = state.weights + 1;
  state.variance = state.weights + 2;
  return state;
}

LayerStates marked_states(const Assignment& assignment, const StateSlices& slices) {
  LayerStates states;
  for (const auto& [layer_state, of_layer_state] : slices) {
    states[layer_state] = marked_state(assignment, shard_of(layout_of(assignment.model, layer_state), of_layer_state));
  }
  return states;
}

void expect_equal(const LayerStates& got, const LayerStates& expected) {
  ASSERT_EQ(got.size(), expected.size());
  for (const auto& [id, state] : got) {
    EXPECT_EQ(state.layout, expected.at(id).layout);
    EXPECT_TRUE(at::equal(state.weights, expected.at(id).weights)) << "layer state " << id;
    EXPECT_TRUE(at::equal(state.momentum, expected.at(id).momentum));
    EXPECT_TRUE(at::equal(state.variance, expected.at(id).variance));
  }
}

void expect_arrives(const Assignment& before, const Assignment& after) {
  const std::vector<WorkerSlices> old_slices = slices_of_all(before), new_slices = slices_of_all(after);
  const TransferUnits units(after.model, old_slices, new_slices);
  const auto moves = moves_of(units);
  const std::string host = testing::own_address();
  const auto store = RendezvousServer::listen(host, 7073);
  ASSERT_TRUE(store);
  std::vector<int> everyone(kWorkers);
  std::iota(everyone.begin(), everyone.end(), 0);
  std::vector<std::thread> threads;
  for (int rank = 0; rank < kWorkers; ++rank) {
    threads.emplace_back([&, rank] {
      Rendezvous rendezvous(host, 7073, "transfer", std::chrono::seconds(60));
      GroupFactory factory(rendezvous, host, rank, std::chrono::seconds(60));
      const auto group = factory.make_collective_group("everyone", everyone);
      const auto index = static_cast<std::size_t>(rank);
      HeldState held{.layer_states = marked_states(before, old_slices[index].own),
                     .peer_replicas = marked_states(before, old_slices[index].peer_replicas)};
      transfer_state(units, moves, {rank, new_slices[index]}, *group, held);
      expect_equal(held.arrived, marked_states(after, new_slices[index].own));
      expect_equal(held.arrived_peer_replicas, marked_states(after, new_slices[index].peer_replicas));
      group->all_reduce(at::zeros({1}));  // nobody closes connections that others still read from
    });
  }
  for (auto& thread : threads) thread.join();
}

TEST(StateTransfer, MovesTheStateBetweenRandomPlans) {
  std::mt19937 random(sailor::testing::test_seed());
  for (int round = 0; round < 6; ++round) expect_arrives(random_assignment(random), random_assignment(random));
}

TEST(StateTransfer, SendsNothingAndKeepsTheTensorsIfNothingChanges) {
  std::mt19937 random(3);
  const Assignment assignment = random_assignment(random);
  const TransferUnits units = units_between(assignment, assignment);
  EXPECT_THAT(moves_of(units), SizeIs(0));
}

// Whose members are all gone.
class LostGroup : public testing::DelegatingGroup {
 public:
  LostGroup() : DelegatingGroup(nullptr) {}
  std::unique_ptr<Work> send(const at::Tensor&, int, int) override { return std::make_unique<Lost>(); }
  std::unique_ptr<Work> receive(const at::Tensor&, int, int) override { return std::make_unique<Lost>(); }

 private:
  class Lost : public Work {
   public:
    void wait() override { throw CommunicationError("all are gone"); }
  };
};

TEST(StateTransfer, LeavesTheOldStateUnchangedIfAPeerIsLost) {
  const Assignment job = testing::tiny_job("unused");
  std::vector<AgentAddress> agents(kWorkers, {"pod", "", 1, 1, {}, 1});
  const auto before = testing::generation(job, 1, testing::plan_of(job, {{0, 2, {4, 4}}, {2, 5, {8}}}), agents);
  const auto after = testing::generation(job, 2, testing::plan_of(job, {{0, 4, {8}}, {4, 5, {8}}}), agents);
  const TransferUnits units = units_between(before, after);
  HeldState held{.layer_states = marked_states(before, slices_of_all(before).front().own)};
  LostGroup group;
  EXPECT_THROW(transfer_state(units, moves_of(units), {0, slices_of_all(after).front()}, group, held),
               CommunicationError);
  held.join_arrived(after.model);  // at the next rendezvous
  expect_equal(held.layer_states, marked_states(before, slices_of_all(before).front().own));
}

TEST(TransferUnits, OfPlansWithoutTensorParallelismAreLayerStates) {
  const Assignment job = testing::tiny_job("unused");
  std::vector<AgentAddress> agents(kWorkers, {"pod", "", 1, 1, {}, 1});
  const auto before = testing::generation(job, 1, testing::plan_of(job, {{0, 2, {4, 4}}, {2, 5, {8}}}), agents);
  const auto after = testing::generation(job, 2, testing::plan_of(job, {{0, 4, {8}}, {4, 5, {8}}}), agents);
  const TransferUnits units = units_between(before, after);
  EXPECT_EQ(units.units().size(), all_layer_states(job.model).size());
}

TEST(StateSlices, SurviveSerializationAndNonsenseIsRefused) {
  std::mt19937 random(4);
  const Assignment assignment = random_assignment(random);
  const StateSlices held = slices_of_all(assignment).front().own;
  EXPECT_EQ(*state_slices_from_line(assignment.model, to_line(held)), held);
  for (const char* line : {"", "{}", "[1]", "[[0,0,0]]", "[[0,0,0,99999]]", "[[99,0,0,1]]", "[[0,9,0,1]]"}) {
    EXPECT_FALSE(state_slices_from_line(assignment.model, line)) << line;
  }
}

}  // namespace
}  // namespace sailor::trainer
