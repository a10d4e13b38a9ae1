#include "planner/replay/trace.h"

#include <algorithm>
#include <cmath>
#include <set>
#include <sstream>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace sailor {
namespace {

using Json = nlohmann::json;

constexpr double kMostSeconds = 1e10;
constexpr double kMostAmount = 1e8;

tl::unexpected<Error> wrong(const std::string& where, const std::string& what) {
  return fail(ErrorCode::kInvalidArgument, fmt::format("{}: {}", where, what));
}

bool is_between(const Json& value, double low, double high) {
  return value.is_number() && value.get<double>() >= low && value.get<double>() <= high;
}

bool is_amount(const Json& value) {
  return is_between(value, 0, kMostAmount) && std::floor(value.get<double>()) == value.get<double>();
}

void add_change(Trace& trace, Seconds at, int amount) {
  if (trace.changes.empty() || trace.changes.back().amount != amount) trace.changes.push_back({at, amount});
}

Result<Trace> from_gaps(const Json& json) {
  const Json metadata = json.value("metadata", Json::object());
  const Json gap = metadata.is_object() ? metadata.value("gap_seconds", Json()) : Json();
  if (!is_between(gap, 1e-3, kMostSeconds)) {
    return wrong("metadata.gap_seconds", "is not a number of seconds above zero");
  }
  const Json data = json.value("data", Json());
  if (!data.is_array() || data.empty()) return wrong("data", "is not a list of counts");
  Trace trace;
  for (std::size_t i = 0; i < data.size(); ++i) {
    if (!is_amount(data[i])) return wrong(fmt::format("data[{}]", i), "is not a count of nodes");
    add_change(trace, Seconds(gap.get<double>() * static_cast<double>(i)), data[i].get<int>());
  }
  trace.end = Seconds(gap.get<double>() * static_cast<double>(data.size()));
  return trace;
}

// The last sample lasts as long as the one before it.
Result<Trace> from_samples(const Json& json) {
  Trace trace{.unit = Trace::Unit::kGpus, .changes = {}, .end = {}};
  Seconds before;
  Seconds last;
  for (std::size_t i = 0; i < json.size(); ++i) {
    const std::string where = fmt::format("[{}]", i);
    if (!json[i].is_object()) return wrong(where, "is not an object with Time and GPUs");
    const Json time = json[i].value("Time", Json());
    const Json gpus = json[i].value("GPUs", Json());
    if (!is_between(time, 0, kMostSeconds)) return wrong(where + ".Time", "is not a number of seconds");
    if (!is_amount(gpus)) return wrong(where + ".GPUs", "is not a count of GPUs");
    if (i > 0 && Seconds(time.get<double>()) <= last) return wrong(where + ".Time", "is not after the one before it");
    if (i == 0 && time.get<double>() > 0) add_change(trace, Seconds(0), 0);
    before = last;
    last = Seconds(time.get<double>());
    add_change(trace, last, gpus.get<int>());
  }
  trace.end = last + (last - before);
  if (trace.end <= Seconds(0)) return wrong("[1]", "is missing; a trace needs at least two samples");
  return trace;
}

struct NodeEvent {
  Seconds at{};
  std::string verb;
  std::vector<std::string> nodes;
  Seconds duration{};
};

// Reads [milliseconds, verb, {"nodes": [...], "duration": milliseconds}].
Result<NodeEvent> event_of(const std::string& line, const std::string& where) {
  const Json event = Json::parse(line, nullptr, false);
  const bool is_event = event.is_array() && event.size() == 3 && is_between(event[0], 0, kMostSeconds * 1e3) &&
                        event[1].is_string() && event[2].is_object();
  if (!is_event) return wrong(where, R"(is not an event: [milliseconds, verb, {"nodes": [...], "duration": ...}])");
  const Json names = event[2].value("nodes", Json::array());
  const Json duration = event[2].value("duration", Json());
  if (!names.is_array() || !std::ranges::all_of(names, [](const Json& name) { return name.is_string(); })) {
    return wrong(where, "nodes: is not a list of names");
  }
  if (!is_between(duration, 0, kMostSeconds * 1e3)) return wrong(where, "duration: is not a number of milliseconds");
  return NodeEvent{Seconds(event[0].get<double>() / 1e3), event[1].get<std::string>(),
                   names.get<std::vector<std::string>>(), Seconds(duration.get<double>() / 1e3)};
}

Result<Trace> from_events(const std::string& text) {
  Trace trace;
  std::set<std::string> nodes;
  std::istringstream lines(text);
  int number = 0;
  for (std::string line; std::getline(lines, line);) {
    const std::string where = fmt::format("line {}", ++number);
    if (line.find_first_not_of(" \t\r") == std::string::npos) continue;
    const auto event = event_of(line, where);
    if (!event) return tl::unexpected(event.error());
    if (!trace.changes.empty() && event->at < trace.changes.back().at) {
      return wrong(where, "is before the one above it");
    }
    for (const std::string& node : event->nodes) {
      if (event->verb == "add") nodes.insert(node);
      if (event->verb == "remove") nodes.erase(node);
    }
    add_change(trace, event->at, static_cast<int>(nodes.size()));
    trace.end = event->at + event->duration;
  }
  if (trace.changes.empty()) return wrong("line 1", "is missing; the trace is empty");
  return trace;
}

}  // namespace

Result<Trace> parse_trace(const std::string& text) {
  const Json json = Json::parse(text, nullptr, false);
  if (json.is_object()) return from_gaps(json);
  if (json.is_array() && !json.empty() && json.front().is_object()) return from_samples(json);
  return from_events(text);
}

Pool limited(Pool pool, Trace::Unit unit, int amount) {
  std::vector<NodeGroup> left;
  for (const NodeGroup& group : pool.nodes) {
    const int whole = unit == Trace::Unit::kNodes ? amount : amount / group.free_gpus;
    const int taken = std::min(group.count, whole);
    if (taken > 0) left.push_back({group.free_gpus, taken});
    amount -= unit == Trace::Unit::kNodes ? taken : taken * group.free_gpus;
    const bool is_part_left = unit == Trace::Unit::kGpus && taken < group.count && amount > 0 && !pool.whole_nodes;
    if (is_part_left) left.push_back({amount, 1});
    if (taken < group.count) break;
  }
  pool.nodes = std::move(left);
  return pool;
}

}  // namespace sailor
