#include "planner/replay/oracle.h"

#include <algorithm>
#include <limits>

namespace sailor {
namespace {

constexpr double kImpossible = -std::numeric_limits<double>::infinity();
constexpr int kWaits = 0;  // the state in which no plan runs; state i + 1 is plan i of the book

// A dynamic program over the moments: the most steps that can be completed until then, by what runs.
class Oracle {
 public:
  Oracle(const JobSpec& job, const Timeline& timeline, PlanBook& book, const OraclePauses& pauses)
      : job_(job), timeline_(timeline), book_(book), pauses_(pauses) {
    for (const ClusterState& cluster : timeline.clusters) clusters_.push_back(book.number_of(cluster));
  }

  ReplayReport run() {
    std::vector<double> steps(states(), kImpossible);
    steps[kWaits] = 0;
    for (std::size_t i = 0; i < timeline_.moments.size(); ++i) steps = after(i, steps);
    const auto best = std::ranges::max_element(steps) - steps.begin();
    return report_of(path_to(static_cast<int>(best)));
  }

 private:
  [[nodiscard]] std::size_t states() const { return static_cast<std::size_t>(book_.size()) + 1; }
  [[nodiscard]] double speed(int state) const { return book_.plan(state - 1).estimate.throughput(); }
  [[nodiscard]] Seconds length(std::size_t moment) const {
    const bool is_last = moment + 1 == timeline_.moments.size();
    return (is_last ? timeline_.end : timeline_.moments[moment + 1].at) - timeline_.moments[moment].at;
  }
  [[nodiscard]] Seconds pause(int before, int state) const {
    if (before == state || state == kWaits) return Seconds(0);
    return before == kWaits ? pauses_.start : pauses_.change;
  }
  [[nodiscard]] double gain(std::size_t moment, int before, int state) const {
    if (state == kWaits) return 0;
    return std::max(0.0, (length(moment) - pause(before, state)).value()) * speed(state);
  }

  // A job comes to a state from that state, from waiting, or from the plan with the most steps. As in a cluster, a plan
  // that no longer keeps a limit on cost may stay if no plan keeps it.
  std::vector<double> after(std::size_t moment, const std::vector<double>& before) {
    const auto best = static_cast<int>(std::ranges::max_element(before) - before.begin());
    const int cluster = clusters_[static_cast<std::size_t>(timeline_.moments[moment].cluster)];
    std::vector<double> now(states(), kImpossible);
    std::vector<int> came_from(states(), kWaits);
    for (int state = 0; state < std::ssize(now); ++state) {
      if (state != kWaits && !book_.fits(state - 1, cluster)) continue;
      const bool keeps_limits = state == kWaits || book_.keeps_limits(state - 1, cluster);
      if (!keeps_limits && book_.best(cluster, PlanStyle::kAny)) continue;
      for (const int from : {best, kWaits, state}) {
        if (!keeps_limits && from != state) continue;
        const double steps = before[static_cast<std::size_t>(from)] + gain(moment, from, state);
        if (steps <= now[static_cast<std::size_t>(state)]) continue;
        now[static_cast<std::size_t>(state)] = steps;
        came_from[static_cast<std::size_t>(state)] = from;
      }
    }
    came_from_.push_back(std::move(came_from));
    return now;
  }

  [[nodiscard]] std::vector<int> path_to(int state) const {
    std::vector<int> path(came_from_.size());
    for (std::size_t i = path.size(); i-- > 0;) {
      path[i] = state;
      state = came_from_[i][static_cast<std::size_t>(state)];
    }
    return path;
  }

  [[nodiscard]] ReplayReport report_of(const std::vector<int>& path) const {
    ReplayReport report;
    report.planned_at = timeline_.end;
    int before = kWaits;
    for (std::size_t i = 0; i < path.size() && !report.is_done; ++i) {
      pass(i, before, path[i], report);
      before = path[i];
    }
    report.planned_at = std::min(report.planned_at, report.end);
    return report;
  }

  void pass(std::size_t index, int before, int state, ReplayReport& report) const {
    const Moment& moment = timeline_.moments[index];
    ReplayPeriod period{.from = moment.at, .to = moment.at + length(index)};
    period.available_gpus = timeline_.clusters[static_cast<std::size_t>(moment.cluster)].free_gpus();
    if (state == kWaits) {
      report.lost[LostTime::kWaiting] += length(index);
    } else {
      train(period, pause(before, state), state, report);
      if (before == kWaits) report.planned_at = std::min(report.planned_at, period.from);
      if (before != state && before != kWaits) ++report.changes;
      const LostTime cause = before == kWaits ? LostTime::kStarting : LostTime::kRescaling;
      report.lost[cause] += period.paused;
    }
    pay(moment, state, period.to - period.from, report);
    report.end = period.to;
    report.periods.push_back(std::move(period));
  }

  void train(ReplayPeriod& period, Seconds pause, int state, ReplayReport& report) const {
    const KnownPlan& plan = book_.plan(state - 1);
    const Seconds length = period.to - period.from;
    period.paused = std::min(pause, length);
    const Seconds left = plan.estimate.iteration * (static_cast<double>(job_.training.steps) - report.steps);
    const Seconds trained = std::min(length - period.paused, left);
    report.is_done = trained < length - period.paused;
    period.to = period.from + period.paused + trained;
    period.used_gpus = gpu_count(plan.plan);
    period.throughput = plan.estimate.throughput();
    period.plan = plan.hash;
    const double steps = trained / plan.estimate.iteration;
    report.steps += steps;
    report.computed += steps;
    report.useful += trained;
    report.cost += plan.estimate.traffic_cost_per_iteration * steps;
  }

  void pay(const Moment& moment, int state, Seconds time, ReplayReport& report) const {
    for (std::size_t pool = 0; pool < moment.prices.size(); ++pool) {
      const int used = state == kWaits ? 0 : book_.plan(state - 1).gpus_of_pools[pool];
      report.cost += moment.prices[pool] * time * moment.gpus_of_pools[pool];
      report.idle_cost += moment.prices[pool] * time * std::max(0, moment.gpus_of_pools[pool] - used);
    }
  }

  const JobSpec& job_;
  const Timeline& timeline_;
  PlanBook& book_;
  const OraclePauses& pauses_;
  std::vector<int> clusters_;
  std::vector<std::vector<int>> came_from_;  // [moment][state]: the state in the moment before
};

}  // namespace

ReplayReport replay_oracle(const JobSpec& job, const Timeline& timeline, PlanBook& book, const OraclePauses& pauses) {
  return Oracle(job, timeline, book, pauses).run();
}

}  // namespace sailor
