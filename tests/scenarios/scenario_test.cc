// Runs all scenarios under tests/scenarios/planner. Each has a job, a cluster, and the answer that the planner must
// give. A scenario is JSON: {"job", "pools", "network"?, "space"?, "expect": {"gpus", "stages", "microbatchSize",
// "iterationSeconds", "costPerIteration"} or {"error"}}. Times and costs hold to a millionth; a change of a formula
// shows here, on purpose.
#include <filesystem>
#include <fstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "core/manifest/manifest.h"
#include "planner/planner.h"
#include "simulator/simulator.h"

namespace sailor {
namespace {

const std::filesystem::path kFolder = std::filesystem::path(SAILOR_SOURCE_DIR) / "tests/scenarios/planner";

std::vector<std::string> scenarios() {
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(kFolder)) {
    if (entry.path().extension() == ".json") names.push_back(entry.path().stem().string());
  }
  std::ranges::sort(names);
  return names;
}

ClusterState cluster_of(const Json& scenario) {
  ClusterState cluster;
  for (const Json& spec : scenario.at("pools")) {
    const auto declaration = pool_from_manifest({{"metadata", {{"name", "pool"}}}, {"spec", spec}});
    EXPECT_TRUE(declaration) << declaration.error().message;
    cluster.pools.push_back(pool_of(*declaration, declaration->nodes.value()));
  }
  return normalized(std::move(cluster));
}

Result<PlannedJob> answer(const Json& scenario) {
  const auto job = job_from_manifest({{"metadata", {{"name", "job"}}}, {"spec", scenario.at("job")}});
  if (!job) return tl::unexpected(job.error());
  const NetworkModel network = scenario.contains("network")
                                   ? network_from_manifest({{"spec", scenario.at("network")}}).value()
                                   : google_cloud_network();
  PlanOptions options;
  options.space = scenario.value("space", "flow") == "paper" ? PlanSpace::kPaper : PlanSpace::kFlow;
  const Simulator simulator({}, network);
  return Planner(simulator).plan(*job, cluster_of(scenario), options, {});
}

void expect_near(const Json& expected, const char* field, double got) {
  if (!expected.contains(field)) return;
  const double value = expected.at(field).get<double>();
  EXPECT_NEAR(got, value, value * 1e-6) << field;
}

class Scenario : public ::testing::TestWithParam<std::string> {};

TEST_P(Scenario, IsAnsweredAsExpected) {
  std::ifstream stream(kFolder / (GetParam() + ".json"));
  const Json scenario = Json::parse(stream);
  const Json& expected = scenario.at("expect");
  const auto planned = answer(scenario);
  if (expected.contains("error")) {
    ASSERT_FALSE(planned);
    EXPECT_THAT(planned.error().message, ::testing::HasSubstr(expected.at("error").get<std::string>()));
    return;
  }
  ASSERT_TRUE(planned) << planned.error().message;
  Json gpus = Json::object();
  for (const auto& [pool, count] : gpus_by_pool(planned->plan)) gpus[to_string(pool)] = count;
  EXPECT_EQ(gpus, expected.at("gpus"));
  EXPECT_EQ(static_cast<int>(planned->plan.stages.size()), expected.at("stages"));
  EXPECT_EQ(planned->plan.microbatch_size, expected.at("microbatchSize"));
  expect_near(expected, "iterationSeconds", planned->estimate.iteration.value());
  expect_near(expected, "costPerIteration", planned->estimate.cost_per_iteration().value());
}

INSTANTIATE_TEST_SUITE_P(Planner, Scenario, ::testing::ValuesIn(scenarios()), [](const auto& param) {
  std::string name = param.param;
  std::ranges::replace(name, '-', '_');
  return name;
});

}  // namespace
}  // namespace sailor
