// Random lives of several jobs: users, clouds, kubelets and agents act in any order, and the operator dies before or
// after any write. After each action no rule of docs/operator.md is broken; once nothing acts any more, every job is in
// the state that its spec and the cluster call for, and the operator writes nothing.
#include <algorithm>
#include <functional>
#include <map>
#include <optional>
#include <random>
#include <set>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "operator/model/names.h"
#include "tests/operator/life_rules.h"
#include "tests/operator/pod_faults.h"
#include "tests/support/seed.h"

namespace sailor::testing {
namespace {

constexpr int kActions = 40;      // of a life
constexpr int kStepsAtRest = 12;  // between two looks, so that GPUs that were slow are seen to have recovered
constexpr double kPrice = 0.125, kHighPrice = 0.375;  // of a GPU, in dollars per hour
constexpr const char* kPods = "/api/v1/namespaces/default/pods";
const std::vector<std::string> kNodes = {"a", "b", "c", "d"};
const std::vector<std::string> kJobs = {"one", "two", "three"};

class Life {
 public:
  explicit Life(std::uint32_t seed) : random_(seed) {
    world_.add_priority_class("low", 10);
    world_.add_priority_class("high", 1000);
    for (const std::string& node : {kNodes[0], kNodes[1]}) world_.add_node(node, 2);
    if (below(2) == 0) {
      most_nodes_ = below(7);
      set_price(kPrice);
    }
    world_.api_server.put(kPods, foreign_pod());
    add_job("one");
  }

  void act() {
    using Act = void (Life::*)();
    // The operator acts most often, and faults are rare beside it.
    static constexpr std::pair<int, Act> kActs[] = {
        {30, &Life::reconcile},     {14, &Life::live},          {8, &Life::pass_time},     {5, &Life::add_some_job},
        {4, &Life::add_node},       {4, &Life::lose_node},      {4, &Life::preempt},       {4, &Life::crash},
        {3, &Life::suspend},        {4, &Life::resume},         {3, &Life::resize},        {2, &Life::delete_job},
        {9, &Life::do_last_step},   {6, &Life::end_done_pod},   {3, &Life::fail_pod},      {2, &Life::lose_record},
        {3, &Life::toggle_agents},  {3, &Life::toggle_kubelet}, {2, &Life::toggle_quota},  {3, &Life::cut_off_node},
        {3, &Life::reach_node},     {3, &Life::pause_operator}, {3, &Life::wake_operator}, {3, &Life::evict_pod},
        {2, &Life::toggle_path},    {2, &Life::freeze_node},    {3, &Life::thaw_node},     {3, &Life::tell_failure},
        {2, &Life::toggle_slow},    {6, &Life::train},          {8, &Life::deliver_one},   {5, &Life::make_node},
        {3, &Life::refuse_nodes},   {3, &Life::lose_new_node},  {8, &Life::admit},         {3, &Life::change_quota},
        {2, &Life::evict_workload}, {3, &Life::change_price}};
    int sum = 0;
    for (const auto& [weight, act] : kActs) sum += weight;
    int choice = below(sum);
    for (const auto& [weight, act] : kActs) {
      choice -= weight;
      if (choice >= 0) continue;
      (this->*act)();
      break;
    }
    rules_.check_safety();
  }

  void come_to_rest() {
    said_.push_back("rest");
    wake_operator();
    while (!cut_off_.empty()) reach(*cut_off_.begin());
    faults_.mend();
    world_.agents_hang = false;
    world_.stuck_nodes.clear();
    world_.api_server.refusals.clear();
    world_.api_server.crash_at_write = -1;
    if (most_nodes_) set_price(kPrice);
    // The longest limit of the operator is 840 s.
    for (const int minutes : {1, 1, 1, 1, 1, 5, 5, 5, 5, 15, 15}) {
      world_.pass(std::chrono::minutes(minutes));
      faults_.take_effect();
      while (end_one_done_pod()) continue;
      collect_pods_of_lost_nodes();
      world_.collect_objects_of_absent_jobs();
      faults_.end_told_failures();
      world_.settle_all_jobs();
      while (!world_.make_nodes().empty()) world_.settle_all_jobs();
      queue_.give_what_is_left();
      world_.settle_all_jobs();
      for (int i = 0; i < kStepsAtRest; ++i) {
        faults_.train();
        world_.reconcile_all_jobs();
      }
      world_.settle_all_jobs();
      rules_.check_safety();
    }
  }

