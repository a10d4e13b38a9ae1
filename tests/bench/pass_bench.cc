// Passes of the operator over one job of a large cluster: it observes the job and decides. The job trains and there is
// nothing to do, or it looks for GPUs beside many others that do. The objects are those of a job that trains in a
// World, copied under other names.
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <benchmark/benchmark.h>
#include <fmt/format.h>

#include "core/manifest/manifest.h"
#include "operator/model/names.h"
#include "operator/reconcile/decide/decide.h"
#include "operator/reconcile/observe/observer.h"
#include "tests/operator/world.h"

namespace {

using sailor::JobKey;
using sailor::kube::Json;
using sailor::testing::World;

constexpr int kNodesOfAJob = 4;

std::string replaced(std::string text, const std::string& from, const std::string& to) {
  for (std::size_t at = text.find(from); at != std::string::npos; at = text.find(from, at + to.size()))
    text.replace(at, from.size(), to);
  return text;
}

// The objects and agents of one job that trains on four nodes.
struct TrainingJob {
  TrainingJob() {
    world.job = {"default", "job0"};
    for (int i = 0; i < kNodesOfAJob; ++i) world.add_node(fmt::format("node0-{}", i), 2);
    world.add_job({{"resources", {{"minGpus", 8}, {"maxGpus", 8}}}});
    world.settle();
    uid = sailor::kube::uid_of(world.api_server.find("trainingjobs", "job0"));
  }
  [[nodiscard]] Json copy(const Json& object, int number) const {
    std::string text = replaced(object.dump(), "job0", fmt::format("job{}", number));
    text = replaced(text, "node0-", fmt::format("node{}-", number));
    return Json::parse(replaced(text, "uid-", fmt::format("uid-{}-", number)));
  }
  void put_all(const char* plural, int jobs, sailor::kube::Store& store) const {
    std::vector<Json> copies;
    for (const Json& object : world.api_server.all(plural)) {
      for (int number = 0; number < jobs; ++number) copies.push_back(copy(object, number));
    }
    store.replace(std::move(copies));
  }

  World world;
  std::string uid;
};

// An operator that sees so many of these jobs.
class Fleet {
 public:
  explicit Fleet(int jobs)
      : observer_(caches_, {.trainer_image = "trainer:1", .callback = "http://127.0.0.1:8082"}, sources()) {
    job_.put_all("trainingjobs", jobs, caches_.jobs);
    job_.put_all("pods", jobs, caches_.pods);
    job_.put_all("jobrecords", jobs, caches_.records);
    job_.put_all("nodes", jobs, caches_.nodes);
    for (sailor::kube::Store* store :
         {&caches_.pools, &caches_.foreign_pods, &caches_.priority_classes, &caches_.profiles, &caches_.plan_maps,
          &caches_.scale_ups, &caches_.start_failures})
      store->replace({});
    for (const auto& [pod_uid, agent] : job_.world.agents) agents_[replaced(pod_uid, "uid-", "uid-0-")] = agent;
  }

