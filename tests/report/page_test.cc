// Pages are well-formed, complete, self-contained and reproducible.
#include "report/page.h"

#include <optional>
#include <set>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "report/compared_plans.h"
#include "report/numbers.h"
#include "report/replay_page.h"
#include "simulator/simulator.h"
#include "tests/report/xml.h"
#include "tests/support/builders.h"

namespace sailor::report {
namespace {

using sailor::testing::a_cluster;
using sailor::testing::a_job;
using sailor::testing::a_key;
using sailor::testing::an_even_plan;
using sailor::testing::parse_xml;
using sailor::testing::XmlNode;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

const std::string kZone = "us-central1-a";

// The data of a page.
struct PageData {
  JobSpec job;
  ClusterState cluster;
  Plan plan;
  Estimate estimate;
  PlanDetails details;
  EstimateBasis basis;

  [[nodiscard]] std::string page() const { return simulation_page({job, cluster, plan, estimate, details, basis}); }
};

PageData page_data(JobSpec job, ClusterState cluster, Plan plan) {
  const Simulator simulator;
  Estimate estimate = simulator.estimate(job, cluster, plan).value();
  PlanDetails details = simulator.details(job, cluster, plan).value();
  EstimateBasis basis = simulator.basis_of(job, cluster, plan).value();
  return {std::move(job),      std::move(cluster), std::move(plan),
          std::move(estimate), std::move(details), std::move(basis)};
}

PageData two_stages() {
  const JobSpec job = a_job().batch(16);
  const PoolKey pool = a_key(kZone, "nvidia-l4");
  return page_data(job, a_cluster().pool(kZone, "nvidia-l4", 4, 2).price(0.7), an_even_plan(job, pool, 2, 2, 1));
}

// 64 stages of 24 replicas each. Every third replica is in another zone.
PageData many_stages() {
  const JobSpec job = a_job().blocks(62).batch(256);
  const ClusterState cluster =
      a_cluster().pool(kZone, "nvidia-l4", 2000, 2).price(0.7).pool("us-central1-b", "nvidia-l4", 2000, 2).price(0.7);
  Plan plan = an_even_plan(job, a_key(kZone, "nvidia-l4"), 64, 24, 1);
  for (Stage& stage : plan.stages) {
    for (std::size_t r = 0; r < stage.replicas.size(); r += 3) stage.replicas[r].pool.zone = Zone("us-central1-b");
  }
  return page_data(job, cluster, plan);
}

int with_class(const XmlNode& root, const std::string& name) {
  int found = 0;
  root.visit([&](const XmlNode& node) { found += node.has_class(name) ? 1 : 0; });
  return found;
}

// The label of a row starts with the number of its stage: "3 · ...".
std::set<int> stages_labelled(const XmlNode& root) {
  std::set<int> stages;
  root.visit([&](const XmlNode& node) {
    if (node.tag == "text" && node.text.find(" · ") != std::string::npos && std::isdigit(node.text.front()) != 0) {
      stages.insert(std::stoi(node.text));
    }
  });
  return stages;
}

TEST(Page, IsOneDocumentWithoutScriptsAndExternalResources) {
  for (const PageData& each : {two_stages(), many_stages()}) {
    const auto root = parse_xml(each.page());
    ASSERT_NE(root, nullptr);
    for (const char* tag : {"script", "link", "img", "iframe", "object"}) EXPECT_EQ(root->count(tag), 0) << tag;
    root->visit([](const XmlNode& node) {
      EXPECT_FALSE(node.attributes.contains("src") || node.attributes.contains("href")) << node.tag;
    });
    EXPECT_THAT(root->whole_text(), Not(HasSubstr("url("))) << "in the style sheet";
  }
}

TEST(Page, EveryPassOfASmallPlanHasATooltip) {
  const PageData small = two_stages();
  const auto root = parse_xml(small.page());
  ASSERT_NE(root, nullptr);
  std::multiset<std::string> tooltips;
  root->visit([&](const XmlNode& node) {
    if (node.tag == "title") tooltips.insert(node.text.substr(0, node.text.find(':')));
  });
  for (int microbatch = 0; microbatch < 16; ++microbatch) {
    EXPECT_GE(tooltips.count("forward of " + std::to_string(microbatch)), 2U) << "once in each stage";
    EXPECT_GE(tooltips.count("backward of " + std::to_string(microbatch)), 2U);
  }
}

TEST(Page, EveryStageOfALargePlanAppears) {
  const auto root = parse_xml(many_stages().page());
  ASSERT_NE(root, nullptr);
  const std::set<int> stages = stages_labelled(*root);
  ASSERT_EQ(stages.size(), 64U);
  EXPECT_EQ(*stages.rbegin(), 63);
}

TEST(Page, ALargePlanIsDrawnInGroupsAndThePageSaysSo) {
  const std::string page = many_stages().page();
  EXPECT_LT(page.size(), 1'500'000U);
  EXPECT_THAT(page, HasSubstr("of 1,536"));
  EXPECT_THAT(two_stages().page(), HasSubstr("Each row is a replica."));
}

TEST(Page, NamesNeverBecomeMarkup) {
  PageData hostile = two_stages();
  const std::string name = "</title><script>alert(1)</script>\x02";
  hostile.job.key.name = name;
  hostile.plan.model = name;
  hostile.estimate.notes.push_back(name);
  hostile.estimate.violations.push_back(name);
  const std::string page = hostile.page();
  EXPECT_THAT(page, Not(HasSubstr("<script")));
  const auto root = parse_xml(page);
  ASSERT_NE(root, nullptr);
  EXPECT_EQ(root->count("script"), 0);
  EXPECT_THAT(root->whole_text(), HasSubstr("</title><script>alert(1)</script>"));
}

TEST(Page, EqualInputGivesIdenticalPages) {
  EXPECT_EQ(two_stages().page(), two_stages().page());
  EXPECT_EQ(many_stages().page(), many_stages().page());
}

TEST(Page, AStageThatDoesNotFitIsNamedAndMarked) {
  const JobSpec job = a_job().model("opt-30b").batch(4).microbatch_sizes({1}).sequence_length(2048);
  const PageData large =
      page_data(job, a_cluster().pool(kZone, "nvidia-l4", 4, 2), an_even_plan(job, a_key(kZone, "nvidia-l4"), 2, 2, 1));
  ASSERT_FALSE(large.estimate.fits());
  const auto root = parse_xml(large.page());
  ASSERT_NE(root, nullptr);
  EXPECT_EQ(with_class(*root, "bad"), 1);
  EXPECT_THAT(root->whole_text(), HasSubstr(large.estimate.violations.front()));
  EXPECT_THAT(root->whole_text(), HasSubstr(" too much"));
}

TEST(Page, EveryStageHasTheLimitOfItsGpuMarked) {
  const PageData small = two_stages();
  const auto root = parse_xml(small.page());
  ASSERT_NE(root, nullptr);
  EXPECT_EQ(with_class(*root, "limit"), 2) << "one mark a stage";
}

TEST(Page, TheCostsAndTheMapNameEveryPoolAndZone) {
  const PageData large = many_stages();
  const auto root = parse_xml(large.page());
  ASSERT_NE(root, nullptr);
  for (const PoolCharge& charge : large.details.charges) {
    EXPECT_THAT(root->whole_text(), HasSubstr(pool_text(charge.pool)));
  }
  EXPECT_EQ(with_class(*root, "zone"), 2);
  EXPECT_EQ(with_class(*root, "paid-link"), 1) << "both directions are one line";
}

TEST(SimulationPage, SaysWhatTheTimesRestOn) {
  EXPECT_THAT(two_stages().page(), HasSubstr("The times rest on the execution model &quot;trainer&quot;"));
}

TEST(PlanningPage, TheChosenPlanIsMarkedAmongTheOthers) {
  const JobSpec job = a_job().batch(32);
  const ClusterState cluster =
      a_cluster().pool(kZone, "nvidia-l4", 4, 2).price(0.7).pool(kZone, "nvidia-tesla-t4", 4, 2).price(0.2);
  const Simulator simulator;
  const PlanOptions options;
  const PlannedJob planned = Planner(simulator).plan(job, cluster, options, {}).value();
  const PlanDetails details = simulator.details(job, cluster, planned.plan).value();
  const EstimateBasis basis = simulator.basis_of(job, cluster, planned.plan).value();
  const auto root =
      parse_xml(planning_page({job, cluster, planned.plan, planned.estimate, details, basis}, planned, options));
  ASSERT_NE(root, nullptr);
  EXPECT_EQ(with_class(*root, "chosen"), 1);
  EXPECT_EQ(with_class(*root, "halo"), 1);
  int rows = 0;
  root->visit([&](const XmlNode& node) {
    if (node.tag == "tr" && node.children.size() == 9 && node.children.front()->tag == "td") ++rows;
  });
  EXPECT_EQ(rows, static_cast<int>(compared_plans(job, planned, options).size()));
}

TEST(ReplayPage, EveryPeriodIsDrawnAndListed) {
  ReplayReport report;
  for (int i = 0; i < 5; ++i) {
    ReplayPeriod period{.from = Seconds(600.0 * i), .to = Seconds(600.0 * (i + 1)), .available_gpus = 10 * i};
    period.used_gpus = 8 * i;  // waits in the first
    period.plan = "plan-" + std::to_string(i);
    report.periods.push_back(period);
  }
  report.end = Seconds(3000);
  const JobSpec job = a_job().named("<b>bold</b>");
  const ReplayResults results{.reports = {{ReplayPolicy::kLive, report}}, .notes = {"Drawn with seed 1."}};
  const std::string page = replay_page(job, results);
  EXPECT_EQ(page, replay_page(job, results));
  EXPECT_THAT(page, HasSubstr("Drawn with seed 1."));
  const auto root = parse_xml(page);
  ASSERT_NE(root, nullptr);
  EXPECT_EQ(root->count("b"), 0);
  for (int i = 0; i < 5; ++i) EXPECT_THAT(root->whole_text(), HasSubstr("plan-" + std::to_string(i)));
  EXPECT_THAT(root->whole_text(), HasSubstr("waits"));
  EXPECT_EQ(root->count("path"), 3) << "available GPUs, used GPUs, throughput";
}

TEST(ReplayPage, AnEmptyReplayIsAValidPage) {
  EXPECT_NE(parse_xml(replay_page(a_job(), {.reports = {{ReplayPolicy::kStatic, {}}}, .notes = {}})), nullptr);
}

TEST(ReplayPage, SeveralPoliciesAreComparedWithTheOracle) {
  ReplayReport report;
  report.steps = 50;
  report.end = Seconds(100);
  report.periods.push_back({.from = Seconds(0), .to = Seconds(100), .used_gpus = 4, .throughput = 0.5});
  report.useful = Seconds(60);
  report.lost[LostTime::kStarting] = Seconds(40);
  ReplayReport most = report;
  most.steps = 100;
  const std::string page =
      replay_page(a_job(), {.reports = {{ReplayPolicy::kLive, report}, {ReplayPolicy::kOracle, most}}, .notes = {}});
  const auto root = parse_xml(page);
  ASSERT_NE(root, nullptr);
  EXPECT_THAT(root->whole_text(), HasSubstr("50 %"));
  EXPECT_THAT(root->whole_text(), HasSubstr("starting: 40 s"));
  EXPECT_EQ(root->count("path"), 4) << "two curves of steps, and available and used GPUs";
}

// The cells of the column with this heading in the page's first table, from top to bottom.
std::vector<std::string> column(const XmlNode& root, const std::string& heading) {
  std::vector<std::string> cells;
  std::optional<std::size_t> found;
  root.visit([&](const XmlNode& node) {
    if (node.tag != "tr") return;
    for (std::size_t i = 0; i < node.children.size(); ++i) {
      if (!found && node.children[i]->text == heading) found = i;
    }
    if (found && *found < node.children.size()) cells.push_back(node.children[*found]->text);
  });
  return cells;
}

TEST(ReplayPage, SaysForEachPolicyWhenTheJobHasEnded) {
  ReplayReport early;
  early.end = Seconds(60);
  ReplayReport late;
  late.end = Seconds(90);
  const auto root = parse_xml(
      replay_page(a_job(), {.reports = {{ReplayPolicy::kLive, early}, {ReplayPolicy::kOracle, late}}, .notes = {}}));
  ASSERT_NE(root, nullptr);
  EXPECT_THAT(column(*root, "time"), ElementsAre("time", duration(early.end), duration(late.end)));
}

}  // namespace
}  // namespace sailor::report
