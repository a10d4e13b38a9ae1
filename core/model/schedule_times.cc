#include "core/model/schedule_times.h"

#include <algorithm>

#include <fmt/format.h>

#include "core/model/json_reader.h"

namespace sailor {
namespace {

using Json = nlohmann::json;
using Row = std::vector<std::int64_t>;  // the number of repetitions, then the values

constexpr std::size_t kReplicaRow = 6;   // count, forward, backward, link class, cap, NIC
constexpr std::size_t kLinkNumbers = 3;  // latency, occupancy, NIC

Row row_of(const ReplicaTimes& replica) {
  return {1, replica.forward.count(), replica.backward.count(), replica.link_class, replica.cap, replica.nic};
}

Row row_of(const std::vector<LinkTimes>& boundary) {
  Row row{1};
  for (const LinkTimes& link : boundary) {
    row.insert(row.end(), {link.latency.count(), link.occupancy.count(), link.nic.count()});
  }
  return row;
}

template <class T>
std::vector<Row> rows_of(const std::vector<T>& values) {
  std::vector<Row> rows;
  for (const T& value : values) {
    Row row = row_of(value);
    const bool repeats = !rows.empty() && std::equal(row.begin() + 1, row.end(), rows.back().begin() + 1);
    if (repeats) {
      ++rows.back().front();
    } else {
      rows.push_back(std::move(row));
    }
  }
  return rows;
}

// Reads times for a plan. Checks every number before it uses it.
class TimesReader {
 public:
  TimesReader(const Json& json, const Plan& plan, const std::string& path) : reader_(json, path), plan_(plan) {}

  Result<ScheduleTimes> read() {
    times_.link_classes = reader_.required<int>("sites");
    const auto stages = reader_.required<std::vector<std::vector<Row>>>("replicas");
    const auto boundaries = reader_.required<std::vector<Row>>("links");
    for (const Stage& stage : plan_.stages) replicas_ += static_cast<std::int64_t>(stage.replicas.size());
    if (times_.link_classes < 1 || times_.link_classes > replicas_)
      reader_.record("sites", "it must be at least 1 and at most the number of replicas");
    if (stages.size() != plan_.stages.size()) refuse_replicas(fmt::format("{} stages", stages.size()));
    for (std::size_t stage = 0; stage < stages.size() && !reader_.error(); ++stage) add_stage(stage, stages[stage]);
    for (const Row& row : boundaries) add_boundaries(row);
    if (times_.links.size() + 1 != plan_.stages.size())
      reader_.record("links", "the plan has another number of boundaries");
    if (const auto& error = reader_.error()) return tl::unexpected(*error);
    return std::move(times_);
  }

 private:
  void refuse_replicas(const std::string& what) {
    reader_.record("replicas", fmt::format("{}: that does not fit the plan", what));
  }

  void add_stage(std::size_t stage, const std::vector<Row>& rows) {
    const std::size_t wanted = plan_.stages[stage].replicas.size();
    auto& replicas = times_.replicas.emplace_back();
    for (const Row& row : rows) {
      const auto room = static_cast<std::int64_t>(wanted - replicas.size());
      if (row.size() != kReplicaRow || !is_replica(row) || row[0] > room) {
        return refuse_replicas(fmt::format("stage {}, row [{}]", stage, fmt::join(row, ", ")));
      }
      const ReplicaTimes replica{Nanoseconds(row[1]), Nanoseconds(row[2]), static_cast<int>(row[3]),
                                 static_cast<int>(row[4]), static_cast<int>(row[5])};
      replicas.insert(replicas.end(), static_cast<std::size_t>(row[0]), replica);
    }
    if (replicas.size() != wanted) refuse_replicas(fmt::format("{} replicas in stage {}", replicas.size(), stage));
  }

  [[nodiscard]] bool is_replica(const Row& row) const {
    const bool has_times = row[0] >= 1 && row[1] >= 0 && row[2] >= 0;
    const bool has_class = row[3] >= 0 && row[3] < times_.link_classes;
    const bool has_cap = row[4] >= 1 && std::in_range<int>(row[4]);
    return has_times && has_class && has_cap && row[5] >= ReplicaTimes::kNoNic && row[5] < replicas_;
  }

  void add_boundaries(const Row& row) {
    if (reader_.error()) return;
    const auto pairs = static_cast<std::size_t>(times_.link_classes) * static_cast<std::size_t>(times_.link_classes);
    const auto room = static_cast<std::int64_t>(plan_.stages.size() - 1 - times_.links.size());
    const bool fits = row.size() == 1 + kLinkNumbers * pairs && row[0] >= 1 && row[0] <= room &&
                      std::ranges::all_of(row, [](std::int64_t number) { return number >= 0; });
    if (!fits) return reader_.record("links", fmt::format("row of {} numbers: that does not fit the plan", row.size()));
    std::vector<LinkTimes> boundary;
    for (std::size_t i = 1; i < row.size(); i += kLinkNumbers) {
      boundary.push_back({Nanoseconds(row[i]), Nanoseconds(row[i + 1]), Nanoseconds(row[i + 2])});
    }
    times_.links.insert(times_.links.end(), static_cast<std::size_t>(row[0]), boundary);
  }

  JsonReader reader_;
  const Plan& plan_;
  std::int64_t replicas_ = 0;  // the replicas of all stages
  ScheduleTimes times_;
};

}  // namespace

// The key of link_classes is "sites", because `sailor simulate -o json` prints these times and its keys are a contract.
Json to_json(const ScheduleTimes& times) {
  std::vector<std::vector<Row>> stages;
  stages.reserve(times.replicas.size());
  for (const auto& replicas : times.replicas) stages.push_back(rows_of(replicas));
  return {{"sites", times.link_classes}, {"replicas", std::move(stages)}, {"links", rows_of(times.links)}};
}

Result<ScheduleTimes> schedule_times_from_json(const Json& json, const Plan& plan, const std::string& path) {
  return TimesReader(json, plan, path).read();
}

}  // namespace sailor
