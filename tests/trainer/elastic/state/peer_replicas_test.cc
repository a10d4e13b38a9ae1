// Laws of peer replicas, on random plans over random nodes and zones.
#include "trainer/elastic/state/peer_replicas.h"

#include <algorithm>
#include <map>
#include <random>
#include <set>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "tests/support/seed.h"
#include "tests/trainer/support/random_stages.h"
#include "trainer/elastic/state/worker_locations.h"

namespace sailor::trainer {
namespace {

class RandomAssignments {
 public:
  explicit RandomAssignments(unsigned seed) : random_(seed) {}

  // Replicas of up to two shards, over nodes of two to four GPUs in up to three zones of two regions.
  Assignment next() {
    const Assignment job = testing::tiny_job("unused");
    Plan plan = testing::plan_of(
        job, testing::random_stages(random_, {.most_replicas = 3, .most_tensor_parallel = 2, .microbatches = 1}));
    plan.sharded_optimizer = number(0, 2) == 0;
    std::vector<AgentAddress> agents;
    for (int gpus = 0; gpus < gpu_count(plan); gpus += agents.back().gpus) {
      agents.push_back({fmt::format("pod-{}", agents.size()), "", 1, 1, {}, number(2, 4)});
    }
    Assignment assignment = testing::generation(job, 1, plan, agents);
    const char* const zones[] = {"us-central1-a", "us-central1-b", "us-west1-a"};
    for (AgentAddress& agent : assignment.agents) agent.pool.zone = Zone(zones[number(0, 2)]);
    assignment.plan.peer_replicas = true;
    return assignment;
  }

 private:
  int number(int least, int most) { return std::uniform_int_distribution(least, most)(random_); }
  std::mt19937 random_;
};

// The elements, by layer state and tensor, that each node has: as its own state or as peer replicas.
using Element = std::tuple<int, int, std::int64_t>;
std::map<Element, std::set<int>> nodes_of_elements(const Assignment& assignment) {
  const Roster roster(assignment);
  const auto peer_replicas = plan_peer_replicas(assignment, roster);
  const auto locations = locations_of(assignment);
  std::map<Element, std::set<int>> nodes;
  for (int rank = 0; rank < roster.workers(); ++rank) {
    const WorkerSlices held_here = worker_slices(roster, peer_replicas, rank);
    for (const StateSlices* held : {&held_here.own, &held_here.peer_replicas}) {
      for (const auto& [layer_state, slices] : *held) {
        for (const Slice& slice : slices) {
          for (std::int64_t i = slice.begin; i < slice.end; ++i) {
            nodes[{layer_state, slice.tensor, i}].insert(locations[static_cast<std::size_t>(rank)].node);
          }
        }
      }
    }
  }
  return nodes;
}

int training_nodes(const Assignment& assignment) {
  std::set<int> nodes;
  for (const WorkerSlot& worker : assignment.workers) {
    if (worker.role) nodes.insert(worker.agent);
  }
  return static_cast<int>(nodes.size());
}

class PeerReplicas : public ::testing::Test {
 protected:
  RandomAssignments assignments_{sailor::testing::test_seed()};
};

TEST_F(PeerReplicas, PutEveryElementOfTheStateOnTwoNodesIfThereAreTwo) {
  for (int round = 0; round < 100; ++round) {
    const Assignment assignment = assignments_.next();
    const std::size_t least = training_nodes(assignment) > 1 ? 2 : 1;
    for (const auto& [element, nodes] : nodes_of_elements(assignment)) EXPECT_GE(nodes.size(), least);
  }
}

TEST_F(PeerReplicas, CoverOnlySlicesThatOneNodeHas) {
  for (int round = 0; round < 100; ++round) {
    const Assignment assignment = assignments_.next();
    const Roster roster(assignment);
    const auto locations = locations_of(assignment);
    for (const PeerReplica& replica : plan_peer_replicas(assignment, roster)) {
      for (const int rank : roster.holders_of(replica.layer_state)) {
        const StateLayout shard = roster.held_shard(rank, replica.layer_state);
        if (!span_of(shard, replica.slices.front())) continue;
        EXPECT_EQ(locations[static_cast<std::size_t>(rank)].node,
                  locations[static_cast<std::size_t>(replica.owner)].node);
        EXPECT_NE(locations[static_cast<std::size_t>(rank)].node,
                  locations[static_cast<std::size_t>(replica.backup_holder)].node);
      }
    }
  }
}

// Workers 0 to n - 1, a stage and a node each, in these zones.
Assignment a_stage_in_each(const std::vector<std::string>& zones) {
  Assignment job = testing::tiny_job("unused");
  std::vector<testing::StageShares> stages;
  const int count = static_cast<int>(zones.size());
  for (int i = 0; i < count; ++i) stages.push_back({i, i + 1 == count ? 5 : i + 1, {8}});
  std::vector<AgentAddress> agents(zones.size(), {"pod", "", 1, 1, {}, 1});
  for (int i = 0; i < count; ++i) agents[static_cast<std::size_t>(i)].name += std::to_string(i);
  Assignment assignment = testing::generation(job, 1, testing::plan_of(job, stages), agents);
  for (int i = 0; i < count; ++i) {
    assignment.agents[static_cast<std::size_t>(i)].pool.zone = Zone(zones[static_cast<std::size_t>(i)]);
  }
  assignment.plan.peer_replicas = true;
  return assignment;
}

TEST_F(PeerReplicas, PutTheLargestIntoAnotherZoneOfItsRegion) {
  const Assignment assignment =
      a_stage_in_each({"us-central1-a", "us-central1-a", "us-west1-a", "us-central1-b", "us-central1-a"});
  const auto peer_replicas = plan_peer_replicas(assignment, Roster(assignment));
  // The first and the last stage both hold the tied embedding; in another region it is the largest block's turn.
  const auto of_a_block =
      std::ranges::find_if(peer_replicas, [](const PeerReplica& replica) { return replica.owner == 1; });
  ASSERT_NE(of_a_block, peer_replicas.end());
  EXPECT_EQ(of_a_block->backup_holder, 3);
}

TEST_F(PeerReplicas, AreSpreadEvenlyOverPossibleHolders) {
  const Assignment assignment = a_stage_in_each({"us-central1-a", "us-central1-b", "us-central1-b", "us-west1-a"});
  const auto peer_replicas = plan_peer_replicas(assignment, Roster(assignment));
  std::map<int, std::int64_t> kept;
  std::int64_t total = 0;
  for (const PeerReplica& replica : peer_replicas) {
    kept[replica.backup_holder] += replica.elements;
    total += replica.elements;
  }
  for (const auto& [backup_holder, elements] : kept) EXPECT_LE(elements, total / 3 + peer_replicas.front().elements);
}

TEST_F(PeerReplicas, DoNotExistOnOneNodeOrIfThePlanHasNone) {
  Assignment assignment = a_stage_in_each({"us-central1-a", "us-central1-b"});
  EXPECT_FALSE(plan_peer_replicas(assignment, Roster(assignment)).empty());
  assignment.plan.peer_replicas = false;
  EXPECT_TRUE(plan_peer_replicas(assignment, Roster(assignment)).empty());
  assignment = a_stage_in_each({"us-central1-a"});
  EXPECT_TRUE(plan_peer_replicas(assignment, Roster(assignment)).empty());
}

}  // namespace
}  // namespace sailor::trainer
