#include "planner/search/neighbours.h"

#include <algorithm>

#include "core/model/sort_unique.h"

namespace sailor {
namespace {

class Neighbours {
 public:
  Neighbours(const Draft& draft, const PlanningProblem& problem, PlanSpace space, const VisitDraft& visit)
      : draft_(draft), problem_(problem), space_(space), visit_(visit), stages_(static_cast<int>(draft.stages.size())) {
    for (int pool = 0; pool < problem.pools(); ++pool) free_.push_back(problem.pool(pool).free_gpus());
    for (const GroupedStage& stage : draft.stages) {
      for (const ReplicaGroup& group : stage.groups) free_[static_cast<std::size_t>(group.pool)] -= group.gpus();
    }
  }

  void visit_at(int i) {
    if (i == 0) change_microbatch_size();
    if (i == 0 && space_ == PlanSpace::kPaper) drop_replica_everywhere();
    if (i + 1 < stages_) shift_boundary(i);
    change_tensor_parallel(i);
    replace_replicas(i);
    for (int j = 0; j < stages_; ++j) {
      if (j > i) swap_replicas(i, j);
      if (space_ == PlanSpace::kFlow && j != i) move_replicas(j, i);
    }
    if (space_ == PlanSpace::kPaper) return;
    add_replicas(i);
    drop_replicas(i);
    if (i + 1 < stages_) merge_with_next(i);
    split(i);
  }

 private:
  static GroupedStage& stage_of(Draft& draft, int i) { return draft.stages[static_cast<std::size_t>(i)]; }
  [[nodiscard]] const GroupedStage& stage(int i) const { return draft_.stages[static_cast<std::size_t>(i)]; }
  [[nodiscard]] int free_gpus(int pool) const { return free_[static_cast<std::size_t>(pool)]; }

  // Returns 1, a quarter of `count`, and `count`, so that large plans do not change only one replica at a time.
  static std::vector<int> amounts(int count) {
    std::vector<int> list{1};
    if (count >= 4) list.push_back(count / 4);
    if (count >= 2) list.push_back(count);
    sort_unique(list);
    return list;
  }

  [[nodiscard]] int smallest_tensor_parallel(int pool, const GroupedStage& stage) const {
    return problem_.smallest_tensor_parallel(pool, draft_.microbatch_size, stage.layers, draft_.techniques);
  }

  // Returns the tensor-parallel sizes that replicas of a pool may have on the stage: the smallest one that fits its
  // layers, and the larger ones that the plan already uses.
  [[nodiscard]] std::vector<int> likely_tensor_parallel_sizes(int pool, const GroupedStage& stage) const {
    const int smallest = smallest_tensor_parallel(pool, stage);
    if (smallest == 0) return {};
    std::vector<int> tensor_parallel_sizes{smallest};
    for (const GroupedStage& other : draft_.stages) {
      for (const ReplicaGroup& group : other.groups) {
        if (group.pool == pool && group.tensor_parallel > smallest)
          tensor_parallel_sizes.push_back(group.tensor_parallel);
      }
    }
    sort_unique(tensor_parallel_sizes);
    return tensor_parallel_sizes;
  }

  void change_microbatch_size() {
    for (const int size : problem_.job.training.microbatch_sizes) {
      if (size == draft_.microbatch_size) continue;
      Draft next = draft_;
      next.microbatch_size = size;
      visit_(next);
    }
  }

  void shift_boundary(int i) {
    for (const int by : {-2, -1, 1, 2}) {
      Draft next = draft_;
      LayerRange& upper = stage_of(next, i).layers;
      LayerRange& lower = stage_of(next, i + 1).layers;
      upper.last += by;
      lower.first += by;
      const bool is_valid = upper.size() > 0 && lower.size() > 0;
      if (is_valid) visit_(next);
    }
  }

  void change_tensor_parallel(int i) {
    for (const ReplicaGroup& group : stage(i).groups) {
      change_tensor_parallel_of(i, group, group.tensor_parallel * 2);
      if (group.tensor_parallel > 1) change_tensor_parallel_of(i, group, group.tensor_parallel / 2);
    }
  }

