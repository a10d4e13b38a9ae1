// Our plans held against those of Sailor's own planner, both priced by our simulator. Reads data that is not part of
// the repository and skips where it is absent.
#include <filesystem>
#include <fstream>

#include <gtest/gtest.h>

#include "planner/manifest/files.h"
#include "planner/model/plan_json.h"
#include "planner/planner.h"
#include "simulator/simulator.h"

namespace sailor {
namespace {

const std::filesystem::path kCases = std::filesystem::path(SAILOR_SOURCE_DIR) / "../shared/data/peer-plans";

double value_of(const JobSpec& job, const Estimate& estimate) {
  return std::holds_alternative<MaximizeThroughput>(job.objective) ? estimate.iteration.value()
                                                                   : estimate.cost_per_iteration().value();
}

TEST(PeerPlans, OursAreNoWorseThanSailorsOnItsOwnCases) {
  if (!std::filesystem::exists(kCases))
    GTEST_SKIP() << kCases << " is not here: the peers' plans are compared elsewhere";
  for (const std::string name : {"2type-1zone-32", "3type-1zone-32", "fig7-0", "fig8b-0", "neo-2type-1zone-128"}) {
    SCOPED_TRACE(name);
    const JobSpec job = read_job(kCases / name / "job.yaml").value();
    const ClusterFile file = read_cluster(kCases / name / "cluster.yaml").value();
    std::ifstream stream(kCases / name / "sailor.json");
    const Plan peer = plan_from_json(Json::parse(stream).at("plan")).value();
    const Simulator simulator({}, file.network);
    const auto ours = Planner(simulator).plan(job, file.cluster, {}, {});
    ASSERT_TRUE(ours) << ours.error().message;
    const auto theirs = simulator.estimate(job, file.cluster, peer);
    ASSERT_TRUE(theirs) << theirs.error().message;
    EXPECT_LE(value_of(job, ours->estimate), value_of(job, *theirs));
  }
}

TEST(PeerPlans, EveryPlanOfAPeerIsAnswered) {
  if (!std::filesystem::exists(kCases))
    GTEST_SKIP() << kCases << " is not here: the peers' plans are compared elsewhere";
  int plans = 0;
  for (const auto& folder : std::filesystem::directory_iterator(kCases)) {
    const JobSpec job = read_job(folder.path() / "job.yaml").value();
    const ClusterFile file = read_cluster(folder.path() / "cluster.yaml").value();
    const Simulator simulator({}, file.network);
    for (const auto& entry : std::filesystem::directory_iterator(folder)) {
      if (entry.path().extension() != ".json") continue;
      std::ifstream stream(entry.path());
      const auto estimate =
          simulator.estimate(job, file.cluster, plan_from_json(Json::parse(stream).at("plan")).value());
      ASSERT_TRUE(estimate) << entry.path() << ": " << estimate.error().message;
      EXPECT_GT(estimate->throughput(), 0) << entry.path();
      ++plans;
    }
  }
  EXPECT_GT(plans, 30);
}

}  // namespace
}  // namespace sailor
