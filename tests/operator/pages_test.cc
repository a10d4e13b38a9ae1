// The operator's pages: what they say of jobs and pools, that they are self-contained, and at which paths they are.
#include <sstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "operator/pages/fleet_page.h"
#include "operator/pages/job_page.h"
#include "operator/pages/page_routes.h"
#include "tests/operator/small_plan.h"
#include "tests/report/xml.h"

namespace sailor::testing {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

const Time kNow = parse_rfc3339("2026-11-27T12:00:00Z").value();

kube::Json condition(const std::string& type, const std::string& reason, const std::string& message) {
  return {{"type", type},
          {"status", "True"},
          {"reason", reason},
          {"message", message},
          {"lastTransitionTime", "2026-11-27T11:58:00Z"}};
}

kube::Json running_status() {
  return {{"state", "Running"},
          {"reason", "Training"},
          {"conditions", {condition("Running", "Training", "The job trains.")}},
          {"plan",
           {{"generation", 3},
            {"totalGpus", 2},
            {"estimate", {{"tokensPerSecond", 1000}, {"costPerHour", "1.9"}, {"iterationSeconds", "2"}}}}},
          {"progress",
           {{"step", 100},
            {"totalSteps", 400},
            {"loss", "3.5"},
            {"firstLoss", "9.1"},
            {"tokens", 100'000},
            {"tokensPerSecond", 800},
            {"lastCheckpointStep", 90},
            {"dollarsSpent", "5"},
            {"dollarsPerHour", "1.4"},
            {"trafficDollars", "0.5"},
            {"savedDollars", "7"},
            {"elapsedSeconds", "200"},
            {"usefulSeconds", "150"},
            {"lostSeconds", {{"waiting", "30"}, {"rescaling", "20"}}}}}};
}

JobInCluster a_job(const std::string& name, const kube::Json& status) {
  return job_in_cluster({{"metadata", {{"namespace", "team"}, {"name", name}}}, {"status", status}});
}

NodeView a_node(const std::string& name, int gpus, int used) {
  NodeView node;
  node.name = name;
  node.uid = name + "-uid";
  node.pool = kPool;
  node.gpus = gpus;
  node.is_ready = true;
  if (used > 0) node.used["some-job"] = used;
  return node;
}

ClusterView a_cluster() {
  ClusterView cluster;
  PoolDeclaration pool;
  pool.name = "l4-spot";
  pool.key = kPool;
  pool.gpus_per_node = 4;
  pool.max_nodes = 8;
  pool.price_per_gpu = DollarsPerHour(0.7);
  cluster.pools.emplace(kPool, pool);
  cluster.nodes.push_back(a_node("node-a", 4, 2));
  cluster.nodes.push_back(a_node("node-b", 4, 0));
  return cluster;
}

GenerationRecord a_record(std::int64_t generation) {
  GenerationRecord record;
  record.generation = generation;
  record.plan = plan_of({1, 1});
  record.reason = Reason::kNodePreempted;
  record.message = "node-c was about to be terminated.";
  record.decided_at = kNow;
  record.summary = {.iteration_seconds = 2,
                    .tokens_per_second = 1000,
                    .gpu_cost_per_iteration = 0.002,
                    .traffic_cost_per_iteration = 0.001,
                    .bound_ratio = 0.93,
                    .alternatives = {{.iteration_seconds = 2.5, .cost_per_iteration = 0.0015, .gpus = 1}}};
  record.placement.slots = {{"job-3-0", kPool, "node-a", "node-a-uid", 2}};
  record.placement.replicas = {{0, 0, 0, 0}, {0, 1, 0, 1}};
  return record;
}

// Each stretch of white space as one space.
std::string in_one_line(const std::string& text) {
  std::istringstream words(text);
  std::string line;
  for (std::string word; words >> word;) line += (line.empty() ? "" : " ") + word;
  return line;
}

// The text of a page that is well-formed, refers to nothing outside of itself and has no script.
std::string text_of(const std::string& page) {
  const auto root = parse_xml(page.substr(page.find('\n') + 1));
  if (root == nullptr) return "";
  std::string text;
  root->visit([&](const XmlNode& node) {
    EXPECT_NE(node.tag, "script");
    EXPECT_NE(node.tag, "link");
    for (const auto& [name, value] : node.attributes) {
      const bool refers = name == "href" || name == "src";
      EXPECT_FALSE(refers && value.find(':') != std::string::npos) << name << " refers to " << value;
    }
    if (node.tag == "main") text = in_one_line(node.whole_text());
  });
  return text;
}

std::string page_text(const ShownJob& view) { return text_of(job_page(view, kNow)); }

TEST(FleetPage, ShowsEachJobWithALinkToItsPageThatWorksBehindAPrefix) {
  const std::string page = fleet_page({{a_job("llama", running_status()), a_job("next", {})}, a_cluster()}, kNow);
  EXPECT_THAT(page, HasSubstr(R"(<a href="jobs/team/llama">team/llama</a>)"));
  EXPECT_THAT(text_of(page), AllOf(HasSubstr("Running"), HasSubstr("100 of 400"), HasSubstr("80 %"), HasSubstr("75 %"),
                                   HasSubstr("not seen by an operator yet")));
}

TEST(FleetPage, SumsTheGpusAndPricesOfJobsThatHoldGpusOnly) {
  kube::Json suspended = running_status();
  suspended["conditions"] = kube::Json::array({condition("Suspended", "Suspended", "")});
  const ShownFleet view{{a_job("a", running_status()), a_job("b", running_status()), a_job("c", suspended)},
                        a_cluster()};
  EXPECT_THAT(text_of(fleet_page(view, kNow)),
              AllOf(HasSubstr("GPUs of jobs 4 the cluster has 8"), HasSubstr("$2.80"), HasSubstr("$15")));
}

TEST(FleetPage, ShowsThePoolsWithTheirUsedAndFreeGpus) {
  EXPECT_THAT(text_of(fleet_page({{}, a_cluster()}, kNow)),
              AllOf(HasSubstr("There are no TrainingJobs"),
                    HasSubstr("nvidia-l4 in us-central1-a, spot 2 8 2 6 – $0.7 l4-spot; grows to 8 nodes")));
}

TEST(JobPage, SaysWhatTheJobDoesHowFastAndWhatItCosts) {
  EXPECT_THAT(page_text({a_job("llama", running_status()), a_record(3), a_cluster()}),
              AllOf(HasSubstr("Training (for 2 min): The job trains."), HasSubstr("100 of 400"),
                    HasSubstr("80 % of the plan's 1,000"), HasSubstr("$50.00 per million tokens"),
                    HasSubstr("$4.50 for GPUs and $0.5 for traffic")));
}

TEST(JobPage, DividesTheTimeByCause) {
  EXPECT_THAT(page_text({a_job("llama", running_status()), {}, {}}),
              AllOf(HasSubstr("steps that count 2.5 min (75 %)"), HasSubstr("waiting 30 s (15 %)"),
                    HasSubstr("rescaling 20 s (10 %)"), Not(HasSubstr("planning 0"))));
}

TEST(JobPage, ShowsThePlanAsStagesOverZonesAndWhyItWasMade) {
  EXPECT_THAT(page_text({a_job("llama", running_status()), a_record(3), a_cluster()}),
              AllOf(HasSubstr("Stage Layers us-central1-a"),
                    HasSubstr("0 0-5 2 replicas of 1 nvidia-l4, spot, with 1 microbatch each"),
                    HasSubstr("node-c was about to be terminated"), HasSubstr("It reaches 93 % of a speed"),
                    HasSubstr("job-3-0 node-a")));
}

TEST(JobPage, ShowsThePlanThatTrainsWhileAnotherIsPrepared) {
  GenerationRecord record = a_record(4);
  record.message = "A better plan has become possible.";
  record.running = a_record(3);
  EXPECT_THAT(page_text({a_job("llama", running_status()), record, a_cluster()}),
              AllOf(HasSubstr("Plan 3 was made"), HasSubstr("Plan 4 is being prepared"), Not(HasSubstr("Plan 4 was"))));
}

TEST(JobPage, ComparesThePlanWithOthersThatTheJobCouldHave) {
  ShownJob view{a_job("llama", running_status()), a_record(3), a_cluster()};
  EXPECT_THAT(page_text(view), AllOf(HasSubstr("the plan in use 2 s 1,000 $5.40 $1.50 2"),
                                     HasSubstr("20 % slower, 50 % cheaper 2.5 s 800 $2.16 $0.75 1")));
  view.record->summary.alternatives = {{.iteration_seconds = 2.005, .cost_per_iteration = 0.006, .gpus = 2}};
  EXPECT_THAT(page_text(view), HasSubstr("as fast, 100 % dearer 2"));
  view.record->summary.gpu_cost_per_iteration = view.record->summary.traffic_cost_per_iteration = 0;
  EXPECT_THAT(page_text(view), HasSubstr("as fast 2")) << "nothing has a price";
  view.record->summary.alternatives.clear();
  EXPECT_THAT(page_text(view), HasSubstr("No other plan is known that is faster or cheaper."));
}

TEST(JobPage, ShowsNoPlanOfAJobThatHoldsNoGpus) {
  kube::Json status = running_status();
  status["conditions"] = kube::Json::array({condition("Suspended", "Suspended", "")});
  EXPECT_THAT(page_text({a_job("llama", status), a_record(3), a_cluster()}), HasSubstr("no plan that holds GPUs"));
  EXPECT_THAT(page_text({a_job("new", {}), {}, {}}), HasSubstr("not seen by an operator yet"));
}

TEST(JobPage, NamesTheNodesAndPoolsThatHoldTheJobBack) {
  kube::Json status = running_status();
  status["unpricedPools"] = {"us-east1-b/nvidia-x9/spot"};
  GenerationRecord record = a_record(3);
  record.slow_gpus = {{.node_uid = "node-a-uid", .gpu = 1, .slowdown = 2.5, .since = kNow}};
  record.quarantined_nodes = {{.node_uid = "node-b-uid", .until = kNow + std::chrono::minutes(1)},
                              {.node_uid = "gone-uid", .until = kNow - std::chrono::minutes(1)}};
  EXPECT_THAT(page_text({a_job("llama", status), record, a_cluster()}),
              AllOf(HasSubstr("GPU 1 of node-a takes 2.5 times"), HasSubstr("does not use node-b before"),
                    HasSubstr("us-east1-b/nvidia-x9/spot"), HasSubstr("80 % of the speed that the planner expects"),
                    Not(HasSubstr("a node that is gone"))));
}

TEST(JobPage, TextOfOthersNeverBecomesMarkup) {
  kube::Json status = running_status();
  status["conditions"] = kube::Json::array({condition("Running", "Training", "<script>alert(1)</script> & \x01")});
  EXPECT_THAT(page_text({a_job("llama", status), {}, {}}), HasSubstr("<script>alert(1)</script> &"));
}

class PageRoutes : public ::testing::Test {
 protected:
  [[nodiscard]] net::HttpAnswer get(const std::string& path) const {
    const std::string none;
    for (const net::Route& route : page_routes(caches, sources)) {
      if (route.path == path || (route.path == "/jobs/*" && path.starts_with("/jobs/")))
        return route.handle({path, none});
    }
    return {500};
  }
  void fill(const std::vector<kube::Json>& jobs) {
    for (kube::Store* store :
         {&caches.pods, &caches.foreign_pods, &caches.nodes, &caches.pools, &caches.profiles, &caches.priority_classes,
          &caches.records, &caches.plan_maps, &caches.scale_ups, &caches.karpenter_words, &caches.start_failures})
      store->replace({});
    caches.jobs.replace(jobs);
  }

  Caches caches;
  PageSources sources{[] { return a_cluster(); }, [](const JobKey&, const std::string&) { return a_record(3); },
                      [] { return kNow; }};
};

TEST_F(PageRoutes, SayThatTheOperatorIsNotReadyUntilItKnowsTheCluster) {
  EXPECT_EQ(get("/").status, 503);
  fill({});
  EXPECT_EQ(get("/").status, 200);
}

TEST_F(PageRoutes, ShowAJobByNamespaceAndNameAndDoNotFindAnother) {
  fill({{{"metadata", {{"namespace", "team"}, {"name", "llama"}}}, {"status", running_status()}}});
  EXPECT_THAT(text_of(get("/").body), HasSubstr("team/llama"));
  const net::HttpAnswer job = get("/jobs/team/llama");
  EXPECT_EQ(job.content_type, "text/html; charset=utf-8");
  EXPECT_THAT(text_of(job.body), HasSubstr("Plan 3 was made"));
  for (const char* path : {"/jobs/team/other", "/jobs/", "/jobs/team", "/jobs/team/llama/x", "/jobs/<b>/&"}) {
    const net::HttpAnswer missing = get(path);
    EXPECT_EQ(missing.status, 404) << path;
    EXPECT_THAT(text_of(missing.body), HasSubstr("There is no TrainingJob")) << path;
  }
}

}  // namespace
}  // namespace sailor::testing
