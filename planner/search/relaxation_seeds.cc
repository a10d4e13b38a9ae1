#include "planner/search/relaxation_seeds.h"

#include <algorithm>
#include <cmath>
#include <list>
#include <map>
#include <set>

namespace sailor {
namespace {

constexpr int kLevels = 16;
constexpr int kTries = 3;
constexpr double kFirstStep = 0.7;
constexpr double kSmaller = 0.75;
constexpr double kPrecision = 0.04;

// Whole replicas of a split, from the pools of one region.
class Rounding {
 public:
  Rounding(const World& world, const KindTable& table, const std::vector<int>& pools)
      : world_(world), table_(table), pools_(pools), left_(world.most_gpus()) {
    for (const int pool : pools) free_[pool] = world.pool(pool).free_gpus();
  }

  std::optional<Draft> rounded(const CheapestSplit& split) {
    Draft draft{table_.setting().microbatch_size, {}};
    for (const Leg& leg : split.legs) draft.stages.push_back({leg.first_layer, leg.last_layer, {}});
    for (std::size_t i = 0; i < split.legs.size(); ++i) {
      const Leg& leg = split.legs[i];
      take(draft.stages[i], leg.kind, std::floor(leg.groups + 1e-6));
    }
    for (std::size_t i = 0; i < split.legs.size(); ++i) {
      const Leg& leg = split.legs[i];
      if (!draft.stages[i].crews.empty()) continue;
      if (take(draft.stages[i], leg.kind, 1) == 0 && !grow(draft.stages[i])) return std::nullopt;
    }
    spread(draft);
    return draft;
  }

 private:
  int take(DraftStage& stage, int kind, double count) {
    const GroupKind& group = table_.kinds()[static_cast<std::size_t>(kind)];
    int wanted = static_cast<int>(std::min(count, 1e6));
    int taken = 0;
    for (const int pool : pools_) {
      if (table_.type_of(pool) != group.type) continue;
      const int most = std::min({wanted, free_.at(pool) / group.degree, left_ / group.degree,
                                 world_.pool(pool).group_capacity(group.degree)});
      if (most <= 0) continue;
      stage.add({pool, group.degree, most});
      free_.at(pool) -= most * group.degree;
      left_ -= most * group.degree;
      wanted -= most;
      taken += most;
    }
    return taken;
  }

  // One more replica, of the kind that does the most for a GPU.
  bool grow(DraftStage& stage) {
    int best = -1;
    double best_rate = 0;
    for (const KindTable::Entry& entry : table_.entries(stage.first_layer, stage.last_layer)) {
      const GroupKind& group = table_.kinds()[static_cast<std::size_t>(entry.kind)];
      const bool is_free = group.degree <= left_ && std::ranges::any_of(pools_, [&](int pool) {
                             return table_.type_of(pool) == group.type && free_.at(pool) >= group.degree;
                           });
      const double rate = 1 / (entry.pass * group.degree);
      if (is_free && rate > best_rate) {
        best = entry.kind;
        best_rate = rate;
      }
    }
    return best >= 0 && take(stage, best, 1) > 0;
  }

  // What is left over goes to the stages that would be done last.
  void spread(Draft& draft) {
    const int microbatches = table_.microbatches();
    std::set<const DraftStage*> done;
    while (left_ > 0) {
      DraftStage* last = nullptr;
      double latest = 0;
      double before = 0;
      for (DraftStage& stage : draft.stages) {
        const double rate = rate_of(stage, draft.microbatch_size);
        const double until = before + microbatches / rate;
        before += stage.replicas() / rate;
        if (done.contains(&stage) || until <= latest) continue;
        latest = until;
        last = &stage;
      }
      if (last == nullptr) return;
      if (last->replicas() >= microbatches || !grow(*last)) done.insert(last);
    }
  }

  [[nodiscard]] double rate_of(const DraftStage& stage, int microbatch_size) const {
    double rate = 0;
    for (const Crew& crew : stage.crews) {
      rate +=
          crew.count / world_.pass(crew.pool, {microbatch_size, crew.degree}, {stage.first_layer, stage.last_layer});
    }
    return rate;
  }

  const World& world_;
  const KindTable& table_;
  const std::vector<int>& pools_;
  std::map<int, int> free_;
  int left_;
};

// The pools of every region; of regions with as many GPUs of each type, the first.
std::vector<std::vector<int>> pools_of_regions(const World& world) {
  std::map<std::string_view, std::vector<int>> regions;
  for (int pool = 0; pool < world.pools(); ++pool) regions[world.pool(pool).region.str()].push_back(pool);
  std::set<std::vector<int>> known;
  std::vector<std::vector<int>> result;
  for (auto& [region, pools] : regions) {
    if (known.insert(gpus_of_types(world, pools)).second) result.push_back(std::move(pools));
  }
  return result;
}

class Splits {
 public:
  Splits(const World& world, const KindTable& table, const std::vector<int>& pools)
      : table_(table), program_(table, kLevels), prices_(gpus_of_types(world, pools), world.most_gpus()) {}

  // The split with the shortest passes that the GPUs could make, of at most limits.passes.
  std::optional<CheapestSplit> fastest(TimeLimits limits) {
    std::optional<CheapestSplit> best = solved(limits);
    if (!best) return best;
    double refuted = 0;
    while (refuted < limits.passes * (1 - kPrecision)) {
      const double middle = (refuted + limits.passes) / 2;
      auto split = solved({middle, limits.finish});
      if (!split) {
        refuted = middle;
      } else {
        limits.passes = middle;
        best = std::move(split);
      }
    }
    return best;
  }

 private:
  std::optional<CheapestSplit> solved(const TimeLimits& limits) {
    double step = kFirstStep;
    for (int tried = 0; tried < kTries; ++tried, step *= kSmaller) {
      auto split = program_.solve(limits, prices_.of(table_.kinds()), 1);
      if (!split || !prices_.adapt(*split, table_.kinds(), step) || tried + 1 == kTries) return split;
    }
    return std::nullopt;
  }

  const KindTable& table_;
  StageProgram program_;
  GpuPrices prices_;
};

}  // namespace

void visit_split_seeds(const World& world, std::span<const KindTable> tables, double seconds, const Visit& visit) {
  for (const KindTable& table : tables) {
    if (table.setting().recomputes != world.savings.recomputes) continue;
    for (const std::vector<int>& pools : pools_of_regions(world)) {
      Splits splits(world, table, pools);
      for (double finish = seconds / 2; finish > seconds / 100; finish /= 2) {
        const auto split = splits.fastest({seconds - finish / 2, finish});
        if (!split) continue;
        if (const auto draft = Rounding(world, table, pools).rounded(*split)) visit(*draft);
      }
    }
  }
}

}  // namespace sailor
