// The commands of the command line: input files, output, errors and exit statuses.
#include "cli/commands.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <sstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>
#include <yaml-cpp/yaml.h>

#include "cli/render.h"

namespace sailor::cli {
namespace {

using ::testing::HasSubstr;

const std::string kJob = std::string(SAILOR_SOURCE_DIR) + "/crds/examples/quickstart.yaml";

class Commands : public ::testing::Test {
 protected:
  void SetUp() override {
    folder_ = std::filesystem::path(::testing::TempDir()) /
              ("sailor-commands-" + std::string(::testing::UnitTest::GetInstance()->current_test_info()->name()));
    std::filesystem::create_directories(folder_);
    cluster_ =
        write("cluster.yaml",
              "apiVersion: sailor.dev/v1alpha1\nkind: GpuPool\nmetadata: {name: l4}\n"
              "spec: {region: us-central1, zone: us-central1-a, accelerator: nvidia-l4, gpusPerNode: 2, nodes: 2, "
              "provisioning: Spot, pricePerGpuHour: \"0.28\"}\n");
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  std::string write(const std::string& name, const std::string& text) {
    std::ofstream(folder_ / name) << text;
    return (folder_ / name).string();
  }

  std::string plan_text(Format format) {
    std::ostringstream out;
    PlanArguments arguments{.inputs = {kJob, cluster_, ""}, .format = format};
    const auto done = run_plan(arguments, out);
    EXPECT_TRUE(done) << done.error().message;
    return out.str();
  }

  std::filesystem::path folder_;
  std::string cluster_;
};

TEST_F(Commands, PlanAsJsonHasTheDocumentedFields) {
  const auto json = nlohmann::json::parse(plan_text(Format::kJson));
  EXPECT_EQ(json.at("plan").at("model"), "quickstart");
  EXPECT_EQ(json.at("plan").at("globalBatchSize"), 32);
  EXPECT_TRUE(json.at("estimate").at("fits"));
  for (const char* field : {"iterationSeconds", "throughput", "tokensPerSecond", "costPerIteration", "costPerHour",
                            "gpus", "peakMemoryBytes", "violations", "breakdown"}) {
    EXPECT_TRUE(json.at("estimate").contains(field)) << field;
  }
  EXPECT_LE(json.at("bound").at("ratio"), 1.0);
  for (const char* field : {"seconds", "candidates", "prunedByMemory", "prunedByBound"}) {
    EXPECT_TRUE(json.at("search").contains(field)) << field;
  }
  EXPECT_FALSE(json.at("alternatives").empty());
}

TEST_F(Commands, YamlHasTheSameContentAsJson) {
  const auto json = nlohmann::json::parse(plan_text(Format::kJson));
  const YAML::Node yaml = YAML::Load(plan_text(Format::kYaml));
  EXPECT_EQ(yaml["plan"]["stages"].size(), json.at("plan").at("stages").size());
  EXPECT_EQ(yaml["estimate"]["iterationSeconds"].as<double>(),
            json.at("estimate").at("iterationSeconds").get<double>());
}

TEST_F(Commands, SimulateReadsTheOutputOfPlanAndAgreesWithIt) {
  const auto planned = nlohmann::json::parse(plan_text(Format::kJson));
  for (const auto& content : {planned, planned.at("plan")}) {  // other keys are ignored; a bare plan does too
    SimulateArguments arguments{{kJob, cluster_, ""}, write("plan.json", content.dump()), "", Format::kJson};
    std::ostringstream out;
    ASSERT_TRUE(run_simulate(arguments, out));
    EXPECT_EQ(nlohmann::json::parse(out.str()).at("estimate"), planned.at("estimate"));
  }
}

TEST_F(Commands, TheTimelineHasEveryPassOfEveryReplica) {
  const auto plan = nlohmann::json::parse(plan_text(Format::kJson)).at("plan");
  const std::string trace = (folder_ / "trace.json").string();
  std::ostringstream out;
  const auto done = run_simulate({{kJob, cluster_, ""}, write("plan.json", plan.dump()), trace, Format::kJson}, out);
  ASSERT_TRUE(done) << done.error().message;
  std::ifstream stream(trace);
  int passes = 0;
  const auto written = nlohmann::json::parse(stream);
  for (const auto& event : written.at("traceEvents")) {
    const std::string name = event.at("name");
    if (name.starts_with("forward") || name.starts_with("backward")) ++passes;
  }
  const int microbatches = plan.at("globalBatchSize").get<int>() / plan.at("microbatchSize").get<int>();
  EXPECT_EQ(passes, 2 * microbatches * static_cast<int>(plan.at("stages").size()));
}

TEST_F(Commands, ATimelineThatCannotBeWrittenIsBadInput) {
  const auto plan = nlohmann::json::parse(plan_text(Format::kJson)).at("plan");
  std::ostringstream out;
  const auto done = run_simulate(
      {{kJob, cluster_, ""}, write("plan.json", plan.dump()), (folder_ / "none/trace.json").string(), Format::kJson},
      out);
  ASSERT_FALSE(done);
  EXPECT_EQ(exit_status(done.error()), 2);
  EXPECT_EQ(out.str(), "");
}

TEST_F(Commands, APlanThatDoesNotFitIsAResult) {
  auto plan = nlohmann::json::parse(plan_text(Format::kJson)).at("plan");
  auto& replicas = plan.at("stages").at(0).at("replicas");
  const int microbatches = replicas.at(0).at("microbatches").get<int>();
  ASSERT_GE(microbatches, 1);
  replicas.at(0)["tensorParallel"] = 64;
  std::ostringstream out;
  SimulateArguments arguments{{kJob, cluster_, ""}, write("plan.json", plan.dump()), "", Format::kJson};
  const auto done = run_simulate(arguments, out);
  ASSERT_TRUE(done) << done.error().message;
  EXPECT_FALSE(nlohmann::json::parse(out.str()).at("estimate").at("fits"));
}

TEST_F(Commands, APlanWithoutSomeLayerIsBadInput) {
  auto plan = nlohmann::json::parse(plan_text(Format::kJson)).at("plan");
  plan.at("stages").back().at("layers") = {0, 1};
  std::ostringstream out;
  SimulateArguments arguments{{kJob, cluster_, ""}, write("plan.json", plan.dump()), "", Format::kTable};
  const auto done = run_simulate(arguments, out);
  ASSERT_FALSE(done);
  EXPECT_EQ(exit_status(done.error()), 2);
  const auto last = std::to_string(plan.at("stages").size() - 1);
  EXPECT_THAT(done.error().message, HasSubstr("plan.stages[" + last + "].layers"));
}

TEST_F(Commands, NoFeasiblePlanIsStatusThree) {
  std::ofstream(cluster_) << "apiVersion: sailor.dev/v1alpha1\nkind: GpuPool\nmetadata: {name: a}\nspec: {region: r-1, "
                             "zone: r-1-a, accelerator: nvidia-l4, gpusPerNode: 1, nodes: 0, provisioning: Spot}\n";
  std::ostringstream out;
  const auto done = run_plan({.inputs = {kJob, cluster_, ""}}, out);
  ASSERT_FALSE(done);
  EXPECT_EQ(exit_status(done.error()), 3);
  EXPECT_EQ(out.str(), "");
}

TEST_F(Commands, ValidateReportsEveryErrorOfEveryFile) {
  const std::string wrong = write("wrong.yaml",
                                  "apiVersion: sailor.dev/v1alpha1\nkind: GpuPool\nmetadata: {name: a}\n"
                                  "spec:\n  zone: us-central1-a\n  region: us-central1\n  gpus: 4\n"
                                  "  accelerator: nvidia-l4\n  provisioning: Spot\n");
  std::ostringstream out;
  std::ostringstream errors;
  const auto done = run_validate({cluster_, wrong}, out, errors);
  ASSERT_FALSE(done);
  EXPECT_EQ(done.error().message, "2 errors found");
  EXPECT_EQ(exit_status(done.error()), 2);
  EXPECT_EQ(out.str(), cluster_ + ": valid\n");
  EXPECT_THAT(errors.str(), HasSubstr(wrong + ":7: spec.gpus: is not a field here"));
  EXPECT_THAT(errors.str(), HasSubstr(wrong + ":4: spec.gpusPerNode: is missing"));
}

TEST_F(Commands, RenderPrintsOnePodForEachNodeThatThePlanUses) {
  std::ostringstream out;
  RenderArguments arguments{
      .inputs = {kJob, cluster_, ""}, .trainer_image = "example/trainer:1", .format = Format::kJson};
  std::ostringstream notes;
  ASSERT_TRUE(run_render(arguments, out, notes));
  EXPECT_EQ(notes.str(), "");
  const auto pods = nlohmann::json::parse(out.str()).at("items");
  ASSERT_GE(pods.size(), 1U);
  for (const auto& pod : pods) {
    EXPECT_EQ(pod.at("spec").at("containers").at(0).at("image"), "example/trainer:1");
    EXPECT_EQ(pod.at("spec").at("nodeSelector").at("cloud.google.com/gke-accelerator"), "nvidia-l4");
    const auto& volumes = pod.at("spec").at("volumes");
    EXPECT_TRUE(std::ranges::any_of(volumes, [](const auto& volume) { return volume.at("name") == "checkpoints"; }))
        << "from the job's podTemplate";
  }
}

TEST_F(Commands, RenderAsksForTheLabelsThatAPoolStates) {
  const std::string pool = write("pool.yaml", R"(apiVersion: sailor.dev/v1alpha1
kind: GpuPool
metadata: {name: reserved}
spec:
  region: us-central1
  zone: us-central1-a
  accelerator: nvidia-l4
  provisioning: OnDemand
  gpusPerNode: 2
  nodes: 8
  nodeSelector: {cloud.google.com/reservation-name: training}
)");
  std::ostringstream out;
  std::ostringstream notes;
  RenderArguments arguments{.inputs = {kJob, pool, ""}, .trainer_image = "t", .format = Format::kJson};
  const auto done = run_render(arguments, out, notes);
  ASSERT_TRUE(done) << done.error().message;
  const auto pods = nlohmann::json::parse(out.str());
  for (const auto& pod : pods.at("items")) {
    const auto& selector = pod.at("spec").at("nodeSelector");
    EXPECT_EQ(selector.at("cloud.google.com/reservation-name"), "training");
    EXPECT_EQ(selector.at("topology.kubernetes.io/zone"), "us-central1-a");
  }
}

TEST_F(Commands, EveryExampleIsValid) {
  for (const auto& entry : std::filesystem::directory_iterator(std::string(SAILOR_SOURCE_DIR) + "/crds/examples")) {
    if (entry.path().extension() != ".yaml") continue;
    std::ostringstream out;
    std::ostringstream errors;
    EXPECT_TRUE(run_validate({entry.path().string()}, out, errors)) << errors.str();
  }
}

}  // namespace
}  // namespace sailor::cli
