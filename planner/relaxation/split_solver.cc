#include "planner/relaxation/split_solver.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <ranges>

namespace sailor {
namespace {}  // namespace

// Lists every kind with which a stage of the layers [from.layer, last) can meet the limits. Excludes only kinds that
// are too slow for a single microbatch, and kinds whose replicas take too long to sum gradients and update.
bool SplitSolver::list_options(Position from, int last, const TimeLimits& limits, std::span<const double> prices) {
  options_.clear();
  const auto entries = table_.entries({from.layer, last});
  if (entries.empty()) return false;
  const double before = from.level * level_time_;
  const double room = (limits.passes - before) * (1 + kRoundingSlack);
  const int most_each = static_cast<int>(std::min(room / entries.front().pass, 1e9));
  if (most_each < 1) return false;
  const int microbatches = table_.microbatches();
  const int replicas = (microbatches + most_each - 1) / most_each;
  // The path to each earlier stage was rounded down by less than a level; there are at most as many stages as layers.
  const double hidden = table_.most_hidden(from.layer, (from.level + from.layer) * level_time_);
  for (const GroupTimeTable::Entry& entry : entries) {
    const int each = static_cast<int>(std::min(room / entry.pass, 1e9));
    if (each < 1) break;
    const double sync_and_update = table_.least_sync_and_update({from.layer, last}, entry.kind, replicas);
    if (sync_and_update > (limits.sync_and_update + hidden) * (1 + kRoundingSlack)) continue;
    const double groups = static_cast<double>(microbatches) / std::min(each, microbatches);
    const double price = prices[static_cast<std::size_t>(entry.kind)];
    options_.push_back({entry.kind, entry.pass, groups * price, groups, std::ceil(groups - kRoundingSlack) * price});
  }
  return !options_.empty();
}

// Returns a lower bound on the price of a stage of two or more kinds: it has at least one group of each of two kinds.
double SplitSolver::least_mixed(std::span<const double> prices) const {
  double least = kUnreached;
  double second = kUnreached;
  for (const Option& option : options_) {
    const double price = prices[static_cast<std::size_t>(option.kind)];
    second = std::min(second, std::max(least, price));
    least = std::min(least, price);
  }
  return least + second;
}

// Returns a lower bound on the price of the groups for all layers from here on. None of them can start before the time
// of the level.
double SplitSolver::least_rest(Position from) const {
  if (from.layer == table_.layers()) return 0;
  const double room = passes_ - from.level * level_time_;
  return room > 0 ? rest_[static_cast<std::size_t>(from.layer)] / room : kUnreached;
}

void SplitSolver::keep_if_cheaper(Position from, Position to, const StageSegment& segment, double price) {
  Cell& there = cell(to.layer, to.level);
  const double sum = cell(from.layer, from.level).price + price;
  if (sum >= there.price || sum + least_rest(to) > most_) return;
  there = {sum, from.level, segment};
}

// Tries each kind as the fastest of the stage: the path through the stage takes one pass on this kind. Slower kinds may
// process any number of the microbatches.
void SplitSolver::add_stage(Position from, int last, double passed, double least_mixed) {
  const Option* cheapest = nullptr;
  for (const Option& option : std::views::reverse(options_)) {
    if (cheapest == nullptr || option.price < cheapest->price) cheapest = &option;
    const int level = static_cast<int>((passed + option.pass) / level_time_ * (1 - kRoundingSlack));
    const double mixed = std::max(least_mixed, cheapest->price);
    const bool is_pure = option.whole_price <= mixed;
    const Option& working = is_pure ? option : *cheapest;
    keep_if_cheaper(from, {last, std::min(levels_, level)}, {{from.layer, last}, working.kind, working.groups},
                    is_pure ? option.whole_price : mixed);
  }
}

void SplitSolver::extend(Position from, const TimeLimits& limits, std::span<const double> prices) {
  const double before = from.level * level_time_;
  for (int last = from.layer + 1; last <= table_.layers(); ++last) {
    if (!list_options(from, last, limits, prices)) continue;
    const double mixed = least_mixed(prices);
    if (last == table_.layers()) {
      const Option& best = *std::ranges::min_element(options_, {}, [&](const Option& option) {
        return std::min(option.whole_price, std::max(option.price, mixed));
      });
      keep_if_cheaper(from, {last, 0}, {{from.layer, last}, best.kind, best.groups},
                      std::min(best.whole_price, std::max(best.price, mixed)));
      continue;
    }
    add_stage(from, last, before + 2 * table_.least_link(last), mixed);
  }
}

// Returns an upper bound on the time that a microbatch needs to the last stage and back.
double SplitSolver::longest_path() const {
  double sum = 0;
  for (int layer = 0; layer < table_.layers(); ++layer) {
    const auto entries = table_.entries({layer, layer + 1});
    if (!entries.empty()) sum += entries.back().pass;
    sum += 2 * table_.least_link(layer + 1);
  }
  return sum;
}

// Computes the bound as if every layer were a stage that starts at once, and as if groups and microbatches could be
// divided.
void SplitSolver::set_rest(std::span<const double> prices) {
  rest_.assign(static_cast<std::size_t>(table_.layers()) + 1, 0);
  for (int layer = table_.layers(); layer-- > 0;) {
    double least = kUnreached;
    for (const GroupTimeTable::Entry& entry : table_.entries({layer, layer + 1})) {
      least = std::min(least, prices[static_cast<std::size_t>(entry.kind)] * entry.pass);
    }
    rest_[static_cast<std::size_t>(layer)] =
        rest_[static_cast<std::size_t>(layer) + 1] + least * table_.microbatches() * (1 - kRoundingSlack);
  }
}

std::optional<CheapestSplit> SplitSolver::solve(const TimeLimits& limits, std::span<const double> prices, double most) {
  if (limits.passes <= 0) return std::nullopt;
  level_time_ = std::min(limits.passes, longest_path()) / levels_;
  most_ = most;
  passes_ = limits.passes;
  set_rest(prices);
  if (least_rest({0, 0}) > most) return std::nullopt;
  cells_.assign(static_cast<std::size_t>(table_.layers() + 1) * static_cast<std::size_t>(levels_ + 1),
                {kUnreached, -1, {}});
  cell(0, 0).price = 0;
  for (int layer = 0; layer < table_.layers(); ++layer) {
    for (int level = 0; level < levels_; ++level) {
      if (cell(layer, level).price <= most) extend({layer, level}, limits, prices);
    }
  }
  if (cell(table_.layers(), 0).price > most) return std::nullopt;
  return traced(0);
}

CheapestSplit SplitSolver::traced(int level) {
  CheapestSplit split{cell(table_.layers(), level).price, {}};
  for (int layer = table_.layers(); layer > 0;) {
    const Cell& at = cell(layer, level);
    split.segments.push_back(at.segment);
    layer = at.segment.layers.first;
    level = at.from_level;
  }
  std::ranges::reverse(split.segments);
  return split;
}

}  // namespace sailor
