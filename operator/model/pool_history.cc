#include "operator/model/pool_history.h"

#include <algorithm>
#include <cmath>
#include <cstdint>

namespace sailor {
namespace {

using kube::Json;

constexpr double kSecondsPerHour = 3600;
constexpr double kMostEvents = 1e9;  // far more than any pool has in some hours

Time time_of(Seconds time) { return later(Time(), time.value()); }

// Returns a negative number if the field is absent, is no number, or is too large.
double number_at(const Json& json, const char* field) {
  const auto found = json.find(field);
  if (found == json.end() || !found->is_number()) return -1;
  const double number = found->get<double>();
  return number <= kMostEvents ? number : -1;
}

Seconds time_at(const Json& json, const char* field, Time now) {
  const auto time = parse_rfc3339(kube::text_at(json, {field}));
  return time ? history_time(std::min(*time, now)) : NodeHistory().last_drop;
}

}  // namespace

Seconds history_time(Time time) { return Seconds(std::chrono::duration<double>(time.time_since_epoch()).count()); }

Json to_json(const NodeHistory& history) {
  Json json = {{"time", to_rfc3339(time_of(history.at))},
               {"nodes", history.nodes},
               {"losses", history.losses},
               {"drops", history.drops},
               {"arrivals", history.arrivals},
               {"nodeHours", history.node_time.value() / kSecondsPerHour}};
  if (history.last_drop >= Seconds(0)) json["lastDropTime"] = to_rfc3339(time_of(history.last_drop));
  if (history.last_arrival >= Seconds(0)) json["lastArrivalTime"] = to_rfc3339(time_of(history.last_arrival));
  return json;
}

std::optional<NodeHistory> history_of(const Json& gpu_pool, Time now) {
  const Json* stored = kube::find_at(gpu_pool, {"status", "history"});
  if (stored == nullptr || !stored->is_object()) return std::nullopt;
  const auto at = parse_rfc3339(kube::text_at(*stored, {"time"}));
  const double nodes = number_at(*stored, "nodes");
  NodeHistory history;
  history.losses = number_at(*stored, "losses");
  history.drops = number_at(*stored, "drops");
  history.arrivals = number_at(*stored, "arrivals");
  const double node_hours = number_at(*stored, "nodeHours");
  const double least = std::min({nodes, history.losses, history.drops, history.arrivals, node_hours});
  if (!at || *at < Time() || !(least >= 0) || nodes > kMostEvents) return std::nullopt;
  history.at = history_time(std::min(*at, now));
  history.nodes = static_cast<int>(nodes);
  history.node_time = Seconds(node_hours * kSecondsPerHour);
  history.last_drop = time_at(*stored, "lastDropTime", now);
  history.last_arrival = time_at(*stored, "lastArrivalTime", now);
  return history;
}

}  // namespace sailor
