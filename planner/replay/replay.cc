#include "planner/replay/replay.h"

#include <algorithm>
#include <set>

#include <fmt/format.h>

#include "planner/problem/planning_problem.h"
#include "planner/replan/migration_cost.h"
#include "planner/replay/job_replay.h"
#include "planner/replay/oracle.h"

namespace sailor {
namespace {

Result<void> check_pools(const ClusterState& cluster, const std::map<PoolKey, Trace>& traces,
                         const PricesOfPools& prices) {
  const auto check = [&](const PoolKey& pool, std::string_view what) -> Result<void> {
    if (cluster.find(pool) != nullptr) return {};
    return fail(ErrorCode::kInvalidArgument,
                fmt::format("pool {} has a {}, but is not in the cluster; add it to the cluster, or name a pool of the "
                            "cluster",
                            to_string(pool), what));
  };
  if (traces.empty()) return fail(ErrorCode::kInvalidArgument, "there is no trace to replay");
  for (const auto& [pool, trace] : traces) {
    if (auto done = check(pool, "trace"); !done) return done;
  }
  for (const auto& [pool, changes] : prices) {
    if (auto done = check(pool, "price"); !done) return done;
  }
  return {};
}

// Fails if no plan fits the whole cluster, of which `whole` is the part that the job can use. A job that may use no
// pool at all gets the planner's reason.
Result<PlanBook> book_for(const JobSpec& job, const ClusterState& cluster, const ClusterState& whole,
                          const Estimator& estimator, const PlanOptions& options) {
  if (whole.pools.empty()) return tl::unexpected(Planner(estimator).plan(job, cluster, options, {}).error());
  auto book = PlanBook::make(job, whole, estimator, options);
  if (!book) return book;
  if (const auto plan = book->best(book->number_of(whole), PlanStyle::kAny); !plan) return tl::unexpected(plan.error());
  return book;
}

Seconds end_of(const std::map<PoolKey, Trace>& traces) {
  Seconds end = kNever;
  for (const auto& [pool, trace] : traces) end = std::min(end, trace.end);
  return end;
}

// `whole` is the part of the cluster that the job can use.
std::vector<std::string> notes_on(const std::map<PoolKey, Trace>& traces, const ClusterState& whole,
                                  const ReplayOptions& options, Seconds end) {
  std::vector<std::string> notes;
  for (const auto& [pool, trace] : traces) {
    if (whole.find(pool) == nullptr) {
      notes.push_back(fmt::format("The job cannot use pool {}, so the trace of this pool changes nothing but the end.",
                                  to_string(pool)));
      continue;
    }
    if (trace.end > end) {
      notes.push_back(
          fmt::format("The trace of pool {} lasts for {:.0f} s, but only {:.0f} s of it are used, because "
                      "another trace ends then.",
                      to_string(pool), trace.end.value(), end.value()));
    }
    if (!trace.names_nodes) {
      notes.push_back(fmt::format("The trace of pool {} has counts only; the nodes that leave are drawn with seed {}.",
                                  to_string(pool), options.seed));
    }
  }
  return notes;
}

Reaction reaction_of(ReplayPolicy policy, LookAhead look_ahead) {
  switch (policy) {
    case ReplayPolicy::kLiveAhead:
      return {.look_ahead = look_ahead};
    case ReplayPolicy::kRestartAhead:
      return {.mode = ElasticityMode::kRestart, .look_ahead = look_ahead};
    case ReplayPolicy::kRestart:
      return {.mode = ElasticityMode::kRestart};
    case ReplayPolicy::kVaruna:
      return {.mode = ElasticityMode::kRestart, .style = PlanStyle::kEqualPipelines, .survivors_save = false};
    case ReplayPolicy::kLive:
    case ReplayPolicy::kStatic:
    case ReplayPolicy::kOracle:
      break;
  }
  return {};
}

bool has_done_more(const ReplayReport& report, const ReplayReport& other) {
  return report.is_done && other.is_done ? report.end < other.end : report.steps > other.steps;
}

}  // namespace

struct Replay::World {
  const JobSpec& job;
  ReplayTimes times;
  Timeline timeline;
  Timeline until_end;  // with nodes until their end, without notice
  PlanBook book;
  LookAhead look_ahead;
  std::vector<std::string> notes;

