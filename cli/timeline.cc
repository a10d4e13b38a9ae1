#include "cli/timeline.h"

#include <fmt/format.h>

namespace sailor::cli {
namespace {

using Json = nlohmann::json;

double microseconds(Nanoseconds time) { return static_cast<double>(time.count()) / 1e3; }

Json named(const char* what, std::size_t stage, std::size_t thread, std::string name) {
  return {{"ph", "M"}, {"name", what}, {"pid", stage}, {"tid", thread}, {"args", {{"name", std::move(name)}}}};
}

Json slice(std::string name, std::size_t stage, std::size_t thread, Nanoseconds start, Nanoseconds end) {
  return {{"ph", "X"},     {"name", std::move(name)},   {"pid", stage},
          {"tid", thread}, {"ts", microseconds(start)}, {"dur", microseconds(end - start)}};
}

void add_stage(const StepTiming& timing, const Stage& of_plan, std::size_t stage, Json& events) {
  events.push_back(named("process_name", stage, 0,
                         fmt::format("stage {}: layers {}-{}", stage, of_plan.first_layer, of_plan.last_layer - 1)));
  for (std::size_t r = 0; r < of_plan.replicas.size(); ++r) {
    const Replica& replica = of_plan.replicas[r];
    events.push_back(named("thread_name", stage, r,
                           fmt::format("{}: {} x {}", r, replica.tensor_parallel, to_string(replica.pool))));
    for (const TimedPass& pass : timing.passes[stage][r]) {
      events.push_back(
          slice(fmt::format("{} {}", to_string(pass.kind), pass.microbatch), stage, r, pass.start, pass.end));
    }
  }
  const std::size_t sync = of_plan.replicas.size();
  events.push_back(named("thread_name", stage, sync, "gradient sync and update"));
  if (timing.synced[stage] > timing.passes_done[stage]) {
    events.push_back(slice("gradient sync", stage, sync, timing.passes_done[stage], timing.synced[stage]));
  }
  if (timing.updated[stage] > timing.synced[stage]) {
    events.push_back(slice("update", stage, sync, timing.synced[stage], timing.updated[stage]));
  }
}

// Messages may overlap, so they are pairs of begin and end events. Slices would have to nest.
void add_message(const TimedMessage& message, std::size_t id, Json& events) {
  const int stage = message.is_gradient ? message.boundary + 1 : message.boundary;
  const std::string name = fmt::format("{} {} from replica {} to {}", message.is_gradient ? "gradient" : "activation",
                                       message.microbatch, message.from, message.to);
  for (const auto& [phase, at] : {std::pair("b", message.start), std::pair("e", message.end)}) {
    events.push_back({{"ph", phase},
                      {"cat", "message"},
                      {"name", name},
                      {"id", id},
                      {"pid", stage},
                      {"tid", message.from},
                      {"ts", microseconds(at)}});
  }
}

}  // namespace

Json trace_json(const StepTiming& timing, const Plan& plan) {
  Json events = Json::array();
  for (std::size_t stage = 0; stage < plan.stages.size(); ++stage) add_stage(timing, plan.stages[stage], stage, events);
  for (std::size_t id = 0; id < timing.messages.size(); ++id) add_message(timing.messages[id], id, events);
  return {{"displayTimeUnit", "ms"}, {"traceEvents", std::move(events)}};
}

}  // namespace sailor::cli
