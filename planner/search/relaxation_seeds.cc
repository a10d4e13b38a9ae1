#include "planner/search/relaxation_seeds.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

namespace sailor {
namespace {

constexpr int kLevels = 16;  // resolution of the solver's path times
// The time of gradient sync and update is tried as 1/2, 1/4, ..., 1/64 of an iteration.
constexpr int kMostHalvings = 6;
constexpr int kTries = 3;  // price vectors that are tried for each pair of limits
// The bisection of the shortest passes stops at a difference of this fraction.
constexpr double kSeedPrecision = 0.04;

// Rounds a split to whole replicas from the pools of one region.
class Rounding {
 public:
  Rounding(const PlanningProblem& problem, const Techniques& techniques, const GroupTimeTable& table,
           const std::vector<int>& pools)
      : problem_(problem), techniques_(techniques), table_(table), pools_(pools), left_(problem.most_gpus()) {
    for (const int pool : pools) free_[pool] = problem.pool(pool).free_gpus();
  }

  std::optional<Draft> rounded(const CheapestSplit& split) {
    Draft draft{table_.setting().microbatch_size, techniques_, {}};
    for (const StageSegment& segment : split.segments) draft.stages.push_back({segment.layers, {}});
    for (std::size_t i = 0; i < split.segments.size(); ++i) {
      const StageSegment& segment = split.segments[i];
      add_replicas(draft.stages[i], segment.kind, std::floor(segment.groups + 1e-6));
    }
    for (std::size_t i = 0; i < split.segments.size(); ++i) {
      const StageSegment& segment = split.segments[i];
      if (!draft.stages[i].groups.empty()) continue;
      if (add_replicas(draft.stages[i], segment.kind, 1) == 0 && !add_one_replica(draft.stages[i])) return std::nullopt;
    }
    use_left_over_gpus(draft);
    return draft;
  }

 private:
  // Adds up to `count` replicas of the kind, as far as GPUs are left. Returns how many it has added.
  int add_replicas(GroupedStage& stage, int kind, double count) {
    const GroupKind& group = table_.kinds()[static_cast<std::size_t>(kind)];
    int wanted = static_cast<int>(std::min(count, 1e6));
    int added = 0;
    for (const int pool : pools_) {
      if (table_.type_of(pool) != group.type) continue;
      const int most = std::min({wanted, free_.at(pool) / group.tensor_parallel, left_ / group.tensor_parallel,
                                 problem_.pool(pool).group_capacity(group.tensor_parallel)});
      if (most <= 0) continue;
      stage.add(draft_replicas(pool, group.tensor_parallel, most));
      free_.at(pool) -= most * group.tensor_parallel;
      left_ -= most * group.tensor_parallel;
      wanted -= most;
      added += most;
    }
    return added;
  }

  // Adds one more replica, of the kind that processes the most microbatches per GPU.
  bool add_one_replica(GroupedStage& stage) {
    int best = -1;
    double best_rate = 0;
    for (const GroupTimeTable::Entry& entry : table_.entries(stage.layers)) {
      const GroupKind& group = table_.kinds()[static_cast<std::size_t>(entry.kind)];
      const bool is_free = group.tensor_parallel <= left_ && std::ranges::any_of(pools_, [&](int pool) {
                             return table_.type_of(pool) == group.type && free_.at(pool) >= group.tensor_parallel;
                           });
      const double rate = 1 / (entry.pass * group.tensor_parallel);
      if (is_free && rate > best_rate) {
        best = entry.kind;
        best_rate = rate;
      }
    }
    return best >= 0 && add_replicas(stage, best, 1) > 0;
  }