  LifeRules& rules() { return rules_; }
  [[nodiscard]] int reconciles() const { return reconciles_; }

  [[nodiscard]] std::string story() const {
    std::string text = "\nstory:";
    for (const std::string& line : said_) text += " " + line + ";";
    return text;
  }

 private:
  int below(int limit) { return std::uniform_int_distribution<int>(0, limit - 1)(random_); }
  const std::string& any(const std::vector<std::string>& list) {
    return list[static_cast<std::size_t>(below(static_cast<int>(list.size())))];
  }
  void say(const std::string& what) { said_.push_back(what); }

  [[nodiscard]] Json job_named(const std::string& name) const { return world_.api_server.find("trainingjobs", name); }

  // Selects an existing job, if there is one of the drawn name.
  bool select_any() {
    world_.job.name = any(kJobs);
    return !job_named(world_.job.name).is_null();
  }

  void add_job(const std::string& name) {
    world_.job = {"default", name};
    const int least = 1 + below(4);
    Json spec = {{"resources", {{"minGpus", least}, {"maxGpus", least + below(5)}}},
                 {"priorityClassName", below(2) == 0 ? "low" : "high"},
                 {"maxRestarts", below(3)}};
    // A job that ends soon asks for no new nodes.
    if (below(2) == 0) spec["training"] = {{"globalBatchSize", 16}, {"sequenceLength", 32}, {"steps", 1'000'000}};
    if (below(3) != 0) spec["checkpoint"] = {{"path", "/checkpoints"}};
    if (below(3) == 0) spec["elasticity"] = {{"mode", below(2) == 0 ? "Restart" : "Off"}};
    if (below(2) == 0) spec["elasticity"]["lookAhead"] = "On";
    // At the lower price there is a plan within the limit.
    if (most_nodes_ && below(2) == 0) {
      spec["objective"] = {{"type", "MaxThroughput"},
                           {"maxCostPerHour", fmt::format("{}", kPrice * (least + below(3)))}};
    }
    world_.pause = Seconds(100 * below(4));
    const Json labels = queue_.labels();
    world_.add_job(spec, labels);
    say(fmt::format("add {} {} {}", name, labels.dump(), spec.dump()));
  }

  void add_some_job() {
    const std::string& name = any(kJobs);
    if (job_named(name).is_null()) add_job(name);
  }

  void reconcile() {
    if (!select_any()) return;
    reconcile_selected();
  }

  void reconcile_selected() {
    say("reconcile " + world_.job.name);
    ++reconciles_;
    try {
      world_.reconcile();
    } catch (const Crash&) {
      say("(crash)");
      world_.restart_operator();
    }
  }

  void crash() {
    if (!select_any()) return;
    world_.api_server.crash_at_write = below(3);
    world_.api_server.crash_after_commit = below(2) == 0;
    reconcile_selected();
    world_.api_server.crash_at_write = -1;
  }

  void live() {
    say("live");
    world_.live();
    faults_.take_effect();
  }

  void pass_time() {
    const int seconds = 1 + below(40);
    say(fmt::format("{} s", seconds));
    world_.pass(std::chrono::seconds(seconds));
  }

  void admit() { queue_.admit(); }
  void change_quota() { queue_.change_quota(); }
  void evict_workload() { queue_.evict_one(); }

  void add_node() {
    const std::string& node = any(kNodes);
    if (!world_.api_server.find("nodes", node).is_null()) return;
    say("add node " + node);
    world_.add_node(node, 2);
  }

  void lose_node() {
    const std::string& node = any(kNodes);
    if (world_.api_server.find("nodes", node).is_null()) return;
    say("lose node " + node);
    if (const Json pod = world_.api_server.find("pods", world_.pod_on(node)); !pod.is_null()) {
      pods_of_lost_nodes_.insert(kube::uid_of(pod));
    }
    world_.remove_node(node);
    faults_.break_peers(node);
    if (below(2) == 0) collect_pods_of_lost_nodes();
  }

  void change_price() {
    if (most_nodes_) set_price(below(2) == 0 ? kPrice : kHighPrice);
  }
  void set_price(double dollars) {
    say(fmt::format("a GPU costs ${}", dollars));
    world_.add_pool("growing", {{"maxNodes", most_nodes_.value()}, {"pricePerGpuHour", fmt::format("{}", dollars)}});
  }

