// Reads traces of availability in the formats in which they are published.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "planner/replay/trace_parser.h"
#include "tests/support/builders.h"

namespace sailor {
namespace {

using testing::a_cluster;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

using Change = Trace::Change;

TEST(Trace, CountsAtEqualGapsAreNodes) {
  const Trace trace = parse_trace(R"({"metadata": {"gap_seconds": 300}, "data": [0, 0, 3, 3, 7]})").value();
  EXPECT_EQ(trace.unit, Trace::Unit::kNodes);
  EXPECT_THAT(trace.changes, ElementsAre(Change{Seconds(0), 0}, Change{Seconds(600), 3}, Change{Seconds(1200), 7}));
  EXPECT_EQ(trace.end, Seconds(1500));
}

TEST(Trace, SamplesAreGpus) {
  const Trace trace =
      parse_trace(R"([{"Time": 0, "GPUs": 4}, {"Time": 63, "GPUs": 4}, {"Time": 126, "GPUs": 3}])").value();
  EXPECT_EQ(trace.unit, Trace::Unit::kGpus);
  EXPECT_THAT(trace.changes, ElementsAre(Change{Seconds(0), 4}, Change{Seconds(126), 3}));
  EXPECT_EQ(trace.end, Seconds(189));
}

TEST(Trace, EventsAddAndRemoveNodes) {
  const Trace trace = parse_trace(
                          "[0, \"add\", {\"nodes\": [\"a\", \"b\"], \"duration\": 60000}]\n"
                          "[60000, \"no-op\", {\"nodes\": [], \"duration\": 60000}]\n"
                          "[120000, \"remove\", {\"nodes\": [\"b\"], \"duration\": 30000}]\n")
                          .value();
  EXPECT_TRUE(trace.names_nodes);
  EXPECT_THAT(trace.changes, ElementsAre(Change{Seconds(0), 2, {"a", "b"}}, Change{Seconds(120), 1, {"a"}}));
  EXPECT_EQ(trace.end, Seconds(150));
}

TEST(Trace, ANodeThatReplacesAnotherIsAChange) {
  const Trace trace = parse_trace(
                          "[0, \"add\", {\"nodes\": [\"a\"], \"duration\": 1000}]\n"
                          "[1000, \"remove\", {\"nodes\": [\"a\"], \"duration\": 0}]\n"
                          "[1000, \"add\", {\"nodes\": [\"b\"], \"duration\": 1000}]\n")
                          .value();
  EXPECT_THAT(trace.changes,
              ElementsAre(Change{Seconds(0), 1, {"a"}}, Change{Seconds(1), 0}, Change{Seconds(1), 1, {"b"}}));
}

TEST(Trace, CsvHasAHeaderThatNamesTheUnit) {
  const Trace nodes = parse_trace("seconds,nodes\n0,4\n60,4\n120,3\n").value();
  EXPECT_EQ(nodes.unit, Trace::Unit::kNodes);
  EXPECT_THAT(nodes.changes, ElementsAre(Change{Seconds(0), 4}, Change{Seconds(120), 3}));
  EXPECT_EQ(nodes.end, Seconds(180));
  EXPECT_EQ(parse_trace("seconds,gpus\r\n0,4\r\n60,4\r\n").value().unit, Trace::Unit::kGpus);
}

TEST(Trace, PricesChangeOverTime) {
  EXPECT_THAT(parse_prices(R"([{"Time": 0, "Price": 0.5}, {"Time": 60, "Price": 0}])").value(),
              ElementsAre(PriceChange{Seconds(0), DollarsPerHour(0.5)}, PriceChange{Seconds(60), DollarsPerHour(0)}));
  EXPECT_THAT(parse_prices(R"([{"Time": 0, "Price": -1}])").error().message, HasSubstr("line 1, column 23: [0].Price"));
  EXPECT_THAT(parse_prices("{}").error().message, HasSubstr("line 1, column 1: "));
}

TEST(Trace, AnInvalidTraceIsRefusedWithLineAndColumn) {
  const std::string first = "[0, \"add\", {\"nodes\": [\"a\"], \"duration\": 1000}]\n";
  const std::vector<std::pair<std::string, std::string>> cases = {
      {"", "line 1, column 1: the file is empty"},
      {"{}", "line 1, column 1: metadata.gap_seconds: "},
      {R"({"metadata": {"gap_seconds": 0}, "data": [1]})", "line 1, column 30: metadata.gap_seconds: "},
      {R"({"metadata": {"gap_seconds": 60}, "data": []})", "line 1, column 43: data: "},
      {R"({"metadata": {"gap_seconds": 60}, "data": [1, -1]})", "line 1, column 47: data[1]: "},
      {"{\"metadata\": {\"gap_seconds\": 60}, \"data\": [1,\n 1.5]}", "line 2, column 2: data[1]: "},
      {R"({"metadata": {"gap_seconds": 60}, "data": [1, null]})", "line 1, column 47: data[1]: "},
      {R"({"metadata": {"gap_seconds": 60}, "data": [1e300]})", "line 1, column 44: data[0]: "},
      {R"({"metadata": {"gap_seconds": 60}, "data": [1, 2)", "line 1, column 48: the text ends within a value"},
      {R"({"data": [1, x]})", "line 1, column 14: the text is not JSON"},
      {R"([{"Time": 0, "GPUs": 1}])", "line 1, column 1: [1]: is missing"},
      {R"([{"Time": 5, "GPUs": 1}, {"Time": 5, "GPUs": 2}])", "line 1, column 35: [1].Time: is not after"},
      {R"([{"Time": 5, "GPUs": "many"}])", "line 1, column 22: [0].GPUs: "},
      {R"([{"Time": 5, "GPUs": 1}, 3])", "line 1, column 26: [1]: "},
      {"[0, \"add\", {}]", "line 1, column 12: duration: "},
      {"[0, \"add\", {\"nodes\": 3, \"duration\": 1}]", "line 1, column 22: nodes: "},
      {"[0, \"fly\", {\"nodes\": [], \"duration\": 1}]", "line 1, column 5: unknown verb fly"},
      {"[0, \"add\", {\"nodes\": [\"a\"], \"duration\": 0}]",
       "line 1, column 41: duration: the trace ends at 0 ms here"},
      {first + "[500, \"no-op\", {\"nodes\": [], \"duration\": 1}]", "line 2, column 2: overlaps"},
      {first + "\n[1500, \"no-op\", {\"nodes\": [], \"duration\": 1}]", "line 3, column 2: leaves a gap"},
      {first + "[1000, \"remove\", {\"nodes\": [\"b\"], \"duration\": 1}]", "line 2, column 29: removes node b"},
      {first + "[1000, \"add\", {\"nodes\": [\"a\"], \"duration\": 1}]", "line 2, column 26: adds node a"},
      {first + "[1000, \"add\", {\"nodes\": [\"b\"], \"dura", "line 2, column 37: the text ends within a value"},
      {"nonsense", "line 1, column 1: is neither JSON nor the header"},
      {"seconds,nodes\n0,1\n60,1.5\n", "line 3, column 4: is not a count"},
      {"seconds,nodes\n0,1\n60,-1\n", "line 3, column 4: is not a count"},
      {"seconds,nodes\n0,1\n60\n", "line 3, column 3: the line ends before"},
      {"seconds,nodes\n0,1\nsoon,1\n", "line 3, column 1: is not a number of seconds"},
      {"seconds,nodes\n60,1\n30,1\n", "line 3, column 1: the time is not after"},
      {"seconds,nodes\n0,1\n", "line 3, column 1: the trace ends here"},
      {"seconds,nodes\n0,1\n60,1", "line 3, column 5: the last line has no end"},
  };
  for (const auto& [text, message] : cases) {
    const auto trace = parse_trace(text);
    ASSERT_FALSE(trace) << text;
    EXPECT_THAT(trace.error().message, HasSubstr(message)) << text;
  }
}

TEST(Trace, APoolIsLimitedToNodesOrGpusAndNeverGrows) {
  const Pool pool = a_cluster().pool("us-central1-a", "nvidia-l4", 3, 4).build().pools.front();
  EXPECT_EQ(limited(pool, Trace::Unit::kNodes, 2).free_gpus(), 8);
  EXPECT_EQ(limited(pool, Trace::Unit::kNodes, 9).free_gpus(), 12);
  EXPECT_EQ(limited(pool, Trace::Unit::kNodes, 0).free_gpus(), 0);
  EXPECT_THAT(limited(pool, Trace::Unit::kGpus, 6).nodes, ElementsAre(NodeGroup{4, 1}, NodeGroup{2, 1}));
  EXPECT_EQ(limited(pool, Trace::Unit::kGpus, 100).free_gpus(), 12);
}

TEST(Trace, APoolOfWholeNodesIsLimitedToWholeNodes) {
  const Pool pool = a_cluster().pool("us-central1-a", "nvidia-l4", 3, 4).whole_nodes().build().pools.front();
  EXPECT_EQ(limited(pool, Trace::Unit::kGpus, 6).free_gpus(), 4);
}

}  // namespace
}  // namespace sailor
