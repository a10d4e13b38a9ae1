// Whether workers execute the schedule that was simulated, after its times have travelled: from the simulator into the
// generation's record, out of it into an assignment, and to a worker.
#include "trainer/step/operations.h"

#include <map>
#include <random>
#include <utility>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/schedule/make_schedule.h"
#include "operator/model/record_object.h"
#include "simulator/simulator.h"
#include "tests/support/random_plans.h"
#include "tests/support/seed.h"

namespace sailor::trainer {
namespace {

using ::testing::Contains;
using ::testing::Each;
using ::testing::SizeIs;

using ::sailor::testing::a_cluster;
using ::sailor::testing::a_job;
using ::sailor::testing::a_key;
using ::sailor::testing::between;
using ::sailor::testing::Random;
using ::sailor::testing::random_shares;

const PoolKey kL4 = a_key("us-central1-a", "nvidia-l4");
const PoolKey kA100 = a_key("us-central1-a", "nvidia-tesla-a100");
const PoolKey kV100 = a_key("us-west1-b", "nvidia-tesla-v100");

ClusterState cluster() {
  return a_cluster()
      .pool("us-central1-a", "nvidia-l4", 32, 4)
      .pool("us-central1-a", "nvidia-tesla-a100", 16, 8)
      .pool("us-central1-b", "nvidia-tesla-t4", 8, 4)  // nobody uses it
      .pool("us-west1-b", "nvidia-tesla-v100", 16, 8);
}

struct Case {
  std::string name;
  JobSpec job;
  Plan plan;
};

// 26 layers, 24 microbatches of 2 sequences.
JobSpec opt_350m() { return a_job().model("opt-350m").sequence_length(1024).batch(48); }

Case a_case(const std::string& name, std::vector<Stage> stages) {
  const JobSpec job = opt_350m();
  return {name, job, {job.model.name, job.training.global_batch_size, 2, std::move(stages)}};
}

// An L4 holds fewer of these microbatches than there are stages to come.
Case tight_case() {
  const JobSpec job = a_job().model("opt-1.3b").sequence_length(2048).batch(48);
  return {"as many in flight as memory holds", job, sailor::testing::an_even_plan(job, kL4, 8, 1, 8)};
}

std::vector<Case> cases() {
  std::vector<Case> list;
  list.push_back(a_case("one worker", {{0, 26, {{kA100, 1, 24}}}}));
  list.push_back(a_case("two equal stages", {{0, 13, {{kL4, 1, 24}}}, {13, 26, {{kL4, 1, 24}}}}));
  list.push_back(a_case("a long stage before a short one", {{0, 18, {{kL4, 1, 24}}}, {18, 26, {{kL4, 1, 24}}}}));
  list.push_back(a_case("uneven shares", {{0, 13, {{kL4, 1, 17}, {kL4, 1, 7}}}, {13, 26, {{kA100, 1, 24}}}}));
  list.push_back(a_case("mixed tensor-parallel sizes", {{0, 9, {{kL4, 1, 7}, {kL4, 2, 13}, {kA100, 4, 4}}},
                                                        {9, 20, {{kA100, 2, 24}}},
                                                        {20, 26, {{kL4, 1, 11}, {kL4, 4, 13}}}}));
  list.push_back(
      a_case("over two regions", {{0, 13, {{kL4, 1, 12}, {kA100, 1, 12}}}, {13, 26, {{kV100, 1, 9}, {kV100, 2, 15}}}}));
  list.push_back(tight_case());
  return list;
}

Case random_case(std::uint64_t seed) {
  Random random(seed);
  const JobSpec job = opt_350m();
  Case one{fmt::format("seed {}", seed), job, {job.model.name, 48, 1 << between(random, 0, 2), {}}};
  const std::vector<PoolKey> pools{kL4, kA100, kV100};
  int first = 0;
  for (const int layers : random_shares(random, job.model.layer_count(), between(random, 1, 6))) {
    Stage stage{first, first + layers, {}};
    const int replicas = between(random, 1, std::min(5, one.plan.microbatches()));
    for (const int share : random_shares(random, one.plan.microbatches(), replicas)) {
      stage.replicas.push_back(
          {pools[static_cast<std::size_t>(between(random, 0, 2))], 1 << between(random, 0, 2), share});
    }
    one.plan.stages.push_back(std::move(stage));
    first += layers;
  }
  one.plan.activation_checkpointing = between(random, 0, 1) == 1;
  one.job.training.activation_checkpointing =
      one.plan.activation_checkpointing ? ActivationCheckpointing::kAlways : ActivationCheckpointing::kNever;
  return one;
}

// A pod for every replica.
GenerationRecord record_of_plan(const Plan& plan, ScheduleTimes times) {
  GenerationRecord record;
  record.generation = record.last_issued = 1;
  record.job_uid = "uid";
  record.plan = plan;
  record.schedule_times = std::move(times);
  for (int stage = 0; stage < std::ssize(plan.stages); ++stage) {
    const auto& replicas = plan.stages[static_cast<std::size_t>(stage)].replicas;
    for (int r = 0; r < std::ssize(replicas); ++r) {
      const Replica& replica = replicas[static_cast<std::size_t>(r)];
      const auto slot = static_cast<int>(record.placement.slots.size());
      const std::string pod = fmt::format("pod-{}", slot);
      record.placement.slots.push_back({pod, replica.pool, "node", "node-uid", replica.tensor_parallel});
      record.placement.replicas.push_back({stage, r, slot, 0});
      record.members.push_back(
          {{pod, "10.0.0.1", 7070, 7071, replica.pool, replica.tensor_parallel}, pod + "-uid", "node", "node-uid"});
    }
  }
  return record;
}

// What a worker hears: everything on the way is text.
Assignment sent_assignment(const Case& one, const ScheduleTimes& times) {
  const auto object = kube::Json::parse(job_record_of(record_of_plan(one.plan, times), one.job.key, "").dump());
  const Assignment sent = assignment_of(sailor::record_of(object).value(), one.job, "");
  return assignment_from_json(nlohmann::json::parse(to_json(sent).dump())).value();
}

using Pass = std::pair<OperationKind, int>;        // of which microbatch
using Way = std::tuple<bool, int, int, int>;       // is it a gradient, boundary, from, to
using Messages = std::map<Way, std::vector<int>>;  // microbatches, in the order of sending

std::vector<Pass> played_passes(const StepTiming& step, const Role& role) {
  std::vector<Pass> passes;
  for (const TimedPass& pass :
       step.passes.at(static_cast<std::size_t>(role.stage)).at(static_cast<std::size_t>(role.replica))) {
    passes.emplace_back(pass.kind, pass.microbatch);
  }
  return passes;
}

Messages played_messages(const StepTiming& step) {
  std::vector<TimedMessage> messages = step.messages;
  std::ranges::stable_sort(messages, {}, &TimedMessage::start);
  Messages by_way;
  for (const TimedMessage& message : messages) {
    by_way[{message.is_gradient, message.boundary, message.from, message.to}].push_back(message.microbatch);
  }
  return by_way;
}

std::vector<Pass> passes_of(const std::vector<Operation>& operations) {
  std::vector<Pass> passes;
  for (const Operation& operation : operations) {
    if (operation.peer == -1) passes.emplace_back(operation.kind, operation.microbatch);
  }
  return passes;
}

// What this worker sends (or, from its peers' view, receives) joins what is known of these ways.
void add_messages(const std::vector<Operation>& operations, const Role& role, Messages& sent, Messages& received) {
  for (const auto& [kind, microbatch, peer] : operations) {
    if (kind == OperationKind::kSendActivation) sent[{false, role.stage, role.replica, peer}].push_back(microbatch);
    if (kind == OperationKind::kSendGradient) sent[{true, role.stage - 1, role.replica, peer}].push_back(microbatch);
    if (kind == OperationKind::kReceiveActivation)
      received[{false, role.stage - 1, peer, role.replica}].push_back(microbatch);
    if (kind == OperationKind::kReceiveGradient) received[{true, role.stage, peer, role.replica}].push_back(microbatch);
  }
}

int most_in_flight(const std::vector<Operation>& operations) {
  int now = 0;
  int most = 0;
  for (const auto& [kind, pass] : passes_of(operations))
    most = std::max(most, now += kind == OperationKind::kForward ? 1 : -1);
  return most;
}

void expect_executed_as_played(const Case& one) {
  SCOPED_TRACE(one.name);
  const Simulator simulator;
  const StepTiming step = simulator.step_timing(one.job, cluster(), one.plan).value();
  const ScheduleTimes times = simulator.schedule_times(one.job, cluster(), one.plan).value();
  const Assignment assignment = sent_assignment(one, times);
  EXPECT_EQ(assignment.schedule_times, times);
  Messages sent;
  Messages received;
  for (const WorkerSlot& worker : assignment.workers) {
    const std::vector<Operation> operations = worker_schedule_of(assignment, *worker.role).operations;
    EXPECT_EQ(passes_of(operations), played_passes(step, *worker.role))
        << worker.role->stage << " " << worker.role->replica;
    if (worker.role->shard == 0) add_messages(operations, *worker.role, sent, received);
  }
  EXPECT_EQ(sent, played_messages(step));
  EXPECT_EQ(received, sent);
}

TEST(Operations, OfEveryWorkerAreThoseThatWereSimulated) {
  for (const Case& one : cases()) expect_executed_as_played(one);
}

TEST(Operations, OfRandomPlansAreThoseThatWereSimulated) {
  const std::uint64_t first = sailor::testing::test_seed();
  for (std::uint64_t seed = 1; seed <= 60; ++seed) expect_executed_as_played(random_case(seed));
  for (std::uint64_t seed = first; seed < first + 60; ++seed) expect_executed_as_played(random_case(seed));
}

bool goes_to_next_stage(OperationKind kind) {
  return kind == OperationKind::kSendActivation || kind == OperationKind::kReceiveGradient;
}

// By stage and replica: those that are connected with it.
std::map<std::pair<int, int>, std::vector<std::vector<int>>> connected_replicas(const Case& one) {
  std::map<std::pair<int, int>, std::vector<std::vector<int>>> connected;
  const Assignment assignment = sent_assignment(one, Simulator().schedule_times(one.job, cluster(), one.plan).value());
  for (const WorkerSlot& worker : assignment.workers) {
    const WorkerSchedule schedule = worker_schedule_of(assignment, *worker.role);
    connected[{worker.role->stage, worker.role->replica}] = schedule.connected;
    for (const Operation& operation : schedule.operations) {
      if (operation.peer < 0) continue;
      const int stage = worker.role->stage + (goes_to_next_stage(operation.kind) ? 1 : -1);
      EXPECT_THAT(schedule.connected.at(static_cast<std::size_t>(stage)), Contains(operation.peer));
    }
  }
  return connected;
}

TEST(Operations, ConnectReplicasThatHaveTheSameOnesConnected) {
  std::vector<Case> all = cases();
  for (std::uint64_t seed = 1; seed <= 60; ++seed) all.push_back(random_case(seed));
  for (const Case& one : all) {
    SCOPED_TRACE(one.name);
    const auto connected = connected_replicas(one);
    for (const auto& [role, reached] : connected) {
      EXPECT_THAT(reached.at(static_cast<std::size_t>(role.first)), Contains(role.second));
      for (int stage = 0; stage < std::ssize(reached); ++stage) {
        for (const int replica : reached[static_cast<std::size_t>(stage)]) {
          EXPECT_EQ(connected.at({stage, replica}), reached);
        }
      }
    }
  }
}

TEST(Operations, OfEqualSharesConnectOneReplicaOfEachStage) {
  const Case even = {"even", opt_350m(), sailor::testing::an_even_plan(opt_350m(), kL4, 4, 8, 1)};
  for (const auto& [role, reached] : connected_replicas(even)) {
    EXPECT_THAT(reached, Each(SizeIs(1))) << role.first << " " << role.second;
  }
}

// Executes the lists of all workers. Every message says how many messages of its receiver its sender has used for
// passes.
class Acknowledgements {
 public:
  explicit Acknowledgements(const Assignment& assignment) {
    for (const WorkerSlot& worker : assignment.workers) {
      const auto& [stage, replica, shard] = worker.role.value();
      if (shard == 0) workers_.push_back({{stage, replica}, worker_schedule_of(assignment, *worker.role)});
    }
  }
  void expect_as_listed() {
    for (bool is_done = false; !is_done;) {
      is_done = true;
      for (Worker& worker : workers_) {
        while (advance(worker)) is_done = false;
      }
    }
    for (const Worker& worker : workers_) EXPECT_EQ(worker.next, worker.schedule.operations.size()) << "a deadlock";
  }
  [[nodiscard]] std::size_t messages() const { return messages_; }

