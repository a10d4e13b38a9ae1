#include "planner/search/exhaustive_search.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace sailor {
namespace {

constexpr long kStepsOfPlan = 40;   // to price it takes as long
constexpr double kRounding = 1e-5;  // passes are played in whole nanoseconds

}  // namespace

Exhaustive::Exhaustive(const World& world, PlanSpace space, Ceiling ceiling, Show show)
    : world_(world), space_(space), ceiling_(ceiling), show_(std::move(show)), gpus_left_(world.most_gpus()) {
  for (int pool = 0; pool < world.pools(); ++pool) {
    free_.push_back(world.pool(pool).free_gpus());
    for (const int degree : world.degrees) {
      if (degree <= world.pool(pool).nodes.front().free_gpus) kinds_.push_back({pool, degree});
    }
  }
}

long Exhaustive::run(long most_steps) {
  steps_ = most_steps;
  for (stages_ = 1; stages_ <= std::min(world_.layers(), world_.most_gpus()); ++stages_) {
    for (const int size : world_.job.training.microbatch_sizes) {
      plan_ = {size, world_.job.training.global_batch_size / size, {}};
      plan_.activation_checkpointing = world_.savings.recomputes;
      plan_.sharded_optimizer = world_.savings.shards_optimizer;
      choose_layers(stages_, {});
    }
  }
  return steps_;
}

bool Exhaustive::is_hopeless(const Least& least) const {
  return least.seconds >= ceiling_.iteration.value() || least.price * Seconds(least.seconds) >= ceiling_.cost;
}

// In the paper's space stages differ by one layer at most.
bool Exhaustive::may_have(int layers, int stages_left) const {
  if (layers < 1 || world_.layers() - first_layer() - layers < stages_left - 1) return false;
  const int even = world_.layers() / stages_;
  return space_ == PlanSpace::kFlow || layers == even || (layers == even + 1 && world_.layers() % stages_ > 0);
}

void Exhaustive::choose_layers(int stages_left, const Least& least) {
  const int first = first_layer();
  for (int last = stages_left == 1 ? world_.layers() : first + 1; last <= world_.layers(); ++last) {
    if (!may_have(last - first, stages_left)) continue;
    plan_.stages.push_back({first, last, {}});
    choose_crews(0, stages_left, least);
    plan_.stages.pop_back();
  }
}

int Exhaustive::most_groups(const Kind& kind, const GroupedStage& stage) const {
  const ProfilePoint point{plan_.microbatch_size, kind.degree};
  if (!world_.passes->fits(kind.pool, point, {stage.first_layer, stage.last_layer}, world_.savings)) return 0;
  const bool is_apart =
      !stage.groups.empty() && world_.pool(stage.groups.front().pool).region != world_.pool(kind.pool).region;
  if (is_apart) return 0;
  const bool has_model = space_ == PlanSpace::kPaper && plan_.stages.size() > 1;
  const int replicas = has_model ? plan_.stages.front().replicas() : plan_.microbatches;
  return std::min({replicas - stage.replicas(), free_[static_cast<std::size_t>(kind.pool)] / kind.degree,
                   gpus_left_ / kind.degree});
}

// Of this kind, none or more of them; then of the next.
void Exhaustive::choose_crews(std::size_t kind, int stages_left, const Least& least) {
  if (--steps_ < 0) return;
  if (kind == kinds_.size()) return close_stage(stages_left, least);
  choose_crews(kind + 1, stages_left, least);
  const Kind one = kinds_[kind];
  const int most = most_groups(one, plan_.stages.back());
  int& free = free_[static_cast<std::size_t>(one.pool)];
  for (int count = 1; count <= most; ++count) {
    const int gpus = count * one.degree;
    plan_.stages.back().groups.push_back({one.pool, one.degree, 0, count});
    free -= gpus;
    gpus_left_ -= gpus;
    choose_crews(kind + 1, stages_left, least);
    free += gpus;
    gpus_left_ += gpus;
    plan_.stages.back().groups.pop_back();
  }
}

double Exhaustive::pass(const GroupedStage& stage, const ReplicaGroup& group) const {
  return world_.pass(group.pool, {plan_.microbatch_size, group.tensor_parallel}, {stage.first_layer, stage.last_layer});
}

void Exhaustive::close_stage(int stages_left, Least least) {
  const GroupedStage& stage = plan_.stages.back();
  if (stage.groups.empty()) return;
  if (space_ == PlanSpace::kPaper && stage.replicas() != plan_.stages.front().replicas()) return;
  double rate = 0;
  double fastest = std::numeric_limits<double>::infinity();
  for (const ReplicaGroup& group : stage.groups) {
    rate += group.count / pass(stage, group);
    fastest = std::min(fastest, pass(stage, group));
    least.price += world_.pool(group.pool).price_per_gpu * group.gpus();
  }
  least.seconds = std::max(least.seconds, (least.before + plan_.microbatches / rate) * (1 - kRounding));
  least.before += fastest;
  if (is_hopeless(least)) return;
  if (stages_left > 1) return choose_layers(stages_left - 1, least);
  if (!keeps_to_resources(plan_, world_)) return;
  price_ = least.price;
  dealt_ = plan_;
  deal(0, 0);
}

double Exhaustive::most_seconds() const {
  double most = ceiling_.iteration.value();
  if (price_.value() > 0) most = std::min(most, ceiling_.cost.value() * 3600 / price_.value());
  return most;
}

// Every way to give the stage's microbatches to its replicas, each at least one.
void Exhaustive::deal(std::size_t stage, double before) {
  if (stage == plan_.stages.size()) return show_dealt();
  dealt_.stages[stage].groups.clear();
  deal_rest(stage, {0, 0, plan_.microbatches, plan_.microbatches}, before);
}

// Equal replicas are told apart by nothing, so their shares descend.
void Exhaustive::deal_rest(std::size_t stage, const Undealt& rest, double before) {
  const std::vector<ReplicaGroup>& groups = plan_.stages[stage].groups;
  if (rest.group == groups.size()) {
    if (rest.left > 0) return;
    double fastest = std::numeric_limits<double>::infinity();
    for (const ReplicaGroup& group : groups) fastest = std::min(fastest, pass(plan_.stages[stage], group));
    return deal(stage + 1, before + fastest);
  }
  if (--steps_ < 0) return;
  const ReplicaGroup& group = groups[rest.group];
  const bool is_paper = space_ == PlanSpace::kPaper;
  const int replicas = plan_.stages[stage].replicas();
  const int even = plan_.microbatches / replicas;
  const int least = is_paper ? even : 1;
  const double room = (most_seconds() - before) * (1 + kRounding) / pass(plan_.stages[stage], group);
  int most = std::min(rest.most, rest.left);
  if (room < most) most = static_cast<int>(std::floor(room));
  if (is_paper) most = std::min(most, plan_.microbatches % replicas == 0 ? even : even + 1);
  for (int share = least; share <= most; ++share) {
    Undealt after{rest.group, rest.replica + 1, rest.left - share, share};
    if (after.replica == group.count) after = {rest.group + 1, 0, after.left, plan_.microbatches};
    auto& into = dealt_.stages[stage].groups;
    into.push_back({group.pool, group.tensor_parallel, share, 1});
    const std::size_t size = into.size();
    deal_rest(stage, after, before);
    dealt_.stages[stage].groups.resize(size - 1);
  }
}

void Exhaustive::show_dealt() {
  steps_ -= kStepsOfPlan;
  GroupedPlan plan = dealt_;
  for (GroupedStage& stage : plan.stages) normalize(stage);
  ceiling_ = show_(plan);
}

}  // namespace sailor
