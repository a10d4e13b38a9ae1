// The page of the paper's evaluation shows the paper's values beside ours.
#include "report/paper_page.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "report/paper_tables.h"
#include "tests/report/xml.h"

namespace sailor::report {
namespace {

using paper::CaseResult;
using paper::ExperimentResult;
using paper::Outcome;
using paper::PlanResult;
using sailor::testing::parse_xml;
using sailor::testing::XmlNode;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

Outcome outcome(double throughput, double cost, const std::string& violation = "") {
  return {throughput, Dollars(cost), violation};
}

PlanResult recorded(const std::string& planner, double throughput, const std::string& violation = "") {
  return {.planner = planner,
          .recorded = outcome(throughput, 1),
          .by_paper = outcome(throughput, 1, violation),
          .by_trainer = outcome(throughput, 1, violation),
          .search = Seconds(3),
          .gpus = {{{Zone("us-central1-a"), Accelerator("nvidia-tesla-a100"), {}}, 32}}};
}

PlanResult ours(std::string_view planner, double throughput) {
  PlanResult plan = recorded(std::string(planner), throughput);
  plan.recorded.reset();
  return plan;
}

// Figure 7 of the paper, with one case of which one plan does not fit and one has no estimate.
ExperimentResult figure_7(double our_throughput) {
  CaseResult one{"32 A100",
                 {recorded("sailor", 0.2),
                  recorded("amp", 0.16, "stage 0: needs 50 GiB of 40"),
                  recorded("dtfm", 0.16, "stage 0: needs 50 GiB of 40"),
                  ours(paper::kOursPaper, our_throughput),
                  ours(paper::kOursFlow, our_throughput),
                  {.planner = std::string(paper::kOursTrainer), .failure = "no plan fits"}}};
  return paper::compare(*paper::find_experiment("7").value(), {std::move(one)}, {});
}

std::string cell(const TextTable& table, std::size_t row, const std::string& column) {
  for (std::size_t i = 0; i < table.columns.size(); ++i) {
    if (table.columns[i].heading == column) return table.rows.at(row).cells.at(i);
  }
  ADD_FAILURE() << "no column " << column;
  return "";
}

TEST(PaperTables, AClaimShowsThePapersValueTheRecordedOneAndOurs) {
  const TextTable table = claims_table(figure_7(0.24));
  EXPECT_EQ(cell(table, 0, "Claim"), "throughput over DTFM, mean");
  EXPECT_EQ(cell(table, 0, "Paper"), "1.15");
  EXPECT_EQ(cell(table, 0, "Sailor, recorded"), "1.25");
  EXPECT_EQ(cell(table, 0, "Ours, paper"), "1.5");
}

TEST(PaperTables, AColumnWithoutValuesIsLeftOut) {
  for (const Column& column : claims_table(figure_7(0.24)).columns) {
    EXPECT_NE(column.heading, "Our estimate");
    EXPECT_NE(column.heading, "Ours, trainer") << "it has no plan";
  }
}

TEST(PaperTables, AValueThatWasNotPublishedIsADash) {
  EXPECT_EQ(cell(claims_table(figure_7(0.24)), 2, "Claim"), "throughput over AMP, mean");
  EXPECT_EQ(cell(claims_table(figure_7(0.24)), 2, "Paper"), "-");
}

TEST(PaperTables, PlansThatDoNotFitReferToOneNote) {
  const TextTable table = plans_table(figure_7(0.24));
  EXPECT_EQ(cell(table, 0, "Fits"), "yes");
  EXPECT_EQ(cell(table, 1, "Fits"), "no (1)");
  EXPECT_EQ(cell(table, 2, "Fits"), "no (1)");
  EXPECT_EQ(cell(table, 5, "Fits"), "no plan (2)");
  EXPECT_THAT(table.notes, ElementsAre("stage 0: needs 50 GiB of 40", "no plan fits"));
}

TEST(PaperTables, OnlyADifferenceIsExplained) {
  EXPECT_THAT(differences_text(figure_7(0.24)),
              HasSubstr("Differs: throughput over DTFM, mean: 1.5 instead of 1.15. Plans of the others"));
  EXPECT_EQ(differences_text(figure_7(0.184)), "");
}

TEST(PaperTables, TheSummaryHasWhatBothThePaperAndWeHaveAndSaysWhatAgrees) {
  const TextTable table = summary_table({figure_7(0.24)});
  ASSERT_EQ(table.rows.size(), 1U) << "of the other planners there is no value of the paper or no recorded plan";
  EXPECT_THAT(table.rows.front().cells,
              ElementsAre("Figure 7", "throughput over DTFM, mean", "1.15", "1.25", "1.5", "-", "no"));
  EXPECT_EQ(summary_text({figure_7(0.24)}), "0 of 1 compared values agree within a tenth with the paper's.");
}

TEST(PaperTables, SearchTimesAreNotInTheSummary) {
  CaseResult one{"128 A100", {ours(paper::kOursPaper, 1)}};
  const ExperimentResult result = paper::compare(*paper::find_experiment("t1").value(), {std::move(one)}, {});
  EXPECT_TRUE(result.claims.front().is_compared());
  EXPECT_TRUE(summary_table({result}).rows.empty());
}

TEST(PaperPage, IsOneSelfContainedDocumentWithASectionForEachExperiment) {
  const std::string text = paper_page({figure_7(0.24)});
  const auto page = parse_xml(text);
  ASSERT_NE(page, nullptr);
  EXPECT_EQ(page->count("script"), 0);
  EXPECT_EQ(page->count("link"), 0);
  EXPECT_EQ(page->count("section"), 1);
  EXPECT_THAT(text, Not(HasSubstr("http://www.w3.org/1999/xlink")));
  const std::string words = page->whole_text();
  EXPECT_THAT(words, HasSubstr("Figure 7: One type of GPU in one zone"));
  EXPECT_THAT(words, HasSubstr("1.5 instead of 1.15"));
  for (const paper::NotReproduced& one : paper::evaluation().not_reproduced) EXPECT_THAT(words, HasSubstr(one.reason));
}

TEST(PaperPage, EveryPlanWithAnEstimateHasABarForEachModel) {
  const auto page = parse_xml(paper_page({figure_7(0.24)}));
  ASSERT_NE(page, nullptr);
  int by_paper = 0;
  int by_trainer = 0;
  page->visit([&](const XmlNode& node) {
    if (node.tag != "g") return;
    for (const auto& child : node.children) {
      if (child->has_class("blue") || child->has_class("grey")) ++by_paper;
      if (child->has_class("green")) ++by_trainer;
    }
  });
  EXPECT_EQ(by_paper, 5);
  EXPECT_EQ(by_trainer, 5);
}

TEST(PaperPage, AnExperimentWithoutCasesHasNoChart) {
  const auto page = parse_xml(paper_page({paper::compare(*paper::find_experiment("6").value(), {}, {})}));
  ASSERT_NE(page, nullptr);
  EXPECT_THAT(page->whole_text(), Not(HasSubstr("Throughput of every plan")));
}

}  // namespace
}  // namespace sailor::report
