#include "operator/reconcile/decide/slow_gpus.h"

#include <algorithm>
#include <iterator>
#include <ranges>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "core/model/speed_grade.h"
#include "operator/model/observation_queries.h"

namespace sailor {
namespace {

// An entry of a GPU that has recovered is kept for this long, and for ten times its distrust.
constexpr std::chrono::seconds kRemembered = std::chrono::minutes(10);
constexpr int kRememberedPerDistrust = 10;
// A slow GPU that nobody measures any more is tried again after this time.
constexpr std::chrono::seconds kTriedAgainAfter = 2 * kProbedFor;

std::string node_name(const Observation& observation, const std::string& uid) {
  const auto node = std::ranges::find(observation.cluster->nodes, uid, &NodeView::uid);
  return node == observation.cluster->nodes.end() ? uid : node->name;
}

std::string text_of(const Observation& observation, const SlowGpu& slow) {
  const std::string name = fmt::format("GPU {} of node {}", slow.gpu, node_name(observation, slow.node_uid));
  if (!slow.is_slow()) return name + " is as fast as usual again";
  return fmt::format("{} takes {:.1f} times as long as usual", name, slow.slowdown);
}

// Returns the texts of the first ones, and how many more there are: ", and 2 more are slow".
std::string text_of(const Observation& observation, const std::vector<SlowGpu>& gpus, const char* more) {
  constexpr std::size_t kMostNamed = 3;
  const std::size_t named = std::min(gpus.size(), kMostNamed);
  std::vector<std::string> texts;
  std::ranges::transform(gpus | std::views::take(named), std::back_inserter(texts),
                         [&](const SlowGpu& slow) { return text_of(observation, slow); });
  std::string text = fmt::format("{}", fmt::join(texts, ", "));
  if (named < gpus.size()) text += fmt::format(", and {} more {}", gpus.size() - named, more);
  return text;
}

// Returns the replica that uses the GPU, if there is one.
const Replica* replica_on(const Generation& generation, const SlowGpu& slow) {
  for (const ReplicaPlacement& placed : generation.placement.replicas) {
    const auto gpus = generation.gpus_of(placed);
    const bool is_on_node = generation.slot_of(placed).node_uid == slow.node_uid;
    if (is_on_node && std::ranges::find(gpus, slow.gpu) != gpus.end()) return &generation.replica_of(placed);
  }
  return nullptr;
}

bool has_probing_worker(const Observation& observation, const SlowGpu& slow) {
  return std::ranges::any_of(observation.pods, [&](const PodView& pod) {
    const AgentView* agent = find_agent(observation, pod);
    if (!pod.is_ours || agent == nullptr || !agent->report) return false;
    if (node_uid_of_pod(observation, pod.name) != slow.node_uid) return false;
    return std::ranges::any_of(agent->report->workers, [&](const WorkerReport& worker) {
      return worker.gpu == slow.gpu && worker.phase == WorkerPhase::kReleased;
    });
  });
}

// The estimates do not contain a GPU whose agent has missed a poll, nor those of an operator that has just started. So
// what counts is whether somebody measures the GPU, not whether its speed is known now.
bool is_over(const Observation& observation, const SlowGpu& slow) {
  if (!observation.cluster->node_uids.contains(slow.node_uid)) return true;
  const auto age = observation.now - slow.since;
  if (!slow.is_slow()) return age > kRemembered + kRememberedPerDistrust * slow.distrust;
  return age > kTriedAgainAfter && replica_on(observation.record.value(), slow) == nullptr &&
         !has_probing_worker(observation, slow);
}

// A GPU that gets slow again is trusted later each time.
void get_slow(SlowGpu& slow, double slowdown, Time now) {
  if (!slow.is_slow() && slow.since != Time()) {
    slow.distrust = std::clamp(2 * slow.distrust, kFirstDistrust, kLongestDistrust);
    slow.slow_until = now + slow.distrust;
  }
  slow.slowdown = slowdown;
  slow.since = now;
}

void recover(const Observation& observation, SlowGpu& slow, PolicyResult& result) {
  slow.slowdown = 1;
  slow.since = observation.now;
  result.events.push_back({false, Reason::kStragglerRecovered, text_of(observation, slow)});
}

// Returns whether the planner should be asked again because of this difference. A rescale costs more than a plan that
// is a little off, so a value near the limit of two grades must not go to and fro.
bool is_another_speed(double slowdown, double recorded) {
  constexpr double kLeastFactor = 1.15;
  return grade_of(slowdown) != grade_of(recorded) && std::max(slowdown / recorded, recorded / slowdown) >= kLeastFactor;
}

// Changes the entry to what is measured. That a GPU is slow counts at once; how slow it is, when that is certain.
void follow(const Observation& observation, SlowGpu& slow, const GpuSpeed& speed, PolicyResult& result) {
  if (speed.slowdown <= 1) {
    if (slow.is_slow() && observation.now >= slow.slow_until) recover(observation, slow, result);
  } else if (!slow.is_slow()) {
    get_slow(slow, speed.slowdown, observation.now);
  } else if (speed.is_settled && is_another_speed(speed.slowdown, slow.slowdown)) {
    if (speed.slowdown > slow.slowdown) slow.since = observation.now;
    slow.slowdown = speed.slowdown;
  }
}

// Notes the usual time of a probe. Another operator could not tell a GPU that has recovered meanwhile from one whose
// probes usually take so long. The time is written again only if it has changed clearly.
void note_usual_probe(SlowGpu& slow, const GpuSpeed& speed) {
  constexpr double kClearly = 1.1;
  if (!slow.is_slow() || !speed.usual_probe_seconds) return;
  const double before = slow.usual_probe_seconds;
  const double now = *speed.usual_probe_seconds;
  if (now > before * kClearly || now * kClearly < before) slow.usual_probe_seconds = now;
}

SlowGpu& entry_of(std::vector<SlowGpu>& entries, const GpuName& gpu) {
  const auto found = std::ranges::find_if(
      entries, [&](const SlowGpu& slow) { return slow.node_uid == gpu.node_uid && slow.gpu == gpu.gpu; });
  return found == entries.end() ? entries.emplace_back(SlowGpu{.node_uid = gpu.node_uid, .gpu = gpu.gpu}) : *found;
}

}  // namespace

std::optional<PolicyResult> note_slow_gpus(const Observation& observation) {
  const GenerationRecord& record = observation.record.value();
  GenerationRecord next = record;
  PolicyResult result;
  std::erase_if(next.slow_gpus, [&](const SlowGpu& slow) { return is_over(observation, slow); });
  for (const auto& [gpu, speed] : observation.gpu_speeds) {
    SlowGpu& entry = entry_of(next.slow_gpus, gpu);
    follow(observation, entry, speed, result);
    note_usual_probe(entry, speed);
    if (entry.since == Time()) next.slow_gpus.pop_back();  // it is new, and the GPU is not slow
  }
  if (next.slow_gpus == record.slow_gpus) return std::nullopt;
  write_record(result, std::move(next));
  return result;
}

std::vector<GpuOfGrade> slow_gpus_of(const Observation& observation, const NodeView& node, int gpus) {
  std::vector<GpuOfGrade> slow_gpus;
  if (!observation.record) return slow_gpus;
  for (const SlowGpu& slow : observation.record->slow_gpus) {
    if (slow.node_uid != node.uid || slow.gpu >= gpus || !slow.is_slow()) continue;
    slow_gpus.push_back({slow.gpu, grade_of(slow.slowdown)});
  }
  std::ranges::sort(slow_gpus, {}, &GpuOfGrade::gpu);
  return slow_gpus;
}

bool is_probed(const Observation& observation, const GenerationRecord& record, const PodView& pod) {
  if (record.releases_gpus || is_stale(record, pod)) return false;
  const std::string node_uid = node_uid_of_pod(observation, pod.name);
  return std::ranges::any_of(record.slow_gpus, [&](const SlowGpu& slow) {
    return slow.is_slow() && slow.node_uid == node_uid && observation.now - slow.since < kProbedFor;
  });
}

std::string slow_gpus_text(const Observation& observation, const GenerationRecord& record) {
  std::vector<SlowGpu> slow;
  std::ranges::copy_if(record.slow_gpus, std::back_inserter(slow), &SlowGpu::is_slow);
  return text_of(observation, slow, "are slow");
}

std::string recovered_gpus_text(const Observation& observation, Time then) {
  const GenerationRecord& record = observation.record.value();
  std::vector<SlowGpu> recovered;
  std::ranges::copy_if(record.slow_gpus, std::back_inserter(recovered), [&](const SlowGpu& slow) {
    if (slow.is_slow() || slow.since <= then) return false;
    const Replica* replica = replica_on(record, slow);
    return replica == nullptr || replica->pool.grade != 0;
  });
  return text_of(observation, recovered, "have recovered");
}

}  // namespace sailor
