#include "planner/search/exhaustive_search.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace sailor {
namespace {

constexpr long kStepsPerPlan = 40;      // evaluating a plan takes about as long as this many steps
constexpr double kPassRounding = 1e-5;  // passes are simulated in whole nanoseconds

}  // namespace

ExhaustiveSearch::ExhaustiveSearch(const PlanningProblem& problem, Scope scope, Cutoff cutoff, Evaluate evaluate)
    : problem_(problem),
      scope_(scope),
      cutoff_(cutoff),
      evaluate_(std::move(evaluate)),
      gpus_left_(problem.most_gpus()) {
  for (int pool = 0; pool < problem.pools(); ++pool) {
    free_.push_back(problem.pool(pool).free_gpus());
    for (const int tensor_parallel : problem.tensor_parallel_sizes) {
      if (tensor_parallel <= problem.pool(pool).gpus_of_largest_node()) kinds_.push_back({pool, tensor_parallel});
    }
  }
}

long ExhaustiveSearch::run(long most_steps) {
  steps_ = most_steps;
  for (stages_ = 1; stages_ <= std::min(problem_.layers(), problem_.most_gpus()); ++stages_) {
    for (const int size : problem_.job.training.microbatch_sizes) {
      plan_ = {size, problem_.job.training.global_batch_size / size, {}, scope_.techniques};
      choose_layers(stages_, {});
    }
  }
  return steps_;
}

bool ExhaustiveSearch::is_pruned(const LowerBound& bound) const {
  return bound.seconds >= cutoff_.iteration.value() || bound.price * Seconds(bound.seconds) >= cutoff_.cost;
}

// In the paper's space, the stages' numbers of layers differ by at most one.
bool ExhaustiveSearch::may_have_layers(int layers, int stages_left) const {
  if (layers < 1 || problem_.layers() - first_layer() - layers < stages_left - 1) return false;
  const int even = problem_.layers() / stages_;
  return scope_.space == PlanSpace::kFlow || layers == even || (layers == even + 1 && problem_.layers() % stages_ > 0);
}

void ExhaustiveSearch::choose_layers(int stages_left, const LowerBound& bound) {
  const int first = first_layer();
  for (int last = stages_left == 1 ? problem_.layers() : first + 1; last <= problem_.layers(); ++last) {
    if (!may_have_layers(last - first, stages_left)) continue;
    plan_.stages.push_back({{first, last}, {}});
    choose_groups(0, stages_left, bound);
    plan_.stages.pop_back();
  }
}

int ExhaustiveSearch::most_groups(const ReplicaKind& kind, const GroupedStage& stage) const {
  const ProfilePoint point{plan_.microbatch_size, kind.tensor_parallel};
  if (!problem_.passes->fits(kind.pool, point, stage.layers, scope_.techniques)) return 0;
  const bool is_apart =
      !stage.groups.empty() && problem_.pool(stage.groups.front().pool).region != problem_.pool(kind.pool).region;
  if (is_apart) return 0;
  const bool follows_first_stage = scope_.space == PlanSpace::kPaper && plan_.stages.size() > 1;
  const int replicas = follows_first_stage ? plan_.stages.front().replicas() : plan_.microbatches;
  return std::min({replicas - stage.replicas(), free_[static_cast<std::size_t>(kind.pool)] / kind.tensor_parallel,
                   gpus_left_ / kind.tensor_parallel});
}

// Tries every number of groups of this kind, and with each number all choices for the next kinds.
void ExhaustiveSearch::choose_groups(std::size_t kind, int stages_left, const LowerBound& bound) {
  if (--steps_ < 0) return;
  if (kind == kinds_.size()) return complete_stage(stages_left, bound);
  choose_groups(kind + 1, stages_left, bound);
  const ReplicaKind one = kinds_[kind];
  const int most = most_groups(one, plan_.stages.back());
  int& free = free_[static_cast<std::size_t>(one.pool)];
  for (int count = 1; count <= most; ++count) {
    const int gpus = count * one.tensor_parallel;
    plan_.stages.back().groups.push_back({one.pool, one.tensor_parallel, 0, count});
    free -= gpus;
    gpus_left_ -= gpus;
    choose_groups(kind + 1, stages_left, bound);
    free += gpus;
    gpus_left_ += gpus;
    plan_.stages.back().groups.pop_back();
  }
}

double ExhaustiveSearch::pass(const GroupedStage& stage, const ReplicaGroup& group) const {
  return problem_.pass(group.pool, {plan_.microbatch_size, group.tensor_parallel}, stage.layers, scope_.techniques);
}