  void make_node() {
    for (const std::string& node : world_.make_nodes(1)) say("new node " + node);
  }

  void refuse_nodes() {
    if (world_.pods_without_node().empty()) return;
    const bool is_sold_out = below(2) == 0;
    say(is_sold_out ? "sold out" : "no pool can grow");
    world_.say_of_new_nodes(is_sold_out ? "FailedScaleUp" : "NotTriggerScaleUp", "there are none");
  }

  void lose_new_node() {
    std::vector<std::string> nodes;
    for (const Json& node : world_.api_server.all("nodes")) {
      if (kube::name_of(node).starts_with("new-")) nodes.push_back(kube::name_of(node));
    }
    if (nodes.empty()) return;
    const std::string& node = any(nodes);
    say("lose " + node);
    world_.remove_node(node);
    faults_.break_peers(node);
  }

  void preempt() {
    const std::string& node = any(kNodes);
    if (world_.api_server.find("nodes", node).is_null()) return;
    say("preempt " + node);
    world_.preempt(node);
  }

  void suspend() { set_suspended(true); }
  void resume() { set_suspended(false); }
  void set_suspended(bool is_suspended) {
    if (!select_any()) return;
    say(fmt::format("{} {}", is_suspended ? "suspend" : "resume", world_.job.name));
    world_.change_job([&](Json& job) { job["spec"]["suspend"] = is_suspended; });
  }

  void resize() {
    if (!select_any()) return;
    const int least = 1 + below(3);
    const int most = least + below(4);
    say(fmt::format("resize {} to {}-{}", world_.job.name, least, most));
    world_.change_job([&](Json& job) {
      job["spec"]["resources"] = {{"minGpus", least}, {"maxGpus", most}};
      job["spec"].erase("objective");
      job["spec"]["training"]["steps"] = kube::integer_at(job, {"spec", "training", "steps"}) + below(2);
    });
  }

  void delete_job() {
    if (!select_any()) return;
    const std::string uid = kube::uid_of(job_named(world_.job.name));
    const bool is_orphaning = below(3) == 0;
    say(fmt::format("delete {}{}", world_.job.name, is_orphaning ? ", orphaning" : ""));
    if (is_orphaning) {
      world_.disown();
    } else {
      world_.collect_garbage();
    }
    world_.delete_job();
    rules_.forget_job(uid);
    reconcile_selected();  // the watch reports the deletion
  }

  // Kubernetes does so some 40 seconds after the node is gone. If another node of the same name has come before, the
  // kubelet of that node ends the pod, of which it has no container. A pod that was never bound stays.
  void collect_pods_of_lost_nodes() {
    for (const Json& pod : world_.api_server.all("pods")) {
      const std::string node = kube::text_at(pod, {"spec", "nodeName"});
      const bool is_gone = !node.empty() && world_.api_server.find("nodes", node).is_null();
      if (is_gone || pods_of_lost_nodes_.contains(kube::uid_of(pod))) erase_pod(pod);
    }
  }

  void erase_pod(const Json& pod) { world_.api_server.erase(kPods, kube::name_of(pod)); }

  // The node and what runs on it are there, but nobody reaches them.
  void cut_off_node() {
    const std::string& node = any(kNodes);
    if (world_.api_server.find("nodes", node).is_null() || !cut_off_.insert(node).second) return;
    say("cut off " + node);
    if (!world_.pod_on(node).empty()) faults_.break_peers(node);
    world_.cut_off(node);
  }

  void reach_node() {
    if (!cut_off_.empty()) reach(*cut_off_.begin());
  }

  void reach(const std::string node) {  // a copy, because the set loses it
    say("reach " + node);
    cut_off_.erase(node);
    Json object = world_.api_server.find("nodes", node);
    if (object.is_null()) return;
    object["status"]["conditions"][0]["status"] = "True";
    world_.api_server.put("/api/v1/nodes", object);
    for (const Json& pod : world_.api_server.all("pods")) {
      const auto agent = world_.agents.find(kube::uid_of(pod));
      const bool is_here = node_of_pod(pod) == node;
      if (is_here && agent != world_.agents.end()) agent->second.unanswered_polls = 0;
    }
  }

  void evict_pod() {
    const std::string& node = any(kNodes);
    const std::chrono::seconds grace(1 + below(40));
    if (faults_.evict(node, grace)) say(fmt::format("evict the pod on {} in {} s", node, grace.count()));
  }

