#include "planner/relaxation/group_kind_table.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <string_view>

namespace sailor {
namespace {

// 1, 2, 3, 4, 5, 7, 9, ...: each at most a quarter above the last.
std::vector<int> replica_steps(int most) {
  std::vector<int> steps;
  for (int replicas = 1; replicas <= most; replicas = std::max(replicas + 1, replicas * 5 / 4)) {
    steps.push_back(replicas);
  }
  return steps;
}

float rounded_down(double value) {
  const auto rounded = static_cast<float>(value);
  return rounded <= value ? rounded : std::nextafter(rounded, 0.0F);
}

}  // namespace

KindTable::KindTable(const World& world, Setting setting, const KindTable* like)
    : setting_(setting),
      microbatches_(world.job.training.global_batch_size / setting.microbatch_size),
      layers_(world.layers()),
      steps_(replica_steps(world.job.training.global_batch_size)) {
  for (int replicas = 0, step = 0; replicas <= microbatches_; ++replicas) {
    while (step + 1 < std::ssize(steps_) && steps_[static_cast<std::size_t>(step) + 1] <= replicas) ++step;
    step_of_.push_back(step);
  }
  add_kinds(world);
  if (like != nullptr) {
    reductions_ = like->reductions_;
  } else {
    add_reductions(world);
  }
  add_ranges(world);
}

void KindTable::add_kinds(const World& world) {
  std::map<std::string_view, int> types;
  for (int pool = 0; pool < world.pools(); ++pool) {
    const int largest_node = world.pool(pool).nodes.front().free_gpus;
    const auto [found, is_new] =
        types.try_emplace(world.pool(pool).key.accelerator.str(), static_cast<int>(types.size()));
    type_of_pool_.push_back(found->second);
    for (const int degree : world.degrees) {
      const auto same = [&](const GroupKind& kind) { return kind.type == found->second && kind.degree == degree; };
      if (degree > largest_node || std::ranges::any_of(kinds_, same)) continue;
      kinds_.push_back({pool, found->second, degree});
    }
  }
}

StageShape KindTable::shape(int kind, int first, int last) const {
  const GroupKind& group = kinds_[static_cast<std::size_t>(kind)];
  return {first, last, group.pool, {setting_.microbatch_size, group.degree}, setting_.recomputes, setting_.shards};
}

void KindTable::add_ranges(const World& world) {
  for (int first = 0; first <= layers_; ++first) {
    for (int last = 0; last <= layers_; ++last) {
      entry_begin_.push_back(entries_.size());
      if (first < last) add_entries(world, first, last);
    }
  }
  entry_begin_.push_back(entries_.size());
  finishes_.assign((entry_begin_.size() - 1) * kinds_.size() * steps_.size(), 0);
  for (int first = 0; first < layers_; ++first) {
    for (int last = first + 1; last <= layers_; ++last) add_finishes(world, first, last);
  }
  add_links(world);
  add_ways(world);
}

void KindTable::add_entries(const World& world, int first, int last) {
  const auto begin = static_cast<std::ptrdiff_t>(entries_.size());
  for (int kind = 0; kind < std::ssize(kinds_); ++kind) {
    const StageCost cost = world.costs->stage_cost(shape(kind, first, last));
    if (cost.fits()) entries_.push_back({kind, cost.pass().value()});
    if (last == first + 1 && cost.pass() > Seconds(0)) {
      most_backward_ = std::max(most_backward_, cost.backward / cost.pass());
    }
  }
  std::ranges::stable_sort(entries_.begin() + begin, entries_.end(), {}, &Entry::pass);
}

void KindTable::add_links(const World& world) {
  for (int last = 0; last <= layers_; ++last) {
    LinkRange apart{Seconds(std::numeric_limits<double>::infinity()), Seconds(0)};
    Seconds near = apart.least;
    for (int kind = 0; last > 0 && kind < std::ssize(kinds_); ++kind) {
      const LinkRange range = world.costs->link_range(shape(kind, last - 1, last), false);
      apart = {std::min(apart.least, range.least), std::max(apart.most, range.most)};
      near = std::min(near, world.costs->link_range(shape(kind, last - 1, last), true).least);
    }
    links_.push_back(apart.least.value());
    if (last > 0) most_spread_ = std::max(most_spread_, apart.most / std::min(apart.least, near));
  }
}

void KindTable::add_ways(const World& world) {
  fastest_.push_back(0);
  slow_backward_.push_back(0);
  for (int layer = 0; layer < layers_; ++layer) {
    double fastest = std::numeric_limits<double>::infinity();
    double slowest = 0;
    for (const Entry& entry : entries(layer, layer + 1)) {
      fastest = std::min(fastest, entry.pass);
      slowest = std::max(slowest, world.costs->stage_cost(shape(entry.kind, layer, layer + 1)).backward.value());
    }
    fastest_.push_back(fastest_.back() + fastest);
    slow_backward_.push_back(slow_backward_.back() + slowest);
  }
}

// Of one kind, every stage's backward pass is a part of its pass. Of several, the way may have been through the fastest
// replicas, and others of their stages slower.
double KindTable::most_hidden(int layer, double way) const {
  const auto at = static_cast<std::size_t>(layer);
  if (kinds_.size() == 1) return way * std::max(most_backward_, most_spread_ / 2);
  return slow_backward_[at] + std::max(0.0, way - fastest_[at]) / 2 * most_spread_;
}

// Layers of as much state have as much to exchange, and most blocks are alike. (A tied embedding is one less where a
// stage has both of its users; no other range has both.)
void KindTable::add_reductions(const World& world) {
  reductions_.assign((range(layers_, layers_) + 1) * kinds_.size() * steps_.size(), 0);
  std::map<double, std::size_t> known;  // where the rows of a range with so much state begin
  for (int first = 0; first < layers_; ++first) {
    double state = 0;
    for (int last = first + 1; last <= layers_; ++last) {
      state += world.costs->state_of_layer(last - 1).value();
      const std::size_t row = range(first, last) * kinds_.size() * steps_.size();
      const auto [like, is_new] = known.try_emplace(state, row);
      if (is_new) {
        add_reductions_of(world, first, last, row);
      } else {
        const auto begin = reductions_.begin() + static_cast<std::ptrdiff_t>(like->second);
        std::copy_n(begin, kinds_.size() * steps_.size(), reductions_.begin() + static_cast<std::ptrdiff_t>(row));
      }
    }
  }
}

void KindTable::add_reductions_of(const World& world, int first, int last, std::size_t row) {
  for (int kind = 0; kind < std::ssize(kinds_); ++kind) {
    for (const int replicas : steps_) {
      const Seconds least = world.costs->least_reduction(shape(kind, first, last), replicas);
      reductions_[row++] = rounded_down(least.value());
    }
  }
}

void KindTable::add_finishes(const World& world, int first, int last) {
  Seconds longest;
  for (const Entry& entry : entries(first, last)) {
    longest = std::max(longest, world.costs->stage_cost(shape(entry.kind, first, last)).backward);
  }
  for (const Entry& entry : entries(first, last)) {
    const StageShape one = shape(entry.kind, first, last);
    const std::size_t row = (range(first, last) * kinds_.size() + static_cast<std::size_t>(entry.kind)) * steps_.size();
    for (std::size_t step = 0; step < steps_.size(); ++step) {
      finishes_[row + step] =
          rounded_down(world.costs->least_finish(one, Seconds(reductions_[row + step]), longest).value());
    }
  }
}

std::span<const KindTable::Entry> KindTable::entries(int first, int last) const {
  const std::size_t at = range(first, last);
  return {entries_.data() + entry_begin_[at], entry_begin_[at + 1] - entry_begin_[at]};
}

double KindTable::least_finish(int first, int last, int kind, int replicas) const {
  const auto step = static_cast<std::size_t>(step_of_[static_cast<std::size_t>(std::min(replicas, microbatches_))]);
  return finishes_[(range(first, last) * kinds_.size() + static_cast<std::size_t>(kind)) * steps_.size() + step];
}

std::vector<KindTable> kind_tables(const World& world) {
  std::vector<KindTable> tables;
  for (const int size : world.job.training.microbatch_sizes) {
    const int shards = world.may_shard_optimizer ? world.job.training.global_batch_size / size : 1;
    for (const bool recomputes : {false, true}) {
      if (world.allows_checkpointing(recomputes)) {
        const KindTable* like = tables.empty() ? nullptr : &tables.front();
        KindTable next(world, {size, recomputes, shards}, like);
        tables.push_back(std::move(next));
      }
    }
  }
  return tables;
}

}  // namespace sailor