 private:
  using Place = std::pair<int, int>;  // stage and replica
  struct Worker {
    Place place;
    WorkerSchedule schedule;
    std::size_t next = 0;
    std::map<Place, int> acknowledged = {};                // of its messages to each peer
    std::map<std::pair<bool, int>, Place> sender_of = {};  // of the message of each microbatch; true: a gradient
  };
  bool advance(Worker& worker) {
    if (worker.next == worker.schedule.operations.size()) return false;
    const auto& [kind, microbatch, replica] = worker.schedule.operations[worker.next];
    const bool goes_down = goes_to_next_stage(kind);
    const Place peer{worker.place.first + (goes_down ? 1 : -1), replica};
    int acknowledged = 0;
    if (kind == OperationKind::kSendActivation || kind == OperationKind::kSendGradient) {
      on_the_way_[{worker.place, peer}][microbatch] = used_[{peer, worker.place}];
      ++messages_;
    } else if (kind == OperationKind::kReceiveActivation || kind == OperationKind::kReceiveGradient) {
      worker.sender_of[{goes_down, microbatch}] = peer;
    } else if (const auto sender = worker.sender_of.find({kind == OperationKind::kBackward, microbatch});
               sender != worker.sender_of.end()) {
      auto& arriving = on_the_way_[{sender->second, worker.place}];
      const auto message = arriving.find(microbatch);
      if (message == arriving.end()) return false;
      int& known = worker.acknowledged[sender->second];
      acknowledged = std::max(0, message->second - known);
      known += acknowledged;
      ++used_[{sender->second, worker.place}];
    }
    EXPECT_EQ(worker.schedule.acknowledged[worker.next], acknowledged) << "operation " << worker.next;
    ++worker.next;
    return true;
  }

