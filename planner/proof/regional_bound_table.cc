#include "planner/proof/regional_bound_table.h"

#include <algorithm>
#include <limits>
#include <map>
#include <string_view>
#include <utility>

#include "planner/relaxation/rounded_down.h"

namespace sailor {
namespace {

constexpr double kNanosecond = 1e-9;
constexpr int kMostRegions = 3;  // more regions count as one, with the best of all links

double in_whole_nanoseconds(Seconds time) { return std::max(0.0, time.value() - kNanosecond); }

// Returns the region of every pool, as an index.
std::vector<int> regions_of_pools(const PlanningProblem& problem) {
  std::map<std::string_view, int> regions;
  std::vector<int> result;
  result.reserve(problem.cluster.pools.size());
  for (const Pool& pool : problem.cluster.pools) {
    result.push_back(regions.try_emplace(pool.region.str(), static_cast<int>(regions.size())).first->second);
  }
  if (regions.size() > kMostRegions) std::ranges::fill(result, 0);
  return result;
}

}  // namespace

RegionalBoundTable::RegionalBoundTable(const PlanningProblem& problem, GroupTimeTable::Setting setting,
                                       const RegionalBoundTable* like)
    : problem_(problem),
      setting_(setting),
      microbatches_(problem.job.training.global_batch_size / setting.microbatch_size),
      most_replicas_(std::min(microbatches_, problem.most_gpus())),
      layers_(problem.layers()) {
  add_kinds();
  for (int region = 0; region < regions_; ++region) {
    for (int first = 0; first < layers_; ++first) {
      for (int last = 0; last <= layers_; ++last) {
        entry_begin_.push_back(entries_.size());
        if (first < last) add_entries(region, {first, last});
      }
    }
  }
  entry_begin_.push_back(entries_.size());
  reductions_ = like != nullptr ? like->reductions_ : no_reductions();
  add_messages();
}

std::size_t RegionalBoundTable::index_of(int region, LayerRange layers) const {
  return static_cast<std::size_t>((region * layers_ + layers.first) * (layers_ + 1) + layers.last);
}

// Returns a number for every layer. Layers with equal numbers have equal gradients on every kind of group.
std::vector<int> RegionalBoundTable::classes_of_layers() const {
  std::map<std::vector<double>, int> known;
  std::vector<int> classes;
  for (int layer = 0; layer < layers_; ++layer) {
    std::vector<double> seconds;
    seconds.reserve(kinds_.size());
    for (int kind = 0; kind < std::ssize(kinds_); ++kind) {
      seconds.push_back(problem_.estimator->least_reduction(shape(kind, {layer, layer + 1}), 2).value());
    }
    classes.push_back(known.try_emplace(std::move(seconds), static_cast<int>(known.size())).first->second);
  }
  return classes;
}

// Ranges with equally many layers of each class share a row. Only the range of all layers can have less than the sum of
// its layers, if embeddings are tied, and no other range has as many layers.
std::shared_ptr<RegionalBoundTable::Reductions> RegionalBoundTable::no_reductions() const {
  auto reductions = std::make_shared<Reductions>();
  reductions->row_of.resize(index_of(0, {layers_, 0}));
  const std::vector<int> classes = classes_of_layers();
  std::map<std::vector<int>, std::size_t> rows;
  for (int first = 0; first < layers_; ++first) {
    std::vector<int> layers_of_class(classes.size());
    for (int last = first + 1; last <= layers_; ++last) {
      ++layers_of_class[static_cast<std::size_t>(classes[static_cast<std::size_t>(last - 1)])];
      reductions->row_of[index_of(0, {first, last})] = rows.try_emplace(layers_of_class, rows.size()).first->second;
    }
  }
  reductions->known.resize(rows.size() * kinds_.size());
  return reductions;
}

void RegionalBoundTable::add_kinds() {
  const std::vector<int> regions = regions_of_pools(problem_);
  regions_ = 1 + std::ranges::max(regions);
  std::map<std::pair<int, GpuClass>, int> types;
  for (int pool = 0; pool < problem_.pools(); ++pool) {
    const Pool& one = problem_.pool(pool);
    const int region = regions[static_cast<std::size_t>(pool)];
    const auto [found, is_new] = types.try_emplace({region, one.key.gpu_class()}, static_cast<int>(types.size()));
    const int type = found->second;
    if (is_new) {
      gpus_.push_back(0);
      region_of_type_.push_back(region);
    }
    gpus_[static_cast<std::size_t>(type)] += one.free_gpus();
    type_of_pool_.push_back(type);
    for (const int tensor_parallel : problem_.tensor_parallel_sizes) {
      const auto same = [&](const GroupKind& kind) {
        return kind.type == type && kind.tensor_parallel == tensor_parallel;
      };
      if (tensor_parallel > one.gpus_of_largest_node() || std::ranges::any_of(kinds_, same)) continue;
      kinds_.push_back({pool, type, tensor_parallel});
    }
  }
}

StageShape RegionalBoundTable::shape(int kind, LayerRange layers) const {
  const GroupKind& group = kinds_[static_cast<std::size_t>(kind)];
  return {layers, group.pool, {setting_.microbatch_size, group.tensor_parallel}, setting_.recomputes, setting_.shards};
}

void RegionalBoundTable::add_entries(int region, LayerRange layers) {
  const auto begin = static_cast<std::ptrdiff_t>(entries_.size());
  for (int kind = 0; kind < std::ssize(kinds_); ++kind) {
    if (region_of_type_[static_cast<std::size_t>(kinds_[static_cast<std::size_t>(kind)].type)] != region) continue;
    const StageNeeds needs = problem_.estimator->stage_needs(shape(kind, layers));
    if (!needs.fits()) continue;
    entries_.push_back({kind, in_whole_nanoseconds(needs.forward), in_whole_nanoseconds(needs.backward),
                        in_whole_nanoseconds(needs.update), needs.buckets, 0, 0});
  }
  std::stable_sort(entries_.begin() + begin, entries_.end(),
                   [](const Entry& a, const Entry& b) { return a.pass() < b.pass(); });
  double forward = std::numeric_limits<double>::infinity();
  double backward = forward;
  for (std::ptrdiff_t i = std::ssize(entries_); i-- > begin;) {
    Entry& entry = entries_[static_cast<std::size_t>(i)];
    entry.least_forward = forward = std::min(forward, entry.forward);
    entry.least_backward = backward = std::min(backward, entry.backward);
  }
}

// Each message is the shortest one over all pools and tensor-parallel sizes of the sender.
void RegionalBoundTable::add_messages() {
  const double never = std::numeric_limits<double>::infinity();
  messages_.assign(static_cast<std::size_t>(layers_ * regions_ * regions_) * 2, {never, never});
  for (int layer = 1; layer < layers_; ++layer) {
    for (const GroupKind& kind : kinds_) {
      for (int from = 0; from < problem_.pools(); ++from) {
        if (type_of(from) != kind.type) continue;
        const ProfilePoint point{setting_.microbatch_size, kind.tensor_parallel};
        add_messages({{layer - 1, layer}, from, point, setting_.recomputes, setting_.shards});
      }
    }
  }
}

void RegionalBoundTable::add_messages(const StageShape& sender) {
  const auto region_of = [&](int pool) { return region_of_type_[static_cast<std::size_t>(type_of(pool))]; };
  for (int to = 0; to < problem_.pools(); ++to) {
    for (const bool inside : {false, true}) {
      const MessageTime time = problem_.estimator->least_message(sender, to, inside);
      Message& least = messages_[message_at(sender.layers.last, {region_of(sender.pool), region_of(to)}, inside)];
      least.least = std::min(least.least, in_whole_nanoseconds(time.latency) + in_whole_nanoseconds(time.occupancy));
      least.occupancy = std::min(least.occupancy, in_whole_nanoseconds(time.occupancy));
    }
  }
}

std::span<const RegionalBoundTable::Entry> RegionalBoundTable::entries(int region, LayerRange layers) const {
  const std::size_t at = index_of(region, layers);
  return {entries_.data() + entry_begin_[at], entry_begin_[at + 1] - entry_begin_[at]};
}

std::size_t RegionalBoundTable::message_at(int layer, Boundary regions, bool inside_nodes) const {
  return 2 * static_cast<std::size_t>((layer * regions_ + regions.from) * regions_ + regions.to) +
         (inside_nodes ? 1 : 0);
}

RegionalBoundTable::Message RegionalBoundTable::message(int layer, Boundary regions, bool inside_nodes) const {
  return messages_[message_at(layer, regions, inside_nodes)];
}

double RegionalBoundTable::least_occupancy(int layer, bool inside_nodes) const {
  double least = std::numeric_limits<double>::infinity();
  for (int from = 0; from < regions_; ++from) {
    for (int to = 0; to < regions_; ++to) {
      least = std::min(least, messages_[message_at(layer, {from, to}, inside_nodes)].occupancy);
    }
  }
  return least;
}

double RegionalBoundTable::least_reduction(LayerRange layers, int kind, int replicas) {
  const std::size_t row = reductions_->row_of[index_of(0, layers)];
  auto& known = reductions_->known[row * kinds_.size() + static_cast<std::size_t>(kind)];
  if (known.empty()) {
    known.assign(static_cast<std::size_t>(std::min(problem_.job.training.global_batch_size, problem_.most_gpus())) + 1,
                 -1);
  }
  replicas = std::min(replicas, most_replicas_);
  float& least = known[static_cast<std::size_t>(replicas)];
  if (least < 0) least = rounded_down(problem_.estimator->least_reduction(shape(kind, layers), replicas).value());
  return least;
}

// The simulator rounds every bucket to nanoseconds separately.
double RegionalBoundTable::least_sync_and_update(const Entry& entry, double reduction) {
  const Seconds left = exposed_reduction(Seconds(reduction), Seconds(entry.backward + kNanosecond), entry.buckets);
  return entry.update + std::max(0.0, left.value() - 2 * (entry.buckets + 1) * kNanosecond);
}

}  // namespace sailor
