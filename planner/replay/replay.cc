#include "planner/replay/replay.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <set>

#include <fmt/format.h>

#include "core/model/checkpoint_interval.h"
#include "core/model/plan_hash.h"

namespace sailor {
namespace {

constexpr Seconds kNever(std::numeric_limits<double>::infinity());

ClusterState cluster_at(const ClusterState& whole, const std::map<PoolKey, Trace>& traces, Seconds time) {
  ClusterState cluster = whole;
  for (Pool& pool : cluster.pools) {
    const auto found = traces.find(pool.key);
    if (found == traces.end()) continue;
    int amount = 0;
    for (const Trace::Change& change : found->second.changes) {
      if (change.at <= time) amount = change.amount;
    }
    pool = limited(std::move(pool), found->second.unit, amount);
  }
  return cluster;
}

// Returns the times at which the availability changes. The last one is the end of the shortest trace.
std::vector<Seconds> moments_of(const std::map<PoolKey, Trace>& traces) {
  Seconds end = kNever;
  std::set<Seconds> moments{Seconds(0)};
  for (const auto& [pool, trace] : traces) {
    end = std::min(end, trace.end);
    for (const Trace::Change& change : trace.changes) moments.insert(change.at);
  }
  moments.erase(moments.lower_bound(end), moments.end());
  std::vector<Seconds> result(moments.begin(), moments.end());
  result.push_back(end);
  return result;
}

class Replayer {
 public:
  Replayer(const JobSpec& job, const ClusterState& cluster, const Estimator& estimator, const ReplayOptions& options)
      : job_(job), whole_(cluster), estimator_(estimator), options_(options) {}

  Result<ReplayReport> run(const std::map<PoolKey, Trace>& traces) {
    if (options_.policy == ReplayPolicy::kStatic) {
      auto fixed = planned(whole_, std::nullopt);
      if (!fixed) return tl::unexpected(std::move(fixed.error()));
      fixed_ = *std::move(fixed);
    }
    const std::vector<Seconds> moments = moments_of(traces);
    for (std::size_t i = 0; i + 1 < moments.size() && !report_.is_done; ++i) {
      const ClusterState cluster = cluster_at(whole_, traces, moments[i]);
      auto next = plan_for(cluster);
      if (!next) return tl::unexpected(std::move(next.error()));
      ReplayPeriod period{.from = moments[i], .to = moments[i + 1], .available_gpus = cluster.free_gpus()};
      change_to(*std::move(next), cluster, period);
      train(period);
    }
    return std::move(report_);
  }

 private:
  Result<EstimatedPlan> planned(const ClusterState& cluster, const std::optional<Plan>& current) const {
    PlanOptions options = options_.plan;
    options.current = current;
    auto result = Planner(estimator_).plan(job_, cluster, options, {});
    if (!result) return tl::unexpected(std::move(result.error()));
    return EstimatedPlan{std::move(result->plan), std::move(result->estimate)};
  }

  // Returns nothing if no plan is feasible. The job then waits.
  Result<std::optional<EstimatedPlan>> plan_for(const ClusterState& cluster) const {
    if (options_.policy == ReplayPolicy::kStatic) {
      return resource_violations(fixed_.value().plan, job_, cluster).empty() ? fixed_ : std::nullopt;
    }
    auto next = planned(cluster, running_ ? std::optional(running_->plan) : std::nullopt);
    if (next) return std::optional(*std::move(next));
    if (next.error().code == ErrorCode::kInfeasible) return std::optional<EstimatedPlan>();
    return tl::unexpected(std::move(next.error()));
  }

  void change_to(std::optional<EstimatedPlan> next, const ClusterState& cluster, ReplayPeriod& period) {
    const bool is_same = running_ && next && running_->plan == next->plan;
    const bool is_forced = running_ && !resource_violations(running_->plan, job_, cluster).empty();
    if (is_forced) period.lost_steps = lose_steps(next.has_value());
    if (next && !is_same) {
      pause_left_ = options_.policy == ReplayPolicy::kLive && running_ ? options_.rescale : options_.restart;
      if (has_started_) ++report_.changes;
      has_started_ = true;
    }
    running_ = std::move(next);
  }

  [[nodiscard]] double steps_between_checkpoints() const {
    if (!running_) return 1;
    constexpr double kRounding = 1e-9;
    const Seconds iteration = running_->estimate.iteration;
    const double failures = running_->estimate.expected_loss.failures_per_hour;
    const double steps = time_between_checkpoints(job_.checkpoint, iteration, failures) / iteration;
    return std::max(1.0, std::floor(steps * (1 + kRounding)));
  }

  // Nodes disappeared without notice. Workers that continue have everything except the step in flight; else the job
  // continues from its checkpoint.
  double lose_steps(bool goes_on) {
    const double every = steps_between_checkpoints();
    double kept = std::floor(report_.steps);
    if (options_.policy != ReplayPolicy::kLive || !goes_on) {
      kept = job_.checkpoint.path.empty() ? 0 : std::floor(report_.steps / every) * every;
    }
    const double lost = report_.steps - kept;
    report_.steps = kept;
    return lost;
  }

  void train(ReplayPeriod& period) {
    const Seconds length = period.to - period.from;
    if (!running_) {
      report_.waiting += length;
      close(period, period.to);
      return;
    }
    const Estimate& estimate = running_->estimate;
    period.used_gpus = gpu_count(running_->plan);
    period.throughput = estimate.throughput();
    period.plan = plan_hash(running_->plan);
    period.paused = std::min(pause_left_, length);
    pause_left_ -= period.paused;
    const double left = static_cast<double>(job_.training.steps) - report_.steps;
    const Seconds trained = std::min(length - period.paused, estimate.iteration * left);
    report_.is_done = trained < length - period.paused;
    const double steps = trained / estimate.iteration;
    report_.steps += steps;
    report_.computed += steps;
    report_.training += trained;
    report_.paused += period.paused;
    const double paid_steps = steps + period.paused / estimate.iteration;  // GPUs that pause cost as much
    report_.cost += estimate.gpu_cost_per_iteration * paid_steps + estimate.traffic_cost_per_iteration * steps;
    close(period, period.from + period.paused + trained);
  }

  void close(ReplayPeriod& period, Seconds at) {
    period.to = report_.is_done ? at : period.to;
    report_.end = period.to;
    report_.periods.push_back(period);
  }

  const JobSpec& job_;
  const ClusterState& whole_;
  const Estimator& estimator_;
  const ReplayOptions& options_;
  std::optional<EstimatedPlan> fixed_;  // the only plan of the static policy
  std::optional<EstimatedPlan> running_;
  Seconds pause_left_;
  bool has_started_ = false;
  ReplayReport report_;
};

}  // namespace

std::string_view to_string(ReplayPolicy policy) {
  switch (policy) {
    case ReplayPolicy::kLive:
      return "live";
    case ReplayPolicy::kRestart:
      return "restart";
    case ReplayPolicy::kStatic:
      return "static";
  }
  return "";
}

Result<ReplayReport> replay(const JobSpec& job, const ClusterState& cluster, const std::map<PoolKey, Trace>& traces,
                            const Estimator& estimator, const ReplayOptions& options) {
  if (traces.empty()) return fail(ErrorCode::kInvalidArgument, "there is no trace to replay");
  for (const auto& [pool, trace] : traces) {
    if (cluster.find(pool) == nullptr) {
      return fail(ErrorCode::kInvalidArgument,
                  fmt::format("pool {} has a trace, but is not in the cluster", to_string(pool)));
    }
  }
  return Replayer(job, cluster, estimator, options).run(traces);
}

}  // namespace sailor