  void toggle_path() {
    const std::string &one = any(kNodes), &other = any(kNodes);
    if (one == other) return;
    say(fmt::format("toggle path {}-{}", one, other));
    faults_.toggle_path(one, other);
    faults_.take_effect();
  }

  // Its peers notice that it does not answer.
  void freeze_node() {
    const std::string& node = any(kNodes);
    if (world_.pod_on(node).empty() || !world_.frozen_nodes.insert(node).second) return;
    say("freeze the pod on " + node);
    faults_.break_peers(node);
  }
  void thaw_node() {
    if (world_.frozen_nodes.empty()) return;
    say("thaw " + *world_.frozen_nodes.begin());
    world_.frozen_nodes.erase(world_.frozen_nodes.begin());
  }

  // The agent says that its worker has failed. Its kubelet says so later (fail_pod).
  void tell_failure() {
    const std::string node = any(kNodes);
    const std::string name = world_.pod_on(node);
    const Json pod = world_.api_server.find("pods", name);
    const auto agent = world_.agents.find(kube::uid_of(pod));
    if (name.empty() || agent == world_.agents.end() || !agent->second.report || !is_live(pod)) return;
    say("the agent of " + name + " tells a failure");
    faults_.break_peers(node);
    world_.tell_failure(name, "out of memory");
  }

  void toggle_slow() {
    const World::Gpu gpu{any(kNodes), below(2)};
    say(fmt::format("toggle slow GPU {} of {}", gpu.second, gpu.first));
    faults_.toggle_slow(gpu, 1.5 + below(4));
  }
  void train() {
    const int steps = 1 + below(8);
    say(fmt::format("{} steps", steps));
    for (int i = 0; i < steps; ++i) {
      faults_.train();
      reconcile();
    }
  }

  void deliver_one() {
    if (world_.mails() == 0) return;
    say("one agent takes its assignment");
    world_.deliver_one(static_cast<std::size_t>(below(static_cast<int>(world_.mails()))));
    faults_.take_effect();
  }

  // A leader that is paused between its decision and its writes, and wakes when another one leads.
  void pause_operator() {
    if (!select_any() || paused_) return;
    say("pause at " + world_.job.name);
    paused_ = world_.reconcile_later();
    world_.restart_operator();
  }

  void wake_operator() {
    if (!paused_) return;
    say("wake");
    (void)std::exchange(paused_, nullptr)();
    rules_.note_write_of_former_leader();
  }

  // All workers of the newest generation that trains have done the last step. They end one after the other.
  void do_last_step() {
    if (!select_any()) return;
    // The last step of a job that is about to change is rarer, and more interesting, than that of another one.
    const Json record = world_.api_server.find("jobrecords", world_.job.name);
    const bool is_changing = !record.is_null() && record["spec"].contains("running");
    if (!is_changing && below(3) != 0) return;
    const std::string uid = kube::uid_of(job_named(world_.job.name));
    std::int64_t newest = 0;
    for (WorkerReport* worker : workers_of(uid)) {
      if (worker->phase == WorkerPhase::kBroken) return;  // the step was not done
      if (worker->phase == WorkerPhase::kTraining) newest = std::max(newest, worker->generation);
    }
    if (newest == 0) return;
    for (const WorkerReport* worker : workers_of(uid)) {
      const bool has_moved_on = worker->generation == newest || worker->phase != WorkerPhase::kTraining;
      if (!has_moved_on) return;  // the newest generation waits for this worker
    }
    if (record.is_null() || waits_for_a_member(record["spec"], newest)) return;
    say(fmt::format("last step of {} in generation {}", world_.job.name, newest));
    for (WorkerReport* worker : workers_of(uid)) {
      if (worker->phase == WorkerPhase::kTraining) worker->phase = WorkerPhase::kFinished;
    }
  }

  // Returns whether a member of the generation has not taken its assignment. No step is done without it.
  [[nodiscard]] bool waits_for_a_member(const Json& record, std::int64_t generation) const {
    const bool is_newest = kube::integer_at(record, {"generation"}) == generation;
    const Json& members =
        is_newest ? kube::list_at(record, {"members"}) : kube::list_at(record, {"running", "members"});
    for (const Json& member : members) {
      const auto agent = world_.agents.find(kube::text_at(member, {"podUid"}));
      if (agent == world_.agents.end() || !agent->second.report) continue;
      const auto trains = [&](const WorkerReport& worker) { return worker.generation == generation; };
      if (std::ranges::none_of(agent->second.report->workers, trains)) return true;
    }
    return false;
  }