  void pass(int job) { look_at(fmt::format("job{}", job)); }
  // Adds so many jobs that look for GPUs, and so many nodes that are free.
  void add_waiting(int jobs, int nodes) {
    const Json trains = *caches_.jobs.find({"default", "job0"});
    for (int number = 0; number < jobs; ++number) {
      Json waits = Json::parse(replaced(trains.dump(), "job0", fmt::format("waiting{}", number)));
      waits["metadata"]["uid"] = fmt::format("uid-waiting-{}", number);
      waits["status"] = Json::parse(R"({"conditions": [{"type": "Planned", "status": "False",
                                        "reason": "WaitingForCapacity", "message": "too few GPUs are free"}]})");
      caches_.jobs.put(std::move(waits));
    }
    const Json used = *caches_.nodes.find({"", "node0-0"});
    for (int number = 0; number < nodes; ++number) {
      Json free = Json::parse(replaced(used.dump(), "node0-0", fmt::format("free-{}", number)));
      free["metadata"]["uid"] = fmt::format("uid-free-{}", number);
      caches_.nodes.put(std::move(free));
    }
    for (int number = 0; number < jobs; ++number) look_at(fmt::format("waiting{}", number));
  }
  void waiting_pass() { look_at("waiting0"); }
  // A kubelet reports, or the operator has written the progress of a job.
  void touch_node(int job) { touch(caches_.nodes, {"", fmt::format("node{}-0", job)}); }
  void touch_job(int job) { touch(caches_.jobs, {"default", fmt::format("job{}", job)}); }

 private:
  // As the controller does, without what it writes.
  void look_at(const std::string& job) {
    const auto observation = observer_.observe({"default", job});
    benchmark::DoNotOptimize(sailor::decide(observation.value()));
    benchmark::DoNotOptimize(observer_.note_decided(observation.value()));
  }
  void touch(sailor::kube::Store& store, const JobKey& key) {
    Json changed = *store.find(key);
    changed["metadata"]["resourceVersion"] = std::to_string(++version_);
    store.put(std::move(changed));
  }
  sailor::ObserverSources sources() {
    sailor::ObserverSources sources;
    sources.read_job = sailor::job_from_manifest;
    sources.profiles = [] { return nullptr; };
    sources.agents = [this](const JobKey& key) {
      return key.name == "job0" ? agents_ : std::map<std::string, sailor::AgentView>();
    };
    sources.answers = [](const JobKey&) { return std::vector<sailor::PlanAnswer>(); };
    sources.refusal = [](const JobKey&) { return std::nullopt; };
    sources.trust_change = [] { return std::nullopt; };
    sources.secured_at = [](const JobKey&, const std::string&) { return std::nullopt; };
    sources.clock = [this] { return job_.world.now; };
    sources.monotonic = [this] { return job_.world.monotonic; };
    return sources;
  }

  TrainingJob job_;
  std::map<std::string, sailor::AgentView> agents_;
  sailor::Caches caches_;
  sailor::Observer observer_;
  long version_ = 1'000'000;
};

enum class Change { kNone, kNode, kJob };

// Something has changed before each pass, but for none of the jobs.
void pass(benchmark::State& state, Change change) {
  const int jobs = static_cast<int>(state.range(0));
  Fleet fleet(jobs);
  int changed = 0;
  for (auto _ : state) {
    changed = (changed + 1) % jobs;
    if (change == Change::kNode) fleet.touch_node(changed);
    if (change == Change::kJob) fleet.touch_job(changed);
    fleet.pass(0);
  }
  state.counters["goal"] = 0.001;
}
BENCHMARK_CAPTURE(pass, at_rest, Change::kNone)->Arg(1)->Arg(1000)->Unit(benchmark::kMicrosecond);
BENCHMARK_CAPTURE(pass, after_change_of_node, Change::kNode)->Arg(1)->Arg(1000)->Unit(benchmark::kMicrosecond);
BENCHMARK_CAPTURE(pass, after_change_of_job, Change::kJob)->Arg(1)->Arg(1000)->Unit(benchmark::kMicrosecond);

// Many jobs train, many wait, and each has its own nodes or finds some free.
void waiting_pass(benchmark::State& state) {
  const int jobs = static_cast<int>(state.range(0));
  Fleet fleet(jobs);
  fleet.add_waiting(jobs, jobs / 10);
  int changed = 0;
  for (auto _ : state) {
    changed = (changed + 1) % jobs;
    fleet.touch_job(changed);
    fleet.touch_node(changed);
    fleet.waiting_pass();
  }
  state.counters["goal"] = 0.001;
}
BENCHMARK(waiting_pass)->Arg(10)->Arg(1000)->Unit(benchmark::kMicrosecond);

}  // namespace

BENCHMARK_MAIN();
