#include "planner/relaxation/group_time_table.h"

#include <algorithm>
#include <limits>
#include <map>

#include "planner/relaxation/rounded_down.h"

namespace sailor {
namespace {

// Returns 1, 2, 3, 4, 5, 6, 7, 8, 10, ... up to `most`. From 4 on, each number is at most a quarter larger than the one
// before.
std::vector<int> replica_steps(int most) {
  std::vector<int> steps;
  for (int replicas = 1; replicas <= most; replicas = std::max(replicas + 1, replicas * 5 / 4)) {
    steps.push_back(replicas);
  }
  return steps;
}

}  // namespace

GroupTimeTable::GroupTimeTable(const PlanningProblem& problem, Setting setting, const GroupTimeTable* like)
    : setting_(setting),
      microbatches_(problem.job.training.global_batch_size / setting.microbatch_size),
      layers_(problem.layers()),
      steps_(replica_steps(std::min(problem.job.training.global_batch_size, problem.most_gpus()))) {
  const int most_replicas = std::min(microbatches_, problem.most_gpus());
  for (int replicas = 0, step = 0; replicas <= most_replicas; ++replicas) {
    while (step + 1 < std::ssize(steps_) && steps_[static_cast<std::size_t>(step) + 1] <= replicas) ++step;
    step_of_.push_back(step);
  }
  add_kinds(problem);
  if (like != nullptr) {
    reductions_ = like->reductions_;
  } else {
    add_reductions(problem);
  }
  add_ranges(problem);
}

void GroupTimeTable::add_kinds(const PlanningProblem& problem) {
  std::map<GpuClass, int> types;
  for (int pool = 0; pool < problem.pools(); ++pool) {
    const int largest_node = problem.pool(pool).gpus_of_largest_node();
    const auto [found, is_new] = types.try_emplace(problem.pool(pool).key.gpu_class(), static_cast<int>(types.size()));
    type_of_pool_.push_back(found->second);
    for (const int tensor_parallel : problem.tensor_parallel_sizes) {
      const auto same = [&](const GroupKind& kind) {
        return kind.type == found->second && kind.tensor_parallel == tensor_parallel;
      };
      if (tensor_parallel > largest_node || std::ranges::any_of(kinds_, same)) continue;
      kinds_.push_back({pool, found->second, tensor_parallel});
    }
  }
}

StageShape GroupTimeTable::shape(int kind, LayerRange layers) const {
  const GroupKind& group = kinds_[static_cast<std::size_t>(kind)];
  return {layers, group.pool, {setting_.microbatch_size, group.tensor_parallel}, setting_.recomputes, setting_.shards};
}

void GroupTimeTable::add_ranges(const PlanningProblem& problem) {
  syncs_and_updates_.assign((index_of({layers_, layers_}) + 1) * kinds_.size() * steps_.size(), 0);
  std::vector<StageNeeds> needs;
  for (int first = 0; first <= layers_; ++first) {
    for (int last = 0; last <= layers_; ++last) {
      entry_begin_.push_back(entries_.size());
      if (first >= last) continue;
      needs.clear();
      for (int kind = 0; kind < std::ssize(kinds_); ++kind) {
        needs.push_back(problem.estimator->stage_needs(shape(kind, {first, last})));
      }
      add_entries({first, last}, needs);
      add_syncs_and_updates({first, last}, needs);
    }
  }
  entry_begin_.push_back(entries_.size());
  add_links(problem);
  add_paths(problem);
}

void GroupTimeTable::add_entries(LayerRange layers, std::span<const StageNeeds> needs) {
  const auto begin = static_cast<std::ptrdiff_t>(entries_.size());
  for (int kind = 0; kind < std::ssize(kinds_); ++kind) {
    const StageNeeds& of_kind = needs[static_cast<std::size_t>(kind)];
    if (of_kind.fits()) entries_.push_back({kind, of_kind.pass().value()});
    if (layers.size() == 1 && of_kind.pass() > Seconds(0)) {
      most_backward_ = std::max(most_backward_, of_kind.backward / of_kind.pass());
    }
  }
  std::ranges::stable_sort(entries_.begin() + begin, entries_.end(), {}, &Entry::pass);
}

void GroupTimeTable::add_links(const PlanningProblem& problem) {
  for (int last = 0; last <= layers_; ++last) {
    LinkRange apart{Seconds(std::numeric_limits<double>::infinity()), Seconds(0)};
    Seconds near = apart.least;
    for (int kind = 0; last > 0 && kind < std::ssize(kinds_); ++kind) {
      const LinkRange range = problem.estimator->link_range(shape(kind, {last - 1, last}), false);
      apart = {std::min(apart.least, range.least), std::max(apart.most, range.most)};
      near = std::min(near, problem.estimator->link_range(shape(kind, {last - 1, last}), true).least);
    }
    links_.push_back(apart.least.value());
    if (last > 0) most_spread_ = std::max(most_spread_, apart.most / std::min(apart.least, near));
  }
}

void GroupTimeTable::add_paths(const PlanningProblem& problem) {
  fastest_.push_back(0);
  slow_backward_.push_back(0);
  for (int layer = 0; layer < layers_; ++layer) {
    double fastest = std::numeric_limits<double>::infinity();
    double slowest = 0;
    for (const Entry& entry : entries({layer, layer + 1})) {
      fastest = std::min(fastest, entry.pass);
      slowest =
          std::max(slowest, problem.estimator->stage_needs(shape(entry.kind, {layer, layer + 1})).backward.value());
    }
    fastest_.push_back(fastest_.back() + fastest);
    slow_backward_.push_back(slow_backward_.back() + slowest);
  }
}

// With one kind of group, the backward pass of every stage is a fixed part of its pass. With several kinds, the path
// may lead through the fastest replicas while other replicas of the same stages are slower.
double GroupTimeTable::most_hidden(int layer, double path) const {
  const auto at = static_cast<std::size_t>(layer);
  if (kinds_.size() == 1) return path * std::max(most_backward_, most_spread_ / 2);
  return slow_backward_[at] + std::max(0.0, path - fastest_[at]) / 2 * most_spread_;
}

// Ranges with equal amounts of state exchange equal amounts, and most blocks are alike, so each amount is computed
// once. (A stage with both users of a tied embedding has that embedding once; only the range of all layers has both.)
void GroupTimeTable::add_reductions(const PlanningProblem& problem) {
  reductions_.assign((index_of({layers_, layers_}) + 1) * kinds_.size() * steps_.size(), 0);
  std::map<double, std::size_t> known;  // the first row of a range with this much state
  for (int first = 0; first < layers_; ++first) {
    double state = 0;
    for (int last = first + 1; last <= layers_; ++last) {
      state += problem.estimator->state_of_layer(last - 1).value();
      const std::size_t row = index_of({first, last}) * kinds_.size() * steps_.size();
      const auto [like, is_new] = known.try_emplace(state, row);
      if (is_new) {
        add_reductions_of(problem, {first, last}, row);
      } else {
        const auto begin = reductions_.begin() + static_cast<std::ptrdiff_t>(like->second);
        std::copy_n(begin, kinds_.size() * steps_.size(), reductions_.begin() + static_cast<std::ptrdiff_t>(row));
      }
    }
  }
}

void GroupTimeTable::add_reductions_of(const PlanningProblem& problem, LayerRange layers, std::size_t row) {
  for (int kind = 0; kind < std::ssize(kinds_); ++kind) {
    for (const int replicas : steps_) {
      const Seconds least = problem.estimator->least_reduction(shape(kind, layers), replicas);
      reductions_[row++] = rounded_down(least.value());
    }
  }
}

void GroupTimeTable::add_syncs_and_updates(LayerRange layers, std::span<const StageNeeds> needs) {
  Seconds longest;
  for (const StageNeeds& of_kind : needs) {
    if (of_kind.fits()) longest = std::max(longest, of_kind.backward);
  }
  for (std::size_t kind = 0; kind < needs.size(); ++kind) {
    if (!needs[kind].fits()) continue;
    const std::size_t row = (index_of(layers) * kinds_.size() + kind) * steps_.size();
    for (std::size_t step = 0; step < steps_.size(); ++step) {
      const Seconds sync = exposed_reduction(Seconds(reductions_[row + step]), longest, needs[kind].buckets);
      syncs_and_updates_[row + step] = rounded_down((sync + needs[kind].update).value());
    }
  }
}

std::span<const GroupTimeTable::Entry> GroupTimeTable::entries(LayerRange layers) const {
  const std::size_t at = index_of(layers);
  return {entries_.data() + entry_begin_[at], entry_begin_[at + 1] - entry_begin_[at]};
}

double GroupTimeTable::least_sync_and_update(LayerRange layers, int kind, int replicas) const {
  const std::size_t most_replicas = step_of_.size() - 1;
  const auto step = static_cast<std::size_t>(step_of_[std::min(static_cast<std::size_t>(replicas), most_replicas)]);
  return syncs_and_updates_[(index_of(layers) * kinds_.size() + static_cast<std::size_t>(kind)) * steps_.size() + step];
}

std::vector<GroupTimeTable> group_time_tables(const PlanningProblem& problem) {
  std::vector<GroupTimeTable> tables;
  for (const int size : problem.job.training.microbatch_sizes) {
    const int shards = problem.may_shard_optimizer() ? problem.job.training.global_batch_size / size : 1;
    for (const bool recomputes : {false, true}) {
      if (problem.allows_checkpointing(recomputes)) {
        const GroupTimeTable* like = tables.empty() ? nullptr : &tables.front();
        GroupTimeTable next(problem, {size, recomputes, shards}, like);
        tables.push_back(std::move(next));
      }
    }
  }
  return tables;
}

}  // namespace sailor