  std::vector<WorkerReport*> workers_of(const std::string& job_uid) {
    std::vector<WorkerReport*> workers;
    for (const Json& pod : world_.api_server.all("pods")) {
      const auto agent = world_.agents.find(kube::uid_of(pod));
      if (kube::label_of(pod, kJobUidLabel) != job_uid || agent == world_.agents.end()) continue;
      if (!agent->second.report || !is_live(pod)) continue;
      for (WorkerReport& worker : agent->second.report->workers) workers.push_back(&worker);
    }
    return workers;
  }

  void end_done_pod() { (void)end_one_done_pod(); }
  bool end_one_done_pod() {
    for (const Json& pod : world_.api_server.all("pods")) {
      const auto agent = world_.agents.find(kube::uid_of(pod));
      if (agent == world_.agents.end() || !agent->second.report || !is_live(pod)) continue;
      const auto is_done = [](const WorkerReport& worker) { return worker.phase == WorkerPhase::kFinished; };
      if (!std::ranges::any_of(agent->second.report->workers, is_done)) continue;
      say("end " + kube::name_of(pod));
      world_.finish_pod(kube::name_of(pod));
      return true;
    }
    return false;
  }

  void fail_pod() {
    const std::string name = world_.pod_on(any(kNodes));
    if (name.empty() || !world_.agents.contains(kube::uid_of(world_.api_server.find("pods", name)))) return;
    if (!is_live(world_.api_server.find("pods", name))) return;
    say("fail " + name);
    faults_.break_peers(node_of_pod(world_.api_server.find("pods", name)));
    world_.fail_pod(name, "out of memory");
  }

  void lose_record() {
    if (!select_any() || world_.api_server.find("jobrecords", world_.job.name).is_null()) return;
    say("lose record " + world_.job.name);
    world_.lose_record();
  }

  void toggle_agents() {
    world_.agents_hang = !world_.agents_hang;
    say(world_.agents_hang ? "agents hang" : "agents work");
  }
  void toggle_kubelet() {
    const std::string& node = any(kNodes);
    if (world_.stuck_nodes.erase(node) == 0) world_.stuck_nodes.insert(node);
    say("toggle kubelet " + node);
  }
  void toggle_quota() {
    if (!world_.api_server.refusals.empty()) {
      world_.api_server.refusals.clear();
    } else {
      const Json refusal = {{"kind", "Status"}, {"reason", "Forbidden"}, {"message", "exceeded quota"}, {"code", 403}};
      world_.api_server.refusals["pods"] = {403, refusal.dump(), std::nullopt};
    }
    say("toggle quota");
  }

  std::mt19937 random_;
  World world_;
  PodFaults faults_{world_};
  std::optional<int> most_nodes_;             // of the pool, if it is declared
  std::set<std::string> cut_off_;             // nodes
  std::set<std::string> pods_of_lost_nodes_;  // their UIDs
  std::function<bool()> paused_;              // what a former leader still writes when it wakes
  std::vector<std::string> said_;
  int reconciles_ = 0;
  LifeQueue queue_{world_, [this](int limit) { return below(limit); }, [this](const std::string& what) { say(what); }};
  LifeRules rules_{world_, queue_, [this] { return story(); }};
};

void lead(int lives) {
  const std::uint32_t seed = test_seed();
  int reconciles = 0;
  for (int i = 0; i < lives && !::testing::Test::HasFailure(); ++i) {
    SCOPED_TRACE(fmt::format("life {} of seed {}", i, seed));
    Life life(seed + static_cast<std::uint32_t>(i));
    for (int action = 0; action < kActions && !::testing::Test::HasFailure(); ++action) life.act();
    life.come_to_rest();
    if (!::testing::Test::HasFailure()) life.rules().check_rest();
    reconciles += life.reconciles();
  }
  fmt::print("{} lives of {} actions, {} of which were reconciles\n", lives, kActions, reconciles);
}

TEST(RandomLives, BreakNoRuleAndComeToRest) { lead(40); }

TEST(ManyRandomLives, BreakNoRuleAndComeToRest) { lead(600); }

}  // namespace
}  // namespace sailor::testing