  // Keeps the number of replicas if there are GPUs for it, and else the number of GPUs.
  void change_tensor_parallel_of(int i, const ReplicaGroup& group, int tensor_parallel) {
    if (std::ranges::find(problem_.tensor_parallel_sizes, tensor_parallel) == problem_.tensor_parallel_sizes.end())
      return;
    const int extra = group.count * (tensor_parallel - group.tensor_parallel);
    if (extra <= free_gpus(group.pool))
      replace(i, group, draft_replicas(group.pool, tensor_parallel, group.count), group.count);
    if (space_ == PlanSpace::kPaper) return;
    if (tensor_parallel > group.tensor_parallel) {
      for (const int count : amounts(group.count / 2)) {
        if (2 * count <= group.count) replace(i, group, draft_replicas(group.pool, tensor_parallel, count), 2 * count);
      }
    } else {
      for (const int count : amounts(group.count)) {
        replace(i, group, draft_replicas(group.pool, tensor_parallel, 2 * count), count);
      }
    }
  }

  void replace(int i, ReplicaGroup old, const ReplicaGroup& by, int count) {
    Draft next = draft_;
    old.count = -count;
    stage_of(next, i).add(old);
    stage_of(next, i).add(by);
    visit_(next);
  }

  // Replaces replicas by replicas on free GPUs of another pool.
  void replace_replicas(int i) {
    for (const ReplicaGroup& group : stage(i).groups) {
      for (int pool = 0; pool < problem_.pools(); ++pool) {
        if (pool == group.pool) continue;
        for (const int tensor_parallel : likely_tensor_parallel_sizes(pool, stage(i))) {
          for (const int count : amounts(std::min(group.count, free_gpus(pool) / tensor_parallel))) {
            if (count * tensor_parallel <= free_gpus(pool))
              replace(i, group, draft_replicas(pool, tensor_parallel, count), count);
          }
        }
      }
    }
  }

  // Replicas of a group that move to another stage.
  struct Swapped {
    int from = 0;  // stage
    const ReplicaGroup& group;
    int tensor_parallel = 1;  // on the other stage
  };

  void swap_some(const Swapped& a, const Swapped& b) {
    for (const int count : amounts(std::min(a.group.count, b.group.count))) {
      Draft next = draft_;
      stage_of(next, a.from).add(draft_replicas(a.group.pool, a.group.tensor_parallel, -count));
      stage_of(next, b.from).add(draft_replicas(b.group.pool, b.group.tensor_parallel, -count));
      stage_of(next, a.from).add(draft_replicas(b.group.pool, b.tensor_parallel, count));
      stage_of(next, b.from).add(draft_replicas(a.group.pool, a.tensor_parallel, count));
      visit_(next);
    }
  }

  // Replicas of different pools exchange their stages. They get the tensor-parallel size that their new layers need, or
  // keep theirs.
  void swap_replicas(int i, int j) {
    for (const ReplicaGroup& a : stage(i).groups) {
      for (const ReplicaGroup& b : stage(j).groups) {
        if (a.pool == b.pool) continue;
        const int a_tensor_parallel = smallest_tensor_parallel(a.pool, stage(j));
        const int b_tensor_parallel = smallest_tensor_parallel(b.pool, stage(i));
        if (a_tensor_parallel == 0 || b_tensor_parallel == 0) continue;
        swap_some({i, a, a_tensor_parallel}, {j, b, b_tensor_parallel});
        // As they are, if that is different and fits.
        const bool is_same = a.tensor_parallel == a_tensor_parallel && b.tensor_parallel == b_tensor_parallel;
        if (is_same || a.tensor_parallel < a_tensor_parallel || b.tensor_parallel < b_tensor_parallel) continue;
        swap_some({i, a, a.tensor_parallel}, {j, b, b.tensor_parallel});
      }
    }
  }