  Result<ReplayReport> run_static();
  Result<ReplayReport> run_fixed(std::optional<int> plan);
  Result<ReplayReport> run_oracle();
  void limit_searches();
  Result<void> learn_plans(const std::vector<ClusterState>& clusters, PlanStyle style);
};

Result<ReplayReport> Replay::World::run_fixed(std::optional<int> plan) {
  return JobReplay(job, timeline, book, times, {.mode = ElasticityMode::kOff}).run(plan);
}

// Plays the best plan of every cluster that occurs, and returns the report of the one that completes the most steps, or
// that completes all of them first. A job without any plan waits.
Result<ReplayReport> Replay::World::run_static() {
  auto most = run_fixed(std::nullopt);
  std::set<int> played;
  for (const ClusterState& cluster : timeline.clusters) {
    const auto plan = book.best(book.number_of(cluster), PlanStyle::kAny);
    if (!plan) {
      if (plan.error().code == ErrorCode::kInfeasible) continue;
      return tl::unexpected(plan.error());
    }
    if (!played.insert(*plan).second) continue;
    auto report = run_fixed(*plan);
    if (!report) return report;
    if (has_done_more(*report, *most)) most = std::move(report);
  }
  return most;
}

void Replay::World::limit_searches() {
  std::vector<int> clusters;
  for (const Timeline* known : {&timeline, &until_end}) {
    for (const ClusterState& cluster : known->clusters) clusters.push_back(book.number_of(cluster));
  }
  book.limit_searches(std::move(clusters));
}

Result<void> Replay::World::learn_plans(const std::vector<ClusterState>& clusters, PlanStyle style) {
  for (const ClusterState& cluster : clusters) {
    const auto plan = book.best(book.number_of(cluster), style);
    if (!plan && plan.error().code != ErrorCode::kInfeasible) return tl::unexpected(plan.error());
  }
  return {};
}

Result<ReplayReport> Replay::World::run_oracle() {
  for (const PlanStyle style : {PlanStyle::kAny, PlanStyle::kEqualPipelines}) {
    for (const Timeline* known : {&timeline, &until_end}) {
      if (auto done = learn_plans(known->clusters, style); !done) return tl::unexpected(std::move(done.error()));
    }
  }
  const OraclePauses pauses{times.restart, std::min(kRegroup, times.restart)};
  return replay_oracle(job, until_end, book, pauses);
}

std::string_view to_string(ReplayPolicy policy) {
  switch (policy) {
    case ReplayPolicy::kLive:
      return "live";
    case ReplayPolicy::kLiveAhead:
      return "live-ahead";
    case ReplayPolicy::kRestartAhead:
      return "restart-ahead";
    case ReplayPolicy::kRestart:
      return "restart";
    case ReplayPolicy::kStatic:
      return "static";
    case ReplayPolicy::kVaruna:
      return "varuna";
    case ReplayPolicy::kOracle:
      return "oracle";
  }
  return "";
}

std::string_view to_string(LostTime cause) {
  switch (cause) {
    case LostTime::kWaiting:
      return "waiting";
    case LostTime::kPlanning:
      return "planning";
    case LostTime::kSaving:
      return "saving";
    case LostTime::kStarting:
      return "starting";
    case LostTime::kRescaling:
      return "rescaling";
    case LostTime::kRepeating:
      return "repeating";
  }
  return "";
}

ReplayPolicy policy_of(ElasticityMode mode) {
  switch (mode) {
    case ElasticityMode::kRestart:
      return ReplayPolicy::kRestart;
    case ElasticityMode::kOff:
      return ReplayPolicy::kStatic;
    case ElasticityMode::kLive:
      break;
  }
  return ReplayPolicy::kLive;
}

std::optional<ReplayPolicy> looking_ahead(ReplayPolicy policy) {
  if (policy == ReplayPolicy::kLive) return ReplayPolicy::kLiveAhead;
  if (policy == ReplayPolicy::kRestart) return ReplayPolicy::kRestartAhead;
  return std::nullopt;
}

Result<Replay> Replay::make(const JobSpec& job, const ClusterState& cluster, const std::map<PoolKey, Trace>& traces,
                            const Estimator& estimator, const ReplayOptions& options) {
  if (auto done = check_pools(cluster, traces, options.prices); !done) return tl::unexpected(std::move(done.error()));
  const ClusterState whole = usable_part(job, normalized(cluster));
  auto book = book_for(job, cluster, whole, estimator, options.plan);
  if (!book) return tl::unexpected(std::move(book.error()));
  const NodeTimes nodes{options.node_start, options.notice};
  const ReplayTimes times{nodes, options.planning, options.restart, options.plan.expected_lifetime};
  const Seconds end = end_of(traces);
  const auto lifetimes = node_lifetimes(whole, traces, options.seed);
  const auto timeline = [&](const NodeTimes& of) { return timeline_of(whole, lifetimes, options.prices, of, end); };
  auto world =
      std::make_shared<World>(World{job, times, timeline(nodes), timeline({nodes.start, Seconds(0)}), *std::move(book),
                                    options.look_ahead, notes_on(traces, whole, options, end)});
  world->limit_searches();
  return Replay(std::move(world));
}

Result<ReplayReport> Replay::run(ReplayPolicy policy) {
  if (policy == ReplayPolicy::kStatic) return world_->run_static();
  if (policy == ReplayPolicy::kOracle) return world_->run_oracle();
  const Reaction reaction = reaction_of(policy, world_->look_ahead);
  return JobReplay(world_->job, world_->timeline, world_->book, world_->times, reaction).run(std::nullopt);
}

const std::vector<NodeLifetime>& Replay::nodes() const { return world_->timeline.nodes; }
const std::vector<std::string>& Replay::notes() const { return world_->notes; }

}  // namespace sailor
