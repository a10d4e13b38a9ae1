// Compares our plans with those of the peers' planners, both priced by our simulator with several execution models.
// Reads data that is not part of the repository and skips where it is absent.
#include <algorithm>
#include <cctype>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <memory>

#include <gtest/gtest.h>

#include "core/manifest/files.h"
#include "core/model/plan_json.h"
#include "planner/planner.h"
#include "planner/problem/goal.h"
#include "simulator/simulator.h"

namespace sailor {
namespace {

const std::filesystem::path kData = std::filesystem::path(SAILOR_SOURCE_DIR) / "../shared/data";
const std::filesystem::path kCases = kData / "peer-plans";

struct Case {
  std::string name;
  JobSpec job;
  ClusterState cluster;
  std::unique_ptr<Simulator> simulator;  // has the profiles by which the peers planned
};

Case read_case(const std::string& name, const ExecutionModel& execution) {
  ClusterFile file = read_cluster(kCases / name / "cluster.yaml").value();
  file.network.measured = read_network_measurements(kData / "sailor-artifact").value();
  return {name, read_job(kCases / name / "job.yaml").value(), std::move(file.cluster),
          std::make_unique<Simulator>(read_profiles(kData / "sailor-artifact").value(), std::move(file.network),
                                      execution)};
}

const std::string kAbsent = "absent";  // the only case where the data is absent

std::vector<std::string> names_of_cases() {
  if (!std::filesystem::exists(kCases)) return {kAbsent};
  std::vector<std::string> names;
  for (const auto& folder : std::filesystem::directory_iterator(kCases)) names.push_back(folder.path().filename());
  std::ranges::sort(names);
  return names;
}

struct PeerPlan {
  std::string planner;
  Estimate estimate;
};

std::vector<PeerPlan> plans_of_peers(const Case& one) {
  std::vector<PeerPlan> plans;
  for (const auto& entry : std::filesystem::directory_iterator(kCases / one.name)) {
    if (entry.path().extension() != ".json") continue;
    std::ifstream stream(entry.path());
    const Plan plan = plan_from_json(Json::parse(stream).at("plan")).value();
    plans.push_back({entry.path().stem(), one.simulator->simulate(one.job, one.cluster, plan).value()});
  }
  return plans;
}

double value_of(const JobSpec& job, const Estimate& estimate) {
  return std::holds_alternative<MaximizeThroughput>(job.objective) ? estimate.iteration.value()
                                                                   : estimate.cost_per_iteration().value();
}

bool keeps_to_limits(const JobSpec& job, const Estimate& estimate) {
  const EstimateSummary summary{estimate.iteration, estimate.cost_per_iteration(), Bytes(0)};
  return Goal::of(job).misses_of(summary, job.resources.min_gpus).sum() <= 0;
}

Plan our_plan(const Case& one, PlanSpace space) {
  PlanOptions options;
  options.space = space;
  return Planner(*one.simulator).plan(one.job, one.cluster, options, {}).value().plan;
}

double value_of(const Case& one, const Plan& plan) {
  return value_of(one.job, one.simulator->simulate(one.job, one.cluster, plan).value());
}

double our_value(const Case& one, PlanSpace space) { return value_of(one, our_plan(one, space)); }

struct SailorsPlan {
  Plan plan;
  double recorded_seconds = 0;  // by Sailor's own simulator
};

SailorsPlan sailors_plan(const std::string& name) {
  std::ifstream stream(kCases / name / "sailor.json");
  const Json json = Json::parse(stream);
  return {plan_from_json(json.at("plan")).value(), 1 / json.at("peer").at("iterationsPerSecond").get<double>()};
}

// Returns how many times as good as Sailor's plan ours has to be.
double goal_over_sailor(const std::string& name) {
  if (name.starts_with("3type-1zone")) return 1.5;
  return name.starts_with("fig8b") || name.starts_with("2type-1zone") ? 1.1 : 1;
}

// The peers' plans that our simulator can compare with ours. It drops one that breaks memory, a pool's count, the rule
// of one region a stage or the job's limit, and prints the reason.
std::vector<PeerPlan> rivals_of(const Case& one) {
  std::vector<PeerPlan> rivals = plans_of_peers(one);
  std::erase_if(rivals, [&](const PeerPlan& peer) {
    if (peer.estimate.fits() && keeps_to_limits(one.job, peer.estimate)) return false;
    std::cout << one.name << "/" << peer.planner
              << " dropped: " << (peer.estimate.fits() ? "it misses the job's limit" : peer.estimate.violations.front())
              << "\n";
    return true;
  });
  return rivals;
}

// One test for each case, so that none takes long under a sanitizer.
class PeerPlans : public ::testing::TestWithParam<std::string> {};

TEST_P(PeerPlans, OursAreAtLeastAsGoodAsAnyAndBetterThanSailorsByTheRequiredFactor) {
  if (GetParam() == kAbsent) GTEST_SKIP() << kCases << " is not here: the peers' plans are compared elsewhere";
  const Case one = read_case(GetParam(), trainer_execution_model());
  const double ours = our_value(one, PlanSpace::kFlow);
  const double in_their_space = our_value(one, PlanSpace::kPaper);
  EXPECT_LE(ours, in_their_space * (1 + 1e-9));
  for (const PeerPlan& peer : rivals_of(one)) {
    const double factor = peer.planner == "sailor" ? goal_over_sailor(one.name) : 1;
    const double theirs = value_of(one.job, peer.estimate);
    EXPECT_LE(ours * factor, theirs * (1 + 1e-9)) << peer.planner;
    if (peer.planner == "sailor") {
      EXPECT_LE(in_their_space, theirs * (1 + 1e-9));
    }
  }
}

TEST_P(PeerPlans, ThePapersModelReproducesTheTimesOfSailorsPlans) {
  if (GetParam() == kAbsent) GTEST_SKIP() << kCases << " is not here: the peers' plans are compared elsewhere";
  const Case one = read_case(GetParam(), *find_execution_model("sailor-paper"));
  const SailorsPlan sailors = sailors_plan(one.name);
  const Estimate estimate = one.simulator->simulate(one.job, one.cluster, sailors.plan).value();
  EXPECT_NEAR(estimate.iteration.value() / sailors.recorded_seconds, 1, 0.005);
}

TEST_P(PeerPlans, WithThePapersModelAndSpaceOursIsAtLeastAsGoodAsSailors) {
  if (GetParam() == kAbsent) GTEST_SKIP() << kCases << " is not here: the peers' plans are compared elsewhere";
  const Case one = read_case(GetParam(), *find_execution_model("sailor-paper"));
  const Plan sailors = sailors_plan(one.name).plan;
  if (!one.simulator->simulate(one.job, one.cluster, sailors).value().fits()) GTEST_SKIP() << "Sailor's does not fit";
  EXPECT_LE(our_value(one, PlanSpace::kPaper), value_of(one, sailors) * (1 + 1e-9));
}

// The plans of the default model: never worse than any peer's by that model, and not much worse than Sailor's by the
// paper's.
TEST_P(PeerPlans, TheDefaultPlanIsBetterThanAnyAndHoldsInThePapersModel) {
  if (GetParam() == kAbsent) GTEST_SKIP() << kCases << " is not here: the peers' plans are compared elsewhere";
  const Case one = read_case(GetParam(), default_execution_model());
  const Plan ours = our_plan(one, PlanSpace::kFlow);
  for (const PeerPlan& peer : rivals_of(one)) {
    EXPECT_LE(value_of(one, ours), value_of(one.job, peer.estimate) * (1 + 1e-9)) << peer.planner;
  }
  const Case judge = read_case(GetParam(), *find_execution_model("sailor-paper"));
  EXPECT_LE(value_of(judge, ours) * 0.8, value_of(judge, sailors_plan(one.name).plan));
}

std::string name_of_test(const ::testing::TestParamInfo<std::string>& one) {
  std::string name = one.param;
  std::erase_if(name, [](char c) { return std::isalnum(static_cast<unsigned char>(c)) == 0; });
  return name;
}

INSTANTIATE_TEST_SUITE_P(Cases, PeerPlans, ::testing::ValuesIn(names_of_cases()), name_of_test);

TEST(RivalPlans, MoreThanThirtyCanBeCompared) {
  if (!std::filesystem::exists(kCases)) GTEST_SKIP() << kCases << " is not here";
  std::size_t rivals = 0;
  for (const std::string& name : names_of_cases())
    rivals += rivals_of(read_case(name, trainer_execution_model())).size();
  EXPECT_GT(rivals, 30U);
}

}  // namespace
}  // namespace sailor
