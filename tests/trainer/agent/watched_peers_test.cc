#include "trainer/agent/watched_peers.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/trainer/support/assignments.h"

namespace sailor::trainer {
namespace {

using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

AgentAddress pod(const std::string& name) {
  return {.name = name, .host = "", .port = 1, .store_port = 1, .pool = {}, .gpus = 1};
}

std::vector<std::string> names_of(const std::vector<AgentAddress>& pods) {
  std::vector<std::string> names;
  for (const AgentAddress& pod : pods) names.push_back(pod.name);
  return names;
}

class Watches : public ::testing::Test {
 protected:
  Watches() {
    for (const char* name : {"a", "b", "c", "d", "e", "leaving"}) pods_.push_back(pod(name));
  }
  // Of the pod's watches, the names of whom they watch. The others leave.
  std::vector<std::vector<std::string>> of(const std::string& pod, const std::vector<int>& shares, bool has_begun) {
    const Assignment job = testing::tiny_job("unused");
    std::vector<std::vector<std::string>> names;
    const Assignment assignment = testing::generation(job, 1, testing::plan_of(job, {{0, 5, shares}}), pods_);
    for (const auto& peers : peers_to_watch(assignment, pod, has_begun)) names.push_back(names_of(peers));
    return names;
  }
  std::vector<AgentAddress> pods_;
};

TEST_F(Watches, ProbeTheNextTwoTrainingPodsInTheRingAlwaysAndTheOthersInTurn) {
  EXPECT_THAT(of("a", {2, 2, 2, 1, 1}, true), ElementsAre(ElementsAre("b"), ElementsAre("c"), ElementsAre("d", "e")));
  EXPECT_THAT(of("d", {2, 2, 2, 1, 1}, true), ElementsAre(ElementsAre("e"), ElementsAre("a"), ElementsAre("b", "c")));
  EXPECT_THAT(of("leaving", {2, 2, 2, 1, 1}, true), Each(IsEmpty()));
  EXPECT_THAT(of("b", {4, 4}, true), ElementsAre(ElementsAre("a"), IsEmpty(), IsEmpty()));
  EXPECT_THAT(of("a", {8}, true), Each(IsEmpty()));
}

TEST_F(Watches, ProbeLeavingPodsTooUntilTheGenerationTrains) {
  pods_.erase(pods_.begin() + 2, pods_.begin() + 5);
  EXPECT_THAT(of("a", {4, 4}, false), ElementsAre(ElementsAre("b"), IsEmpty(), ElementsAre("leaving")));
  EXPECT_THAT(of("leaving", {4, 4}, false), ElementsAre(IsEmpty(), IsEmpty(), ElementsAre("a", "b")));
}

using News = WatchedPeers::News;

TEST(WatchedPeers, AreProbedInTurnAsLongAsTheyAnswer) {
  WatchedPeers peers(1, {pod("a"), pod("b")}, {});
  for (const char* name : {"a", "b", "a", "b"}) {
    EXPECT_EQ(peers.next_to_probe().name, name);
    EXPECT_EQ(peers.note(true), std::nullopt);
  }
}

TEST(WatchedPeers, APeerThatMissesAProbeIsProbedAgainUntilItCountsAsUnresponsive) {
  WatchedPeers peers(1, {pod("a"), pod("b")}, {});
  for (int question = 1; question < MissedProbes::kLimit; ++question) EXPECT_EQ(peers.note(false), std::nullopt);
  EXPECT_EQ(peers.note(false), (News{1, "a", true}));
  EXPECT_EQ(peers.next_to_probe().name, "b");
  EXPECT_EQ(peers.note(true), std::nullopt);
  EXPECT_EQ(peers.note(false), std::nullopt) << "it is still unresponsive";
  EXPECT_EQ(peers.note(true), std::nullopt);
  EXPECT_EQ(peers.note(true), (News{1, "a", false}));
}

TEST(WatchedPeers, MissedProbesCountInTheNextGenerationAndAreReportedThereToo) {
  WatchedPeers first(1, {pod("a"), pod("b")}, {});
  for (int question = 1; question < MissedProbes::kLimit; ++question) (void)first.note(false);
  WatchedPeers second(2, {pod("a"), pod("c")}, first);
  EXPECT_EQ(second.note(false), (News{2, "a", true}));
  EXPECT_EQ(WatchedPeers(3, {pod("a")}, second).note(false), (News{3, "a", true}));
  EXPECT_EQ(WatchedPeers(3, {pod("a")}, second).note(true), std::nullopt) << "nobody was told that it is unresponsive";
  EXPECT_EQ(WatchedPeers(2, {pod("a")}, second).note(true), (News{2, "a", false}));
}

TEST(MissedProbes, AreCountedSoThatAProcessThatSendsNoneTakesNoPeerForUnresponsive) {
  MissedProbes probes;
  for (int question = 1; question < MissedProbes::kLimit; ++question) probes.note(false);
  EXPECT_FALSE(probes.is_unresponsive());
  probes.note(true);
  for (int question = 0; question < MissedProbes::kLimit; ++question) probes.note(false);
  EXPECT_TRUE(probes.is_unresponsive());
}

}  // namespace
}  // namespace sailor::trainer
