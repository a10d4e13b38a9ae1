// Laws of join plans, on random plans.
#include "trainer/elastic/joining/join_plan.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <random>
#include <set>
#include <tuple>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/seed.h"
#include "tests/trainer/support/assignments.h"
#include "trainer/elastic/state/peer_replicas.h"
#include "trainer/elastic/state/worker_locations.h"

namespace sailor::trainer {
namespace {

using ::testing::IsEmpty;
using ::testing::Not;

using Element = std::tuple<int, int, std::int64_t>;  // layer state, tensor, row or column

void note(int layer_state, const std::vector<Slice>& slices, std::multiset<Element>& elements) {
  for (const Slice& slice : slices) {
    for (std::int64_t i = slice.begin; i < slice.end; ++i) elements.insert({layer_state, slice.tensor, i});
  }
}

std::multiset<Element> elements_of(const WorkerSlices& worker) {
  std::multiset<Element> elements;
  for (const StateSlices* held : {&worker.own, &worker.peer_replicas}) {
    for (const auto& [layer_state, slices] : *held) note(layer_state, slices, elements);
  }
  return elements;
}

Assignment of_agents(const Assignment& job, std::int64_t number, const Plan& plan, int count) {
  std::vector<AgentAddress> agents;
  for (int i = 0; i < count; ++i) agents.push_back({"pod-" + std::to_string(i), "", 1, 1, {}, 1});
  return testing::generation(job, number, plan, agents);
}

// The change from `before` to `after`, both of agents from 0 on.
JoinQuestion question_of(const Assignment& before, const Assignment& after) {
  JoinQuestion question{.preparation_reports = {}, .wanted = {}, .locations = locations_of(after)};
  const Roster was(before), will(after);
  for (int rank = 0; rank < will.workers(); ++rank) {
    question.wanted.push_back(worker_slices(will, plan_peer_replicas(after, will), rank));
    const bool trains = rank < was.training_workers();
    question.preparation_reports.push_back(
        trains ? PreparationReport{before.generation, false, worker_slices(was, {}, rank)} : PreparationReport{});
  }
  return question;
}

class JoinPlans : public ::testing::Test {
 protected:
  Assignment job_ = testing::tiny_job("unused");
};

TEST_F(JoinPlans, BringEachWorkerOnceWhatItLacks) {
  std::mt19937 random(sailor::testing::test_seed());
  const auto number = [&](int least, int most) { return std::uniform_int_distribution(least, most)(random); };
  job_.plan.peer_replicas = true;
  for (int round = 0; round < 100; ++round) {
    const int cut = number(1, 4);
    Plan plan = testing::plan_of(job_, {{0, cut, {4, 4}, {number(1, 2), number(1, 2)}}, {cut, 5, {8}, {number(1, 2)}}});
    plan.sharded_optimizer = number(0, 1) == 1;
    const Assignment running = of_agents(job_, 1, testing::plan_of(job_, {{0, 5, {4, 4}, {1, number(1, 2)}}}), 3);
    const Assignment next = of_agents(job_, 2, plan, gpu_count(plan));
    const JoinQuestion question = question_of(running, next);
    std::map<int, std::multiset<Element>> got;
    for (const PlannedStream& stream : plan_joining(job_.model, question).streams) {
      EXPECT_GT(question.preparation_reports[static_cast<std::size_t>(stream.source)].trains, 0);
      for (const StreamedShard& shard : stream.shards) note(shard.layer_state, shard.slices, got[stream.receiver]);
    }
    for (int rank = 0; rank < gpu_count(plan); ++rank) {
      const auto wanted = elements_of(question.wanted[static_cast<std::size_t>(rank)]);
      const auto held = elements_of(question.preparation_reports[static_cast<std::size_t>(rank)].held);
      std::multiset<Element> lacked;
      std::ranges::set_difference(wanted, held, std::inserter(lacked, lacked.end()));
      EXPECT_EQ(got[rank], lacked) << "rank " << rank;
    }
  }
}

TEST_F(JoinPlans, SpreadTheLoadOverEquallyNearSources) {
  const Assignment running = of_agents(job_, 1, testing::plan_of(job_, {{0, 5, {4, 4}}}), 2);
  const Assignment next = of_agents(job_, 2, testing::plan_of(job_, {{0, 5, {3, 3, 2}}}), 3);
  const JoinPlan plan = plan_joining(job_.model, question_of(running, next));
  ASSERT_EQ(plan.streams.size(), 2U);
  EXPECT_EQ(plan.generation, 1);
  EXPECT_NE(plan.streams[0].source, plan.streams[1].source);
}

TEST_F(JoinPlans, AreEmptyIfNoWorkerTrains) {
  const Assignment running = of_agents(job_, 1, testing::plan_of(job_, {{0, 5, {4, 4}}}), 2);
  const Assignment next = of_agents(job_, 2, testing::plan_of(job_, {{0, 5, {3, 3, 2}}}), 3);
  JoinQuestion question = question_of(running, next);
  question.preparation_reports.assign(3, PreparationReport{});
  EXPECT_THAT(plan_joining(job_.model, question).streams, IsEmpty());
}

TEST_F(JoinPlans, LeavingWorkersSendToJoiningWorkers) {
  const Assignment running = of_agents(job_, 1, testing::plan_of(job_, {{0, 5, {8}}}), 1);
  const Assignment next = of_agents(job_, 2, testing::plan_of(job_, {{0, 5, {8}}}), 2);
  JoinQuestion question = question_of(running, next);
  std::swap(question.preparation_reports[0], question.preparation_reports[1]);  // the one without a role trains
  const JoinPlan plan = plan_joining(job_.model, question);
  ASSERT_EQ(plan.streams.size(), 1U);
  EXPECT_EQ(plan.streams[0].source, 1);
  EXPECT_EQ(plan.streams[0].receiver, 0);
}

TEST_F(JoinPlans, LeavingWorkersSendToThoseThatTrainOn) {
  const Assignment running = of_agents(job_, 1, testing::plan_of(job_, {{0, 2, {8}}, {2, 5, {8}}}), 2);
  Assignment next = of_agents(job_, 2, testing::plan_of(job_, {{0, 5, {8}}}), 2);
  const JoinQuestion question = question_of(running, next);
  const JoinPlan plan = plan_joining(job_.model, question);
  ASSERT_EQ(plan.streams.size(), 1U);
  EXPECT_EQ(plan.streams[0].source, 1);
  EXPECT_EQ(plan.streams[0].receiver, 0);
  EXPECT_TRUE(streams_state(next, running));
}

// Two replicas have the first layer states, and only the second worker has the others.
TEST_F(JoinPlans, SendFirstWhatOnlyOneWorkerHas) {
  JoinQuestion question{.preparation_reports = {}, .wanted = {}, .locations = {}};
  const Assignment whole = of_agents(job_, 1, testing::plan_of(job_, {{0, 5, {8}}}), 1);
  const WorkerSlices all = worker_slices(Roster(whole), {}, 0);
  WorkerSlices first;
  first.own[0] = all.own.at(0);
  question.preparation_reports = {{1, false, first}, {1, false, all}, {}};
  question.wanted = {{}, {}, all};
  question.locations = {{0, Zone("a-a-a")}, {1, Zone("b-b-b")}, {1, Zone("b-b-b")}};  // the second one is nearest
  const JoinPlan plan = plan_joining(job_.model, question);
  ASSERT_EQ(plan.streams.size(), 1U);
  EXPECT_NE(plan.streams[0].shards.front().layer_state, 0);
  EXPECT_EQ(plan.streams[0].shards.back().layer_state, 0);
}

// Worker 0 stays, worker 1 leaves, and worker 2 takes its place.
TEST_F(JoinPlans, UniqueSlicesAreThoseThatNoWorkerThatStaysHas) {
  const Assignment pipeline = of_agents(job_, 1, testing::plan_of(job_, {{0, 2, {8}}, {2, 5, {8}}}), 2);
  const Assignment replicas = of_agents(job_, 1, testing::plan_of(job_, {{0, 5, {4, 4}}}), 2);
  const auto unique_in = [&](const Assignment& running, const WorkerSlices& peer_replicas) {
    const WorkerSlices first = worker_slices(Roster(running), {}, 0), second = worker_slices(Roster(running), {}, 1);
    JoinQuestion question{.preparation_reports = {{1, false, first}, {1, false, second}, {}},
                          .wanted = {first, {}, second},
                          .locations = {{0, Zone("a-a-a")}, {1, Zone("b-b-b")}, {1, Zone("b-b-b")}}};
    question.preparation_reports[0].held.peer_replicas = peer_replicas.own;
    question.wanted[0].peer_replicas = peer_replicas.own;
    std::set<int> unique;  // layer states
    for (const PlannedStream& stream : plan_joining(job_.model, question).streams) {
      for (const StreamedShard& shard : stream.shards) {
        if (shard.is_unique) unique.insert(shard.layer_state);
      }
    }
    return unique;
  };
  std::vector<int> of_second_stage;  // without the token embedding, which the first stage has as well
  std::ranges::set_difference(Roster(pipeline).layer_states_of(1), Roster(pipeline).layer_states_of(0),
                              std::back_inserter(of_second_stage));
  EXPECT_THAT(unique_in(pipeline, {}), ::testing::ElementsAreArray(of_second_stage));
  EXPECT_THAT(unique_in(replicas, {}), IsEmpty());
  EXPECT_THAT(unique_in(pipeline, worker_slices(Roster(pipeline), {}, 1)), IsEmpty()) << "worker 0 has peer replicas";
}

// Worker 0 stays and takes over what the others had: the last layer states from worker 2, which leaves, and the middle
// ones from worker 1, which stays.
TEST_F(JoinPlans, AWorkerThatTrainsReceivesOnlyWhatItHasRoomFor) {
  const Assignment pipeline = of_agents(job_, 1, testing::plan_of(job_, {{0, 1, {8}}, {1, 3, {8}}, {3, 5, {8}}}), 3);
  const Assignment whole = of_agents(job_, 2, testing::plan_of(job_, {{0, 5, {8}}}), 1);
  const Roster roster(pipeline);
  JoinQuestion question{.preparation_reports = {},
                        .wanted = {worker_slices(Roster(whole), {}, 0), worker_slices(roster, {}, 1), {}},
                        .locations = std::vector<WorkerLocation>(3, {0, Zone("a-a-a")})};
  for (int rank = 0; rank < 3; ++rank) {
    question.preparation_reports.push_back({1, false, worker_slices(roster, {}, rank)});
  }
  const auto received = [&](std::optional<std::int64_t> room) {
    question.preparation_reports[0].room = room;
    std::vector<StreamedShard> shards;
    for (const PlannedStream& stream : plan_joining(job_.model, question).streams) {
      EXPECT_EQ(stream.receiver, 0);
      EXPECT_THAT(stream.shards, Not(IsEmpty()));
      std::ranges::copy(stream.shards, std::back_inserter(shards));
    }
    return shards;
  };
  const auto bytes_of = [](const std::vector<StreamedShard>& shards) {
    std::int64_t bytes = 0;
    for (const StreamedShard& shard : shards) bytes += shard.elements * kBytesOfStreamedElement;
    return bytes;
  };
  const auto is_unique = [](const StreamedShard& shard) { return shard.is_unique; };
  const std::vector<StreamedShard> all = received(std::nullopt);
  std::vector<StreamedShard> unique;
  std::ranges::copy_if(all, std::back_inserter(unique), is_unique);
  EXPECT_EQ(received(bytes_of(all)), all);
  EXPECT_THAT(received(bytes_of(all) - 1).size(), all.size() - 1);
  EXPECT_THAT(received(bytes_of(unique)), ::testing::UnorderedElementsAreArray(unique));
  EXPECT_THAT(received(0), IsEmpty());
}

// So that an update waits only for a short copy.
TEST_F(JoinPlans, DivideLargeTensorsIntoShards) {
  job_.model.hidden_size = 1024;
  job_.model.vocab_size = 50'000;
  const Assignment running = of_agents(job_, 1, testing::plan_of(job_, {{0, 5, {8}}}), 1);
  const Assignment next = of_agents(job_, 2, testing::plan_of(job_, {{0, 5, {4, 4}}}), 2);
  const JoinPlan plan = plan_joining(job_.model, question_of(running, next));
  ASSERT_EQ(plan.streams.size(), 1U);
  EXPECT_GT(plan.streams[0].shards.size(), 10U);
  for (const StreamedShard& shard : plan.streams[0].shards) EXPECT_LE(shard.elements, 2 * kStreamedElements);
}

TEST_F(JoinPlans, AWorkerWithOlderStateReceivesNoStream) {
  const Assignment running = of_agents(job_, 1, testing::plan_of(job_, {{0, 5, {8}}}), 1);
  const Assignment next = of_agents(job_, 2, testing::plan_of(job_, {{0, 5, {4, 4}}}), 2);
  JoinQuestion question = question_of(running, next);
  question.preparation_reports[1].is_empty = false;
  EXPECT_THAT(plan_joining(job_.model, question).streams, IsEmpty());
}

TEST_F(JoinPlans, TrainingWaitsForWorkersThatLackStateUnlessTheChangeDropsAWorker) {
  const Plan one = testing::plan_of(job_, {{0, 5, {8}}}), two = testing::plan_of(job_, {{0, 5, {4, 4}}});
  const Assignment alone = of_agents(job_, 1, one, 1), both = of_agents(job_, 2, two, 2);
  EXPECT_TRUE(streams_state(both, alone));
  EXPECT_FALSE(streams_state(both, both));
  EXPECT_FALSE(streams_state(of_agents(job_, 3, one, 2), both));
  Assignment elsewhere = both;
  elsewhere.agents[0].name = "another";
  EXPECT_FALSE(streams_state(elsewhere, alone));
}

TEST_F(JoinPlans, APreparationStateSurvivesSerializationAndNonsenseIsRefused) {
  const Assignment running = of_agents(job_, 1, testing::plan_of(job_, {{0, 5, {8}, {2}}}), 2);
  WorkerSlices held = worker_slices(Roster(running), {}, 0);
  held.peer_replicas[1] = held.own.at(1);
  PreparationReport preparation_report{7, false, held};
  EXPECT_EQ(*preparation_report_from_line(job_.model, to_line(preparation_report)), preparation_report);
  preparation_report.room = 5'000'000'000;
  EXPECT_EQ(*preparation_report_from_line(job_.model, to_line(preparation_report)), preparation_report);
  for (const char* line : {"", "yes", "{}", R"({"trains":1,"isEmpty":true,"own":[]})",
                           R"({"trains":1,"isEmpty":0,"own":[],"peerReplicas":[]})",
                           R"({"trains":1,"isEmpty":true,"own":[],"peerReplicas":[],"room":"much"})",
                           R"({"trains":1,"isEmpty":true,"own":[[9,9,9,9]],"peerReplicas":[]})"}) {
    EXPECT_FALSE(preparation_report_from_line(job_.model, line)) << line;
  }
}

}  // namespace
}  // namespace sailor::trainer