  void move_replicas(int from, int to) {
    for (const ReplicaGroup& group : stage(from).groups) {
      for (const int tensor_parallel : likely_tensor_parallel_sizes(group.pool, stage(to))) {
        for (const int count : amounts(group.count))
          move_some(from, to, draft_replicas(group.pool, group.tensor_parallel, count), tensor_parallel);
      }
    }
  }

  void move_some(int from, int to, const ReplicaGroup& group, int tensor_parallel) {
    const int count = group.gpus() / tensor_parallel;
    Draft next = draft_;
    stage_of(next, from).add(draft_replicas(group.pool, group.tensor_parallel, -group.count));
    if (count == 0 || stage_of(next, from).groups.empty()) return;
    stage_of(next, to).add(draft_replicas(group.pool, tensor_parallel, count));
    visit_(next);
  }

  void add_replicas(int i) {
    for (int pool = 0; pool < problem_.pools(); ++pool) {
      for (const int tensor_parallel : likely_tensor_parallel_sizes(pool, stage(i))) {
        if (free_gpus(pool) < tensor_parallel) continue;
        for (const int count : amounts(free_gpus(pool) / tensor_parallel)) {
          Draft next = draft_;
          stage_of(next, i).add(draft_replicas(pool, tensor_parallel, count));
          visit_(next);
        }
      }
    }
  }

  void drop_replicas(int i) {
    for (const ReplicaGroup& group : stage(i).groups) {
      for (const int count : amounts(group.count)) {
        Draft next = draft_;
        stage_of(next, i).add(draft_replicas(group.pool, group.tensor_parallel, -count));
        if (!stage_of(next, i).groups.empty()) visit_(next);
      }
    }
  }

  // Removes the last replica of every stage; other changes decide which replica that should be.
  void drop_replica_everywhere() {
    Draft next = draft_;
    for (GroupedStage& stage : next.stages) {
      const ReplicaGroup last = stage.groups.back();
      stage.add(draft_replicas(last.pool, last.tensor_parallel, -1));
      if (stage.groups.empty()) return;
    }
    visit_(next);
  }

  void merge_with_next(int i) {
    Draft next = draft_;
    GroupedStage& merged = stage_of(next, i);
    const GroupedStage other = stage_of(next, i + 1);
    merged.layers.last = other.layers.last;
    for (const ReplicaGroup& group : other.groups) merged.add(group);
    next.stages.erase(next.stages.begin() + i + 1);
    visit_(next);
  }

  // Gives half of the layers to half of the replicas. If all groups are single replicas, the second half goes to a free
  // group of GPUs.
  void split(int i) {
    const int layers = stage(i).layers.size();
    if (layers < 2) return;
    Draft next = draft_;
    GroupedStage& first = stage_of(next, i);
    GroupedStage second{{first.layers.first + layers / 2, first.layers.last}, {}};
    first.layers.last = second.layers.first;
    for (const ReplicaGroup& group : stage(i).groups) {
      if (group.count < 2) continue;
      first.add(draft_replicas(group.pool, group.tensor_parallel, -(group.count / 2)));
      second.add(draft_replicas(group.pool, group.tensor_parallel, group.count / 2));
    }
    if (!second.groups.empty()) {
      next.stages.insert(next.stages.begin() + i + 1, second);
      visit_(next);
      return;
    }
    for (int pool = 0; pool < problem_.pools(); ++pool) {
      const int tensor_parallel = smallest_tensor_parallel(pool, second);
      if (tensor_parallel == 0 || free_gpus(pool) < tensor_parallel) continue;
      Draft widened = next;
      second.groups = {draft_replicas(pool, tensor_parallel, 1)};
      widened.stages.insert(widened.stages.begin() + i + 1, second);
      visit_(widened);
    }
  }

  const Draft& draft_;
  const PlanningProblem& problem_;
  PlanSpace space_;
  const VisitDraft& visit_;
  int stages_;
  std::vector<int> free_;
};

}  // namespace

void visit_neighbours(const Draft& draft, int stage, const PlanningProblem& problem, PlanSpace space,
                      const VisitDraft& visit) {
  Neighbours(draft, problem, space, visit).visit_at(stage);
}

}  // namespace sailor
