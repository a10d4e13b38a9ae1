// Tests what peer replicas cost a plan.
#include "simulator/peer_replicas.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "simulator/simulator.h"
#include "tests/support/builders.h"

namespace sailor {
namespace {

using testing::a_cluster;
using testing::a_job;
using testing::a_key;
using ::testing::Contains;
using ::testing::HasSubstr;

const ClusterState& two_zones() {
  static const ClusterState cluster = a_cluster()
                                          .pool("us-central1-a", "nvidia-l4", 16, 2)
                                          .price(0.7)
                                          .pool("us-central1-b", "nvidia-l4", 16, 2)
                                          .price(0.7);
  return cluster;
}

JobSpec job_of_16_sequences() { return a_job().batch(16).redundancy(Redundancy::kAuto); }

// Returns a plan of two stages with this many replicas each, one stage in each zone.
Plan two_stages(const JobSpec& job, int replicas) {
  const int layers = job.model.layer_count();
  Plan plan{job.model.name, 16, 1, {{0, layers / 2, {}}, {layers / 2, layers, {}}}};
  for (std::size_t stage = 0; stage < 2; ++stage) {
    const char* zone = stage == 0 ? "us-central1-a" : "us-central1-b";
    plan.stages[stage].replicas.assign(static_cast<std::size_t>(replicas),
                                       {a_key(zone, "nvidia-l4"), 1, 16 / replicas});
  }
  return plan;
}

Estimate without_peer_replicas(const JobSpec& job, const Plan& plan) {
  return Simulator().estimate(job, two_zones(), plan).value();
}

Estimate with_peer_replicas(const JobSpec& job, Plan plan) {
  plan.peer_replicas = true;
  return Simulator().estimate(job, two_zones(), plan).value();
}

TEST(PeerReplicas, OfAStageWithOneReplicaTakeMemoryTimeAndTraffic) {
  const JobSpec job = job_of_16_sequences();
  const Plan plan = two_stages(job, 1);
  const Estimate before = without_peer_replicas(job, plan), after = with_peer_replicas(job, plan);
  const auto parameters = [&](int stage) {
    const Stage& of = plan.stages[static_cast<std::size_t>(stage)];
    return static_cast<double>(stage_parameters(job.model, of.first_layer, of.last_layer));
  };
  for (const int stage : {0, 1}) {  // each stage holds the peer replica of the other
    const auto index = static_cast<std::size_t>(stage);
    EXPECT_NEAR((after.memory[index].total() - before.memory[index].total()).value(), 16 * parameters(1 - stage), 1.0);
  }
  EXPECT_GT(after.time.gradient_sync, before.time.gradient_sync);
  EXPECT_GT(after.time.update, before.time.update);
  const Dollars price = Dollars(0.01 * 4 * (parameters(0) + parameters(1)) / 1e9);
  EXPECT_NEAR((after.traffic_cost_per_iteration - before.traffic_cost_per_iteration).value(), price.value(), 1e-9);
  EXPECT_THAT(after.notes, Contains(HasSubstr("peer replicas of the state that only one node holds")));
}

TEST(PeerReplicas, CostNothingWhereEveryStageIsOnTwoNodes) {
  const JobSpec job = job_of_16_sequences();
  const Plan plan = two_stages(job, 4);
  Estimate after = with_peer_replicas(job, plan);
  EXPECT_THAT(after.notes, Contains(HasSubstr("no peer replicas are kept")));
  after.notes = without_peer_replicas(job, plan).notes;
  EXPECT_EQ(after, without_peer_replicas(job, plan));
}

TEST(PeerReplicas, OfAShardedOptimizerAreSpreadOverItsReplicas) {
  const JobSpec job = job_of_16_sequences();
  Plan plan{job.model.name, 16, 1, {{0, job.model.layer_count(), {}}}};
  plan.stages[0].replicas.assign(8, {a_key("us-central1-a", "nvidia-l4"), 1, 2});
  plan.sharded_optimizer = true;
  const Estimate before = without_peer_replicas(job, plan), after = with_peer_replicas(job, plan);
  const double more = (after.memory[0].total() - before.memory[0].total()).value();
  const auto parameters = static_cast<double>(stage_parameters(job.model, 0, job.model.layer_count()));
  EXPECT_GE(more, 16 * parameters / 8);
  EXPECT_LE(more, 16 * parameters / 4);
}

// The memory of the activations of one microbatch of each stage.
std::vector<Bytes> activations_of_one(const JobSpec& job, Plan plan) {
  JobSpec one = job;
  one.training.global_batch_size = plan.global_batch_size = plan.microbatch_size;
  for (Stage& stage : plan.stages) stage.replicas = {{stage.replicas.front().pool, 1, 1}};
  std::vector<Bytes> activations;
  for (const MemoryBreakdown& memory : without_peer_replicas(one, plan).memory) {
    activations.push_back(memory.activations);
  }
  return activations;
}

TEST(PeerReplicas, LeaveLessMemoryForMicrobatchesInFlight) {
  const JobSpec job = a_job()
                          .model("opt-350m")
                          .blocks(36)
                          .sequence_length(2048)
                          .microbatch_sizes({2})
                          .batch(32)
                          .redundancy(Redundancy::kAuto);
  Plan plan = two_stages(job, 1);
  plan.microbatch_size = 2;
  plan.global_batch_size = 32;
  plan.peer_replicas = true;
  const Bytes one = activations_of_one(job, plan).front();
  const MemoryBreakdown memory = with_peer_replicas(job, plan).memory.front();
  const Bytes usable = usable_memory(*find_accelerator(Accelerator("nvidia-l4")), {});
  const int in_flight = Simulator().schedule_times(job, two_zones(), plan)->replicas[0][0].cap;
  plan.peer_replicas = false;
  EXPECT_GT(Simulator().schedule_times(job, two_zones(), plan)->replicas[0][0].cap, in_flight);
  EXPECT_GT(in_flight, 1);
  EXPECT_LE((memory.total() - memory.activations + one * in_flight).value(), usable.value());
}

}  // namespace
}  // namespace sailor