  // Gives the GPUs that are left over to the stages that would finish last.
  void use_left_over_gpus(Draft& draft) {
    const int microbatches = table_.microbatches();
    std::set<const GroupedStage*> done;
    while (left_ > 0) {
      GroupedStage* last = nullptr;
      double latest = 0;
      double before = 0;
      for (GroupedStage& stage : draft.stages) {
        const double rate = rate_of(draft, stage);
        const double until = before + microbatches / rate;
        before += stage.replicas() / rate;
        if (done.contains(&stage) || until <= latest) continue;
        latest = until;
        last = &stage;
      }
      if (last == nullptr) return;
      if (last->replicas() >= microbatches || !add_one_replica(*last)) done.insert(last);
    }
  }

  [[nodiscard]] double rate_of(const Draft& draft, const GroupedStage& stage) const {
    double rate = 0;
    for (const ReplicaGroup& group : stage.groups) {
      rate += group.count /
              problem_.pass(group.pool, {draft.microbatch_size, group.tensor_parallel}, stage.layers, draft.techniques);
    }
    return rate;
  }

  const PlanningProblem& problem_;
  Techniques techniques_;
  const GroupTimeTable& table_;
  const std::vector<int>& pools_;
  std::map<int, int> free_;
  int left_;
};

// Returns the pools of each region. Of several regions with equal numbers of GPUs of each type, returns only the first.
std::vector<std::vector<int>> pools_of_regions(const PlanningProblem& problem) {
  std::map<std::string_view, std::vector<int>> regions;
  for (int pool = 0; pool < problem.pools(); ++pool) regions[problem.pool(pool).region.str()].push_back(pool);
  std::set<std::vector<int>> known;
  std::vector<std::vector<int>> result;
  for (auto& [region, pools] : regions) {
    if (known.insert(gpus_of_types(problem, pools)).second) result.push_back(std::move(pools));
  }
  return result;
}

// Solves the relaxed problem for the pools of one region.
class Splits {
 public:
  Splits(const PlanningProblem& problem, const GroupTimeTable& table, const std::vector<int>& pools)
      : table_(table), solver_(table, kLevels), prices_(gpus_of_types(problem, pools), problem.most_gpus()) {}

  // Returns the split with the shortest passes that meets the limits and that the GPUs can make.
  std::optional<CheapestSplit> fastest(TimeLimits limits) {
    std::optional<CheapestSplit> best = solved(limits);
    if (!best) return best;
    double unreachable = 0;
    while (unreachable < limits.passes * (1 - kSeedPrecision)) {
      const double middle = (unreachable + limits.passes) / 2;
      auto split = solved({middle, limits.sync_and_update});
      if (!split) {
        unreachable = middle;
      } else {
        limits.passes = middle;
        best = std::move(split);
      }
    }
    return best;
  }

 private:
  std::optional<CheapestSplit> solved(const TimeLimits& limits) {
    double step = kFirstPriceStep;
    for (int tried = 0; tried < kTries; ++tried, step *= kPriceStepFactor) {
      auto split = solver_.solve(limits, prices_.of(table_.kinds()), 1);
      if (!split || !prices_.adapt(*split, table_.kinds(), step) || tried + 1 == kTries) return split;
    }
    return std::nullopt;
  }

  const GroupTimeTable& table_;
  SplitSolver solver_;
  GpuPrices prices_;
};

}  // namespace

void visit_relaxation_seeds(const PlanningProblem& problem, const Techniques& techniques,
                            std::span<const GroupTimeTable> tables, double seconds, const VisitDraft& visit) {
  for (const GroupTimeTable& table : tables) {
    if (table.setting().recomputes != techniques.recomputes) continue;
    for (const std::vector<int>& pools : pools_of_regions(problem)) {
      Splits splits(problem, table, pools);
      for (int halvings = 1; halvings <= kMostHalvings; ++halvings) {
        const double sync_and_update = std::ldexp(seconds, -halvings);
        const auto split = splits.fastest({seconds - sync_and_update / 2, sync_and_update});
        if (!split) continue;
        if (const auto draft = Rounding(problem, techniques, table, pools).rounded(*split)) visit(*draft);
      }
    }
  }
}

}  // namespace sailor
