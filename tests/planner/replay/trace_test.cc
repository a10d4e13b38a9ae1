// Reads traces of availability in the formats in which they are published.
#include "planner/replay/trace.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

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
  EXPECT_THAT(trace.changes, ElementsAre(Change{Seconds(0), 2}, Change{Seconds(120), 1}));
  EXPECT_EQ(trace.end, Seconds(150));
}

TEST(Trace, AnInvalidTraceIsRefusedWithTheLineOrField) {
  const std::vector<std::pair<std::string, std::string>> cases = {
      {"", "line 1: is missing"},
      {"{}", "metadata.gap_seconds: "},
      {R"({"metadata": {"gap_seconds": 0}, "data": [1]})", "metadata.gap_seconds: "},
      {R"({"metadata": {"gap_seconds": 60}, "data": []})", "data: "},
      {R"({"metadata": {"gap_seconds": 60}, "data": [1, -1]})", "data[1]: "},
      {R"({"metadata": {"gap_seconds": 60}, "data": [1, 1.5]})", "data[1]: "},
      {R"({"metadata": {"gap_seconds": 60}, "data": [1e300]})", "data[0]: "},
      {R"([{"Time": 0, "GPUs": 1}])", "[1]: is missing"},
      {R"([{"Time": 5, "GPUs": 1}, {"Time": 5, "GPUs": 2}])", "[1].Time: "},
      {R"([{"Time": 5, "GPUs": "many"}])", "[0].GPUs: "},
      {"[0, \"add\", {}]", "line 1: duration: "},
      {"[0, \"add\", {\"nodes\": 3, \"duration\": 1}]", "line 1: nodes: "},
      {"nonsense", "line 1: is not an event"},
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