void ExhaustiveSearch::complete_stage(int stages_left, LowerBound bound) {
  const GroupedStage& stage = plan_.stages.back();
  if (stage.groups.empty()) return;
  if (scope_.space == PlanSpace::kPaper && stage.replicas() != plan_.stages.front().replicas()) return;
  double rate = 0;
  double fastest = std::numeric_limits<double>::infinity();
  for (const ReplicaGroup& group : stage.groups) {
    rate += group.count / pass(stage, group);
    fastest = std::min(fastest, pass(stage, group));
    bound.price += problem_.pool(group.pool).price_per_gpu * group.gpus();
  }
  bound.seconds = std::max(bound.seconds, (bound.path + plan_.microbatches / rate) * (1 - kPassRounding));
  bound.path += fastest;
  if (is_pruned(bound)) return;
  if (stages_left > 1) return choose_layers(stages_left - 1, bound);
  if (!keeps_to_resources(plan_, problem_)) return;
  price_ = bound.price;
  partitioned_ = plan_;
  partition_microbatches(0, 0);
}

double ExhaustiveSearch::most_seconds() const {
  double most = cutoff_.iteration.value();
  if (price_.value() > 0) most = std::min(most, (cutoff_.cost / price_).value());
  return most;
}

// Tries every partition of the stage's microbatches that gives each replica at least one.
void ExhaustiveSearch::partition_microbatches(std::size_t stage, double path) {
  if (stage == plan_.stages.size()) return evaluate_partitioned();
  partitioned_.stages[stage].groups.clear();
  partition_rest(stage, {0, 0, plan_.microbatches, plan_.microbatches}, path);
}

// Returns the most microbatches that the replica can process before the cutoff.
double ExhaustiveSearch::room_of(const GroupedStage& stage, const ReplicaGroup& group, double path) const {
  return (most_seconds() - path) * (1 + kPassRounding) / pass(stage, group);
}

// Equal replicas are interchangeable, so only descending shares are tried. A share is so large that the replicas that
// follow can process the rest, and so small that each of them gets a microbatch.
void ExhaustiveSearch::partition_rest(std::size_t stage, const Unassigned& rest, double path) {
  const ReplicaGroups& groups = plan_.stages[stage].groups;
  if (rest.group == groups.size()) {
    if (rest.microbatches > 0) return;
    double fastest = std::numeric_limits<double>::infinity();
    for (const ReplicaGroup& group : groups) fastest = std::min(fastest, pass(plan_.stages[stage], group));
    return partition_microbatches(stage + 1, path + fastest);
  }
  if (--steps_ < 0) return;
  const ReplicaGroup& group = groups[rest.group];
  const bool is_paper = scope_.space == PlanSpace::kPaper;
  const int replicas = plan_.stages[stage].replicas();
  const int even = plan_.microbatches / replicas;
  double others = 0;  // what the replicas of the other groups can process
  int after = group.count - rest.replica - 1;
  for (std::size_t other = rest.group + 1; other < groups.size(); ++other) {
    others += groups[other].count * std::floor(room_of(plan_.stages[stage], groups[other], path));
    after += groups[other].count;
  }
  const double needed = std::ceil((rest.microbatches - others) / (group.count - rest.replica));
  const int least = std::max(is_paper ? even : 1, static_cast<int>(std::clamp(needed, 1.0, 1.0 * rest.microbatches)));
  const double room = room_of(plan_.stages[stage], group, path);
  int most = std::min(rest.most, rest.microbatches - after);
  if (room < most) most = static_cast<int>(std::floor(room));
  if (is_paper) most = std::min(most, plan_.microbatches % replicas == 0 ? even : even + 1);
  for (int share = least; share <= most; ++share) {
    Unassigned next{rest.group, rest.replica + 1, rest.microbatches - share, share};
    if (next.replica == group.count) next = {rest.group + 1, 0, next.microbatches, plan_.microbatches};
    auto& into = partitioned_.stages[stage].groups;
    into.push_back({group.pool, group.tensor_parallel, share, 1});
    const std::size_t size = into.size();
    partition_rest(stage, next, path);
    partitioned_.stages[stage].groups.resize(size - 1);
  }
}

void ExhaustiveSearch::evaluate_partitioned() {
  steps_ -= kStepsPerPlan;
  GroupedPlan plan = partitioned_;
  for (GroupedStage& stage : plan.stages) normalize(stage);
  cutoff_ = evaluate_(plan);
}

}  // namespace sailor
