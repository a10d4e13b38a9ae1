// The closed form where it is right, and where it is known to be wrong.
#include "planner/report/closed_form.h"

#include <gtest/gtest.h>

#include "simulator/simulator.h"
#include "tests/support/builders.h"

namespace sailor::report {
namespace {

using sailor::testing::a_cluster;
using sailor::testing::a_job;
using sailor::testing::a_key;
using sailor::testing::an_even_plan;

const PoolKey kPool = a_key("us-central1-a", "nvidia-l4");

NetworkModel free_network() {
  NetworkModel network = google_cloud_network();
  for (Link& link : network.tiers) link = {BytesPerSecond(1e30), Seconds(0), dollars_per_gigabyte(0)};
  return network;
}

// Every layer takes a millisecond forward and two backward.
ProfileBook equal_layers(const JobSpec& job) {
  ModelProfile profile{
      job.model.name, kPool.accelerator, job.training.precision, job.training.sequence_length, {}, {}, ""};
  const LayerTime time{Seconds(1e-3), Seconds(2e-3), Seconds(0)};
  profile.times[{1, 1}].assign(static_cast<std::size_t>(job.model.layer_count()), time);
  ProfileBook profiles;
  profiles.add(std::move(profile));
  return profiles;
}

struct Played {
  ClosedForm form;
  double step = 0;  // seconds
};

Played played(const JobSpec& job, const NetworkModel& network, const Plan& plan) {
  const Simulator simulator(equal_layers(job), network);
  const ClusterState cluster = a_cluster().pool("us-central1-a", "nvidia-l4", 32, 1);
  const Estimate estimate = simulator.estimate(job, cluster, plan).value();
  const PlanDetails details = simulator.details(job, cluster, plan).value();
  return {closed_form({job, cluster, plan, estimate, details}), static_cast<double>(details.step.end().count()) * 1e-9};
}

TEST(ClosedForm, IsRightForEqualStagesOnAFreeNetwork) {
  const JobSpec job = a_job().batch(16);
  const Played result = played(job, free_network(), an_even_plan(job, kPool, 3, 2, 1));
  EXPECT_NEAR(result.form.whole.value(), result.step, 1e-6);
  EXPECT_NEAR(result.form.hidden_transfers.value(), 0, 1e-6);
  EXPECT_NEAR(result.form.wide_stages.value(), 0, 1e-9);
  EXPECT_NEAR(result.form.waiting.value(), 0, 1e-6);
}

TEST(ClosedForm, OverlooksThatTransfersAreHidden) {
  NetworkModel slow = free_network();
  for (Link& link : slow.tiers) link.latency = Seconds(5e-3);
  const JobSpec job = a_job().batch(32);
  const Played result = played(job, slow, an_even_plan(job, kPool, 3, 1, 1));
  EXPECT_NEAR(result.form.hidden_transfers.value(), 31 * 2 * 5e-3, 1e-6);
  EXPECT_GT(result.form.whole.value(), result.step);
}

TEST(ClosedForm, OverlooksThatStagesMayBeOfDifferentWidth) {
  const JobSpec job = a_job().batch(32);
  Plan plan = an_even_plan(job, kPool, 2, 4, 1);
  plan.stages[1].replicas = {{kPool, 1, 16}, {kPool, 1, 16}};
  plan.stages[1].first_layer = plan.stages[0].last_layer = 4;  // of six: 8 x 12 ms beside 16 x 6 ms
  const Played result = played(job, free_network(), plan);
  EXPECT_NEAR(result.form.wide_stages.value(), 15 * 12e-3 - 15 * 6e-3, 1e-6);
}

TEST(ClosedForm, ItsPartsSumUpToTheDifference) {
  const JobSpec job = a_job().batch(48);
  for (const int stages : {1, 2, 5}) {
    const Played result = played(job, google_cloud_network(), an_even_plan(job, kPool, stages, 3, 1));
    const ClosedForm& form = result.form;
    EXPECT_NEAR((form.whole - form.hidden_transfers - form.wide_stages - form.nodes_first - form.hidden_syncs -
                 form.early_syncs - form.waiting)
                    .value(),
                result.step, 1e-9);
  }
}

}  // namespace
}  // namespace sailor::report