  std::vector<Worker> workers_;
  // By sender and receiver: what the message of each microbatch says.
  std::map<std::pair<Place, Place>, std::map<int, int>> on_the_way_;
  std::map<std::pair<Place, Place>, int> used_;  // messages, by sender and receiver
  std::size_t messages_ = 0;
};

TEST(Operations, AcknowledgeTheMessagesThatTheSenderOfAMessageHasUsed) {
  const std::uint64_t first = sailor::testing::test_seed();
  std::size_t messages = 0;
  for (std::uint64_t seed = first; seed < first + 60; ++seed) {
    const Case one = random_case(seed);
    SCOPED_TRACE(one.name);
    Acknowledgements all(sent_assignment(one, Simulator().schedule_times(one.job, cluster(), one.plan).value()));
    all.expect_as_listed();
    messages += all.messages();
  }
  EXPECT_GT(messages, 1000U);
}

// So neither can a worker do without the times, nor would the tests above pass without them.
TEST(Operations, FromTheSharesAloneDiffer) {
  int differing = 0;
  for (const Case& one : cases()) {
    Assignment assignment = sent_assignment(one, Simulator().schedule_times(one.job, cluster(), one.plan).value());
    const auto with_times = worker_schedule_of(assignment, {0, 0, 0}).operations;
    assignment.schedule_times.reset();
    if (worker_schedule_of(assignment, {0, 0, 0}).operations != with_times) ++differing;
  }
  EXPECT_GE(differing, 5) << "all but the single worker's, and perhaps those of two equal stages";
}

TEST(Operations, KeepNoMoreMicrobatchesInFlightThanTheSimulatorFoundRoomFor) {
  const Case tight = tight_case();
  const Estimate estimate = Simulator().simulate(tight.job, cluster(), tight.plan).value();
  EXPECT_TRUE(estimate.fits()) << ::testing::PrintToString(estimate.violations);
  Assignment assignment = sent_assignment(tight, Simulator().schedule_times(tight.job, cluster(), tight.plan).value());
  const int held = assignment.schedule_times->replicas[0][0].cap;
  EXPECT_EQ(most_in_flight(worker_schedule_of(assignment, {0, 0, 0}).operations), held);
  assignment.schedule_times.reset();
  EXPECT_GT(most_in_flight(worker_schedule_of(assignment, {0, 0, 0}).operations), held)
      << "what the GPU's memory would not hold";
}

TEST(Operations, OfAnAssignmentWithoutTimesFollowTheShares) {
  Assignment assignment;
  assignment.plan = a_case("", {{0, 13, {{kL4, 1, 24}}}, {13, 26, {{kL4, 1, 24}}}}).plan;
  const Schedule by_shares = make_schedule(assignment.plan, times_from_shares(assignment.plan), SchedulePolicy::kFlow);
  EXPECT_EQ(worker_schedule_of(assignment, {1, 0, 0}).operations, by_shares.replicas[1][0].operations);
}

}  // namespace
}  // namespace sailor::trainer
