#include "planner/proof/split_bound_solver.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <ranges>

namespace sailor {
namespace {

constexpr int kRoundsOfReplicas =
    12;  // more replicas take longer to sum gradients, so they have less time: more are needed

int ceil_of(int microbatches, int each) { return (microbatches + each - 1) / each; }

}  // namespace

// Returns an upper bound on the microbatches of one replica. The limits from messages hold for the replica's own
// messages.
SplitBoundSolver::Work SplitBoundSolver::most_work(const Stage& stage, const RegionalBoundTable::Entry& entry,
                                                   double reduction) const {
  Work work{.kind = entry.kind,
            .price = price_of(entry),
            .sync_and_update = RegionalBoundTable::least_sync_and_update(entry, reduction)};
  const Label& from = *stage.from;
  const double seconds = plans_.seconds * (1 + kRoundingSlack);
  const double room = seconds - std::max(from.end, from.head + work.sync_and_update);
  double most = room / entry.pass();
  // The first gradient arrives after the whole path; from then on, the replica has a backward pass to do for every
  // microbatch. Before it sends the last activation, it has sent all others.
  const double each = std::max({entry.backward, stage.before, stage.after});
  const double outside_path = room - std::max(0.0, plans_.least_path - from.most_path);
  most = outside_path < 0 ? 0 : std::min(most, 1 + outside_path / each);
  if (stage.layers.first > 0) {
    const double sending = seconds - from.end - entry.forward - stage.after;
    most = std::min(most, 1 + sending / (stage.before + stage.after));
  }
  work.microbatches = static_cast<int>(std::clamp(most, 0.0, static_cast<double>(table_.microbatches())));
  return work;
}

// Returns the cheapest choice in which the stage has a whole number of groups, all of this kind.
SplitBoundSolver::Choice SplitBoundSolver::choice_of_one_kind(const Stage& stage,
                                                              const RegionalBoundTable::Entry& entry) {
  Choice choice{.price = kUnreached, .forward = entry.forward, .backward = entry.backward, .kind = entry.kind};
  const double price = price_of(entry);
  int replicas = 1;
  for (int round = 0; round < kRoundsOfReplicas; ++round) {
    const Work work = most_work(stage, entry, table_.least_reduction(stage.layers, entry.kind, replicas));
    if (work.microbatches < 1) return choice;
    const int more = ceil_of(table_.microbatches(), work.microbatches);
    choice.sync_and_update = work.sync_and_update;
    if (more <= replicas) break;
    replicas = more;
    if (stage.from->price + price * replicas > most_) return choice;
  }
  choice.price = price * replicas;
  choice.groups = replicas;
  return choice;
}

// Lists the work that a replica of each kind can do if the stage has at least this number of replicas. Kinds with a
// smaller tensor-parallel size than `least_tensor_parallel` get no microbatches. Returns the largest number of
// microbatches of any kind.
int SplitBoundSolver::list_works(const Stage& stage, const Replicas& replicas) {
  const auto entries = table_.entries(stage.region, stage.layers);
  // The ring sums the largest shard, which is that of the smallest tensor-parallel size.
  double slowest = kUnreached;
  for (const RegionalBoundTable::Entry& entry : entries) {
    if (tensor_parallel_of(entry.kind) != replicas.least_tensor_parallel) continue;
    slowest = std::min(slowest, table_.least_reduction(stage.layers, entry.kind, replicas.least));
  }
  works_.assign(entries.size(), {});
  if (slowest == kUnreached) return 0;
  int most = 0;
  for (std::size_t i = 0; i < entries.size(); ++i) {
    if (tensor_parallel_of(entries[i].kind) < replicas.least_tensor_parallel) continue;
    const double own = table_.least_reduction(stage.layers, entries[i].kind, replicas.least);
    works_[i] = most_work(stage, entries[i], std::max(own, slowest));
    most = std::max(most, works_[i].microbatches);
  }
  return most;
}

// Rounds the price up to the price of a whole number of GPUs of the type that does this work.
double SplitBoundSolver::in_whole_gpus(double price, const Work& work) const {
  if (price == kUnreached) return price;
  const double gpu = work.price / tensor_parallel_of(work.kind);
  return std::ceil(price / gpu * (1 - kRoundingSlack)) * gpu;
}

// Returns the cheapest way to process all microbatches with at most `most_replicas` replicas. One replica is of the
// first kind. The others are of one kind or, if that takes too many replicas, as many as allowed of two kinds.
SplitBoundSolver::Choice SplitBoundSolver::cheapest_of(std::span<const Work> works, int most_replicas) const {
  const Work& first = works.front();
  Choice best{.price = kUnreached};
  const double microbatches = std::max(0, table_.microbatches() - first.microbatches);
  const double most = most_replicas - 1;
  for (const Work& one : works) {
    if (one.microbatches == 0) continue;
    const double alone = microbatches / one.microbatches;
    if (alone <= most) {
      if (alone * one.price < best.price) best = {.price = alone * one.price, .kind = one.kind, .groups = alone + 1};
      continue;
    }
    if (one.price * most >= best.price) continue;
    for (const Work& other : works) {
      if (other.microbatches * most < microbatches) continue;
      const double slow = (other.microbatches * most - microbatches) / (other.microbatches - one.microbatches);
      const double price = slow * one.price + (most - slow) * other.price;
      if (price < best.price) best = {.price = price, .kind = other.kind, .groups = most + 1};
    }
  }
  best.price += first.price;
  if (table_.gpus().size() == 1) best.price = in_whole_gpus(best.price, first);
  return best;
}

// Tries each kind as the fastest of the stage, and keeps the choice in choices_ if it is better.
void SplitBoundSolver::update_choices(const Replicas& replicas) {
  int most_each = 0;
  double sync_and_update = kUnreached;
  for (std::size_t fastest = works_.size(); fastest-- > 0;) {
    const Work& first = works_[fastest];
    if (first.microbatches == 0) continue;
    most_each = std::max(most_each, first.microbatches);
    sync_and_update = std::min(sync_and_update, first.sync_and_update);
    Choice& choice = choices_[fastest];
    if (choice.is_final || ceil_of(table_.microbatches(), most_each) > replicas.most) continue;
    const std::span<const Work> works(works_.begin() + static_cast<std::ptrdiff_t>(fastest), works_.end());
    const Choice here = cheapest_of(works, replicas.most);
    const double least_sync_and_update = std::min(choice.sync_and_update, sync_and_update);
    if (here.price < choice.price) choice = here;
    choice.sync_and_update = least_sync_and_update;
    choice.is_final = here.groups < replicas.most;
  }
}

// Adds stages of several kinds; each kind is the fastest in turn. With more replicas, the gradient sum takes longer.
// The function therefore goes through ranges of the number of replicas, and finds the cheapest choice for each range.
// It ends when more replicas cannot help.
void SplitBoundSolver::add_stages_of_several_kinds(const Stage& stage, int least_tensor_parallel, int index) {
  const auto entries = table_.entries(stage.region, stage.layers);
  choices_.assign(entries.size(), {.price = kUnreached, .sync_and_update = kUnreached});
  Replicas replicas{2, 0, least_tensor_parallel};
  while (replicas.least <= table_.most_replicas()) {
    const int most = list_works(stage, replicas);
    if (most == 0) break;
    if (const int needed = ceil_of(table_.microbatches(), most); needed > replicas.least) {
      replicas.least = needed;
      continue;
    }
    replicas.most = std::max(replicas.least, replicas.least * 9 / 8);
    update_choices(replicas);
    const bool is_over = std::ranges::all_of(std::views::iota(std::size_t{0}, entries.size()), [&](std::size_t i) {
      return choices_[i].is_final || works_[i].microbatches == 0;
    });
    if (is_over) break;
    replicas.least = replicas.most + 1;
  }
  double other = kUnreached;
  for (std::size_t fastest = entries.size(); fastest-- > 0;) {
    if (tensor_parallel_of(entries[fastest].kind) < least_tensor_parallel) continue;
    const double price = price_of(entries[fastest]);
    Choice& choice = choices_[fastest];
    choice.price = std::max(choice.price, price + other);
    choice.forward = entries[fastest].least_forward;
    choice.backward = entries[fastest].least_backward;
    other = std::min(other, price);
    merge_into_labels(stage, choice, index);
  }
}

void SplitBoundSolver::merge_into_label_of_region(const Stage& stage, const Choice& choice, int region, int index) {
  const Label& from = *stage.from;
  const RegionalBoundTable::Message message =
      table_.message(stage.layers.last, {stage.region, region}, plans_.inside_nodes);
  const double path = choice.forward + choice.backward + 2 * message.least;
  const double end = std::max(from.end, from.head + choice.sync_and_update) + path;
  const double price = from.price + choice.price;
  const auto layer = static_cast<std::size_t>(stage.layers.last);
  const double room = plans_.seconds - end;
  if (room <= 0 || price + rest_price_[layer] * plans_.seconds / room > most_) return;
  if (from.least_path + path + rest_path_[layer] > plans_.most_path * (1 + kRoundingSlack)) return;
  const auto level = [](double part, int levels) { return std::clamp(static_cast<int>(part * levels), 0, levels - 1); };
  const int cell =
      (region * levels_.paths + level((from.least_path + path) / plans_.most_path, levels_.paths)) * levels_.ends +
      level(end / plans_.seconds, levels_.ends);
  Label& there = label(stage.layers.last, cell);
  if (price < there.price) {
    there.price = price;
    there.from = index;
    there.segment = {stage.layers, choice.kind, choice.groups};
  }
  there.least_path = std::min(there.least_path, from.least_path + path);
  there.most_path = std::max(there.most_path, from.most_path + path);
  there.head = std::min(there.head, from.head + choice.forward + message.least);
  there.end = std::min(there.end, end);
}

void SplitBoundSolver::merge_into_labels(const Stage& stage, const Choice& choice, int index) {
  const Label& from = *stage.from;
  if (from.price + choice.price > most_) return;
  if (stage.layers.last < table_.layers()) {
    for (int region = 0; region < table_.regions(); ++region) merge_into_label_of_region(stage, choice, region, index);
    return;
  }
  const double path = choice.forward + choice.backward;
  if (from.most_path + path < plans_.least_path * (1 - kRoundingSlack)) return;
  if (from.least_path + path > plans_.most_path * (1 + kRoundingSlack)) return;
  Label& there = label(stage.layers.last, 0);
  if (from.price + choice.price >= there.price) return;
  there.price = from.price + choice.price;
  there.from = index;
  there.segment = {stage.layers, choice.kind, choice.groups};
}

// Whether the stage and all later ones may cost at most `most_`. Assumes the cheapest kind, and that groups and
// microbatches can be divided.
bool SplitBoundSolver::is_affordable(const Stage& stage, std::span<const RegionalBoundTable::Entry> entries) const {
  const Label& from = *stage.from;
  const double room = plans_.seconds - from.end;
  double least = kUnreached;
  double fastest = kUnreached;
  for (const RegionalBoundTable::Entry& entry : entries) {
    least = std::min(least, price_of(entry) * entry.pass());
    fastest = std::min(fastest, entry.least_forward + entry.least_backward);
  }
  const double rest = rest_price_[static_cast<std::size_t>(stage.layers.last)] * plans_.seconds;
  const double price = least * table_.microbatches() / room + rest / (room - fastest);
  return room > fastest && from.price + price * (1 - kRoundingSlack) <= most_;
}

void SplitBoundSolver::add_stage(const Stage& stage, int index) {
  const auto entries = table_.entries(stage.region, stage.layers);
  if (!is_affordable(stage, entries)) return;
  int most_tensor_parallel = 0;
  for (const RegionalBoundTable::Entry& entry : entries) {
    merge_into_labels(stage, choice_of_one_kind(stage, entry), index);
    most_tensor_parallel = std::max(most_tensor_parallel, tensor_parallel_of(entry.kind));
  }
  for (int tensor_parallel = 1; entries.size() > 1 && tensor_parallel <= most_tensor_parallel; tensor_parallel *= 2)
    add_stages_of_several_kinds(stage, tensor_parallel, index);
}

void SplitBoundSolver::extend(int layer, int region, const Label& from, int index) {
  Stage stage{.from = &from, .layers = {layer, layer + 1}, .region = region};
  if (layer > 0) stage.before = table_.least_occupancy(layer, plans_.inside_nodes);
  for (; stage.layers.last <= table_.layers(); ++stage.layers.last) {
    stage.after =
        stage.layers.last < table_.layers() ? table_.least_occupancy(stage.layers.last, plans_.inside_nodes) : 0;
    add_stage(stage, index);
  }
}

// Computes the bounds as if every layer were a stage that starts at once, and as if groups and microbatches could be
// divided.
void SplitBoundSolver::set_rest() {
  rest_price_.assign(static_cast<std::size_t>(table_.layers()) + 1, 0);
  rest_path_ = rest_price_;
  for (int layer = table_.layers(); layer-- > 0;) {
    double price = kUnreached;
    double path = kUnreached;
    for (int region = 0; region < table_.regions(); ++region) {
      for (const RegionalBoundTable::Entry& entry : table_.entries(region, {layer, layer + 1})) {
        price = std::min(price, price_of(entry) * entry.pass());
        path = std::min(path, entry.least_forward + entry.least_backward);
      }
    }
    const auto at = static_cast<std::size_t>(layer);
    rest_price_[at] = rest_price_[at + 1] + price * table_.microbatches() / plans_.seconds * (1 - kRoundingSlack);
    rest_path_[at] = rest_path_[at + 1] + path * (1 - kRoundingSlack);
  }
}

std::optional<CheapestSplit> SplitBoundSolver::solve(const PlanClass& plans, std::span<const double> prices,
                                                     double most) {
  plans_ = plans;
  prices_ = prices;
  most_ = most;
  set_rest();
  if (rest_price_.front() > most) return std::nullopt;
  const Label none{.price = kUnreached, .least_path = kUnreached, .head = kUnreached, .end = kUnreached};
  labels_.assign(labels_of_layer() * static_cast<std::size_t>(table_.layers() + 1), none);
  const int cells = levels_.paths * levels_.ends;
  for (int region = 0; region < table_.regions(); ++region) label(0, region * cells) = {};
  for (int layer = 0; layer < table_.layers(); ++layer) {
    for (int index = 0; index < table_.regions() * cells; ++index) {
      const Label& from = label(layer, index);
      if (from.price <= most) extend(layer, index / cells, from, index);
    }
  }
  if (label(table_.layers(), 0).price > most) return std::nullopt;
  return traced();
}

CheapestSplit SplitBoundSolver::traced() {
  const Label* at = &label(table_.layers(), 0);
  CheapestSplit split{at->price, {}};
  while (true) {
    split.segments.push_back(at->segment);
    if (at->segment.layers.first == 0) break;
    at = &label(at->segment.layers.first, at->from);
  }
  std::ranges::reverse(split.segments);
  return split;
}

}  // namespace sailor
