// Tests when a gradient is complete, so that it can be sent while the backward pass continues.
#include "trainer/step/gradient_sums.h"

#include <thread>

#include <ATen/ATen.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/trainer/support/assignments.h"
#include "trainer/comm/group_factory.h"
#include "trainer/device/device.h"
#include "trainer/step/training_step.h"

namespace sailor::trainer::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

constexpr int kStorePort = 7073;
constexpr std::chrono::milliseconds kTimeout{60'000};

// One worker of a generation, and the calls that it received: a layer state, and the first element of its gradient.
struct Summing {
  Summing(const Assignment& assignment, int rank, const std::string& host)
      : roster(assignment),
        rendezvous(host, kStorePort, "sums", kTimeout),
        factory(rendezvous, host, rank, kTimeout),
        groups(roster, rank,
               worker_schedule_of(assignment, assignment.workers.at(static_cast<std::size_t>(rank)).role.value()),
               factory, factory.make_message_group("everyone", roster.workers())),
        model(stage_shape(assignment, rank), states_of(assignment, rank)),
        sums(roster, rank, groups, model) {
    set_cpu_threads(1);
    model.clear_gradients();
    for (auto& [id, parameters] : model.parameters()) parameters.gradient().fill_(rank + 1);
    sums.begin([this](int layer_state, const at::Tensor& gradient) {
      calls.emplace_back(layer_state, gradient[0].item<float>());
    });
  }
  LayerStates states_of(const Assignment& assignment, int rank) const {
    LayerStates states;
    for (const int id : roster.layer_states_of(rank)) {
      states[id] = initial_state(assignment.model, roster.held_shard(rank, id), assignment.training.seed);
    }
    return states;
  }

  Roster roster;
  Rendezvous rendezvous;
  GroupFactory factory;
  TrainingGroups groups;
  StageModel model;
  GradientSums sums;
  std::vector<std::pair<int, float>> calls;
};

class GradientSumsTest : public ::testing::Test {
 protected:
  Assignment assignment(const std::vector<StageShares>& shares) const {
    const Plan plan = plan_of(job_, shares);
    return generation(job_, 1, plan, {{"pod", host_, 1, kStorePort, {}, gpu_count(plan)}});
  }
  const Scratch scratch_;
  const Assignment job_ = tiny_job(scratch_.text());
  const std::string host_ = own_address();
  const Result<std::unique_ptr<RendezvousServer>> store_ = RendezvousServer::listen(host_, kStorePort);
};

TEST_F(GradientSumsTest, WithoutReplicasIsCompleteAtOnce) {
  Summing worker(assignment({{0, 5, {8}}}), 0, host_);
  worker.sums.start(3);
  EXPECT_THAT(worker.calls, ElementsAre(std::pair(3, 1.0F)));
  worker.sums.finish();
  EXPECT_THAT(worker.calls, ElementsAre(std::pair(3, 1.0F)));
}

TEST_F(GradientSumsTest, OfReplicasIsCompleteAfterTheSum) {
  const Assignment both = assignment({{0, 5, {4, 4}}});
  const auto sum_up = [&](int rank) {
    Summing worker(both, rank, host_);
    worker.sums.start(3);
    worker.sums.start(2);
    EXPECT_THAT(worker.calls, IsEmpty());
    worker.sums.finish();
    EXPECT_THAT(worker.calls, ElementsAre(std::pair(3, 3.0F), std::pair(2, 3.0F)));
  };
  const std::jthread other(sum_up, 1);
  sum_up(0);
}

}  // namespace
}  // namespace sailor::trainer::testing
