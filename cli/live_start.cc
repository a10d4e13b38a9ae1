#include "cli/live_start.h"

#include <algorithm>
#include <memory>

#include <fmt/format.h>

#include "core/model/counted.h"
#include "operator/reconcile/decide/competition.h"
#include "operator/reconcile/decide/next_generation.h"
#include "operator/reconcile/decide/queueing.h"
#include "operator/reconcile/decide/starting_plan.h"

namespace sailor::cli {
namespace {

// Asks what the result wants to know. Returns whether it wanted anything.
bool answer_questions(const PolicyResult& result, Observation& observation, const AskPlan& ask) {
  bool has_asked = false;
  for (const Action& action : result.actions) {
    const auto* question = std::get_if<AskPlanner>(&action);
    if (question == nullptr) continue;
    observation.answers.push_back({question->question, ask(question->question), observation.now});
    has_asked = true;
  }
  return has_asked;
}

StartingPlan look_up(Observation& observation, const AskPlan& ask) {
  while (true) {
    StartingPlan start = look_up_starting_plan(observation, {.scope = NodeScope::kExisting});
    if (!answer_questions(ask_planner(start.lookup), observation, ask)) return start;
  }
}

std::string name_of(const Rival& rival) {
  return fmt::format("job {} (priority {})", to_string(rival.rank.key), rival.rank.priority);
}

std::vector<GpuHolder> holders_in(const Observation& observation) {
  std::vector<GpuHolder> holders;
  for (const auto& [rival, gpus] : Competition(observation).holders()) {
    holders.push_back(rival == nullptr ? GpuHolder{"", 0, gpus}
                                       : GpuHolder{to_string(rival->rank.key), rival->rank.priority, gpus});
  }
  return holders;
}

std::string fate_of(const Rival& rival, int left) {
  const bool is_enough = rival.demand != nullptr && left > 0 && left >= rival.demand->resources.min_gpus;
  if (!is_enough) return "waits";
  return rival.demand->elasticity == ElasticityMode::kLive ? "shrinks" : "restarts";
}

// The jobs whose GPUs the generation claims.
std::vector<JobThatGives> jobs_that_give(const Observation& observation, const GenerationRecord& record) {
  auto claimed = std::make_shared<ClusterView>(*observation.cluster);
  for (const Slot& slot : record.placement.slots) {
    claimed->nodes.change(slot.node, [&](NodeView& node) {
      add_claim(node, {observation.job.uid, slot.node, slot.node_uid, slot.gpus, slot.pool});
    });
  }
  Observation after = observation;
  after.cluster = std::move(claimed);
  std::vector<JobThatGives> jobs;
  for (const auto& [rival, had, left] : Competition(after).losses())
    jobs.push_back({rival->rank.key, rival->rank.priority, had - left, left, fate_of(*rival, left)});
  return jobs;
}

// Returns why the plan needs new nodes; empty: it needs none.
std::string why_it_grows(const Observation& observation, const GenerationRecord& record, const NodeQuery& query) {
  const bool grows = std::ranges::any_of(record.placement.slots, [](const Slot& slot) { return slot.node.empty(); });
  if (!grows) return "";
  const PlanLookup existing = look_up_plan(observation, usable_nodes(observation, query), std::nullopt);
  return existing.has_no_plan() ? existing.answer->result.error().message : "";
}

// Fills in why there is no plan.
void explain_wait(LiveStart& live, Observation& observation, const StartingPlan& start, const AskPlan& ask) {
  PolicyResult waits = await_start(observation, start);
  while (answer_questions(waits, observation, ask)) waits = await_start(observation, look_up(observation, ask));
  live.planned = waits.conditions.at(ConditionType::kPlanned);
  if (live.planned.reason == Reason::kWaitingForCapacity) live.holders = holders_in(observation);
}

std::string text_of(const JobThatGives& job) {
  const std::string given = fmt::format("The job takes {} of the {} of job {} (priority {})", job.gpus,
                                        counted(job.gpus + job.left, "GPU"), to_string(job.job), job.priority);
  if (job.then == "waits") return given + ", which saves its state and waits.";
  const char* how = job.then == "shrinks" ? "goes on" : "starts again from its state";
  return fmt::format("{}, which {} with at most {} of them.", given, how, job.left);
}

nlohmann::json to_json(const QueueAnswer& queue) {
  nlohmann::json flavors = nlohmann::json::array();
  for (const FlavorRoom& room : queue.flavors)
    flavors.push_back({{"flavor", room.flavor}, {"quota", room.quota}, {"used", room.used}, {"left", room.left}});
  nlohmann::json holders = nlohmann::json::array();
  for (const QuotaHolder& holder : queue.holders) holders.push_back({{"holder", holder.name}, {"gpus", holder.gpus}});
  return {{"queue", queue.queue},          {"clusterQueue", queue.cluster_queue},
          {"askedGpus", queue.asked},      {"leastGpus", queue.least},
          {"givenGpus", queue.given},      {"flavor", queue.flavor},
          {"flavors", std::move(flavors)}, {"holders", std::move(holders)}};
}

}  // namespace

LiveStart start_now(Observation observation, std::optional<QueueAnswer> queue, const AskPlan& ask) {
  LiveStart live;
  live.queue = std::move(queue);
  if (const auto quota = await_quota(observation)) {
    live.planned = quota->conditions.at(ConditionType::kPlanned);
    if (live.queue) live.planned.message = sentence_about(*live.queue);
    return live;
  }
  if (const Rival* first = Competition(observation).find_turn_before()) live.first = name_of(*first);
  const StartingPlan start = look_up(observation, ask);
  if (!start.lookup.has_plan()) {
    explain_wait(live, observation, start, ask);
    return live;
  }
  const PolicyResult adopted =
      adopt_plan(observation, std::nullopt, *start.lookup.answer, start.query, {Reason::kStarted, ""});
  if (!adopted.record) {
    live.planned = adopted.conditions.at(ConditionType::kPlanned);
    return live;
  }
  live.answer = *start.lookup.answer;
  live.gives = jobs_that_give(observation, *adopted.record);
  live.existing_nodes = why_it_grows(observation, *adopted.record, start.query);
  return live;
}

std::vector<std::string> sentences_about(const LiveStart& start) {
  std::vector<std::string> sentences;
  if (start.queue && start.answer) sentences.push_back(sentence_about(*start.queue));
  if (!start.first.empty())
    sentences.push_back(fmt::format("The operator plans {} first, which may take these GPUs.", start.first));
  for (const JobThatGives& job : start.gives) sentences.push_back(text_of(job));
  if (!start.existing_nodes.empty()) {
    sentences.push_back("on the nodes that exist: " + start.existing_nodes);
    sentences.emplace_back("this plan also uses nodes that the cluster would have to add");
  }
  return sentences;
}

nlohmann::json to_json(const LiveStart& start) {
  nlohmann::json json = nlohmann::json::object();
  json["takes"] = nlohmann::json::array();
  for (const JobThatGives& job : start.gives) {
    json["takes"].push_back({{"job", to_string(job.job)},
                             {"priority", job.priority},
                             {"gpus", job.gpus},
                             {"left", job.left},
                             {"then", job.then}});
  }
  json["first"] = start.first.empty() ? nlohmann::json() : nlohmann::json(start.first);
  if (start.queue) json["queue"] = to_json(*start.queue);
  if (start.answer) return json;
  nlohmann::json holders = nlohmann::json::array();
  for (const GpuHolder& holder : start.holders) {
    nlohmann::json& one = holders.emplace_back(nlohmann::json{{"gpus", holder.gpus}});
    if (holder.name.empty()) continue;
    one["job"] = holder.name;
    one["priority"] = holder.priority;
  }
  json["waits"] = {
      {"reason", to_string(start.planned.reason)}, {"message", start.planned.message}, {"holders", std::move(holders)}};
  return json;
}

}  // namespace sailor::cli
