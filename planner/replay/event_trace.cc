#include "planner/replay/event_trace.h"

#include <algorithm>
#include <optional>
#include <set>
#include <sstream>

#include <fmt/format.h>

#include "planner/replay/json_text.h"

namespace sailor {
namespace {

using Json = nlohmann::json;

constexpr double kMostMilliseconds = 1e13;

// Times are in milliseconds, as in the text, so that they compare exactly.
struct NodeEvent {
  double at = 0;
  std::string verb;
  std::vector<std::string> nodes;
  double duration = 0;
};

bool is_time(const Json& value) {
  return value.is_number() && value.get<double>() >= 0 && value.get<double>() <= kMostMilliseconds;
}

Result<NodeEvent> event_of(const JsonText& line) {
  const Json& event = line.root();
  const bool is_event = event.is_array() && event.size() == 3 && event[1].is_string() && event[2].is_object();
  if (!is_event) {
    return line.error_at({}, R"(is not an event: [milliseconds, verb, {"nodes": [...], "duration": ...}])");
  }
  if (!is_time(event[0])) return line.error_at({"0"}, "is not a number of milliseconds, at least 0");
  static const std::set<std::string> verbs = {"add", "remove", "no-op", "migration"};
  const auto verb = event[1].get<std::string>();
  if (!verbs.contains(verb)) {
    return line.error_at({"1"}, fmt::format("unknown verb {}; use add, remove, no-op or migration", verb));
  }
  const Json names = event[2].value("nodes", Json::array());
  if (!names.is_array() || !std::ranges::all_of(names, [](const Json& name) { return name.is_string(); })) {
    return line.error_at({"2", "nodes"}, "nodes: is not a list of names");
  }
  const Json duration = event[2].value("duration", Json());
  if (!is_time(duration)) return line.error_at({"2", "duration"}, "duration: is not a number of milliseconds");
  return NodeEvent{event[0].get<double>(), verb, names.get<std::vector<std::string>>(), duration.get<double>()};
}

// Applies events one after the other.
class EventReader {
 public:
  Result<void> read(const JsonText& line) {
    const auto event = event_of(line);
    if (!event) return tl::unexpected(event.error());
    if (auto done = check_time(*event, line); !done) return done;
    if (auto done = apply(*event, line); !done) return done;
    add_change(Seconds(event->at / 1e3));
    end_ = event->at + event->duration;
    trace_.end = Seconds(end_ / 1e3);
    return {};
  }
  [[nodiscard]] const Trace& trace() const { return trace_; }

 private:
  [[nodiscard]] Result<void> check_time(const NodeEvent& event, const JsonText& line) const {
    if (trace_.changes.empty() || event.at == end_) return {};
    const std::string until = fmt::format("the event before it lasts until {} ms", end_);
    return line.error_at({"0"}, event.at < end_ ? "overlaps: " + until : "leaves a gap: " + until);
  }

  Result<void> apply(const NodeEvent& event, const JsonText& line) {
    for (std::size_t i = 0; i < event.nodes.size(); ++i) {
      const std::string& node = event.nodes[i];
      const bool adds = event.verb == "add";
      if (!adds && event.verb != "remove") continue;
      const bool is_changed = adds ? nodes_.insert(node).second : nodes_.erase(node) > 0;
      if (is_changed) continue;
      return line.error_at({"2", "nodes", std::to_string(i)},
                           adds ? fmt::format("adds node {}, which is there already", node)
                                : fmt::format("removes node {}, which is not there", node));
    }
    return {};
  }

  void add_change(Seconds at) {
    const std::vector<std::string> names(nodes_.begin(), nodes_.end());
    if (trace_.changes.empty() && at > Seconds(0)) trace_.changes.push_back({Seconds(0), 0});
    if (!trace_.changes.empty() && trace_.changes.back().nodes == names) return;
    trace_.changes.push_back({at, static_cast<int>(names.size()), names});
  }

  Trace trace_{.names_nodes = true, .changes = {}, .end = {}};
  std::set<std::string> nodes_;
  double end_ = 0;  // of the last event
};

}  // namespace

Result<Trace> events_of_nodes(const std::string& text) {
  EventReader reader;
  std::optional<JsonText> last;
  std::istringstream lines(text);
  int number = 0;
  for (std::string line; std::getline(lines, line);) {
    ++number;
    if (line.find_first_not_of(" \t\r") == std::string::npos) continue;
    auto parsed = JsonText::parse(line, number);
    if (!parsed) return tl::unexpected(parsed.error());
    if (auto done = reader.read(*parsed); !done) return tl::unexpected(std::move(done.error()));
    last = *std::move(parsed);
  }
  if (last && reader.trace().end == Seconds(0)) {
    return last->error_at({"2", "duration"}, "duration: the trace ends at 0 ms here, so there is nothing to replay");
  }
  return reader.trace();
}

}  // namespace sailor
