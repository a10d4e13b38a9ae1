#include "planner/search/neighbours.h"

#include <algorithm>

namespace sailor {
namespace {

class Neighbours {
 public:
  Neighbours(const Draft& draft, const World& world, PlanSpace space, const Visit& visit)
      : draft_(draft), world_(world), space_(space), visit_(visit), stages_(static_cast<int>(draft.stages.size())) {
    for (int pool = 0; pool < world.pools(); ++pool) free_.push_back(world.pool(pool).free_gpus());
    for (const DraftStage& stage : draft.stages) {
      for (const Crew& crew : stage.crews) free_[static_cast<std::size_t>(crew.pool)] -= crew.degree * crew.count;
    }
  }

  void visit_at(int i) {
    if (i == 0) change_microbatch_size();
    if (i == 0 && space_ == PlanSpace::kPaper) drop_replica_everywhere();
    if (i + 1 < stages_) shift_boundary(i);
    change_degrees(i);
    replace_crews(i);
    for (int j = 0; j < stages_; ++j) {
      if (j > i) swap_crews(i, j);
      if (space_ == PlanSpace::kFlow && j != i) move_crews(j, i);
    }
    if (space_ == PlanSpace::kPaper) return;
    add_crews(i);
    drop_crews(i);
    if (i + 1 < stages_) merge_with_next(i);
    split(i);
  }

 private:
  static DraftStage& stage_of(Draft& draft, int i) { return draft.stages[static_cast<std::size_t>(i)]; }
  [[nodiscard]] const DraftStage& stage(int i) const { return draft_.stages[static_cast<std::size_t>(i)]; }
  [[nodiscard]] int free_gpus(int pool) const { return free_[static_cast<std::size_t>(pool)]; }

  // One, and a part of many, so that large plans are not changed one replica at a time.
  static std::vector<int> amounts(int count) {
    std::vector<int> list{1};
    if (count >= 4) list.push_back(count / 4);
    if (count >= 2) list.push_back(count);
    list.erase(std::unique(list.begin(), list.end()), list.end());
    return list;
  }

  [[nodiscard]] int smallest_degree(int pool, const DraftStage& stage) const {
    return world_.smallest_degree(pool, draft_.microbatch_size, stage.first_layer, stage.last_layer);
  }

  // With which groups of a pool may work on the stage: those that its layers ask for, and such as the plan has already.
  [[nodiscard]] std::vector<int> likely_degrees(int pool, const DraftStage& stage) const {
    const int smallest = smallest_degree(pool, stage);
    if (smallest == 0) return {};
    std::vector<int> degrees{smallest};
    for (const DraftStage& other : draft_.stages) {
      for (const Crew& crew : other.crews) {
        if (crew.pool == pool && crew.degree > smallest) degrees.push_back(crew.degree);
      }
    }
    std::ranges::sort(degrees);
    degrees.erase(std::unique(degrees.begin(), degrees.end()), degrees.end());
    return degrees;
  }

  void change_microbatch_size() {
    for (const int size : world_.job.training.microbatch_sizes) {
      if (size == draft_.microbatch_size) continue;
      Draft next = draft_;
      next.microbatch_size = size;
      visit_(next);
    }
  }

  void shift_boundary(int i) {
    for (const int by : {-2, -1, 1, 2}) {
      Draft next = draft_;
      stage_of(next, i).last_layer += by;
      stage_of(next, i + 1).first_layer += by;
      const bool is_valid = stage_of(next, i).last_layer > stage_of(next, i).first_layer &&
                            stage_of(next, i + 1).last_layer > stage_of(next, i + 1).first_layer;
      if (is_valid) visit_(next);
    }
  }

  void change_degrees(int i) {
    for (const Crew& crew : stage(i).crews) {
      change_degree(i, crew, crew.degree * 2);
      if (crew.degree > 1) change_degree(i, crew, crew.degree / 2);
    }
  }

  // Keeps the number of groups if there are GPUs for it, else the number of GPUs.
  void change_degree(int i, const Crew& crew, int degree) {
    if (std::ranges::find(world_.degrees, degree) == world_.degrees.end()) return;
    const int extra = crew.count * (degree - crew.degree);
    if (extra <= free_gpus(crew.pool)) replace(i, crew, {crew.pool, degree, crew.count}, crew.count);
    if (space_ == PlanSpace::kPaper) return;
    if (degree > crew.degree) {
      for (const int groups : amounts(crew.count / 2)) {
        if (2 * groups <= crew.count) replace(i, crew, {crew.pool, degree, groups}, 2 * groups);
      }
    } else {
      for (const int groups : amounts(crew.count)) replace(i, crew, {crew.pool, degree, 2 * groups}, groups);
    }
  }

  void replace(int i, Crew old, const Crew& by, int count) {
    Draft next = draft_;
    old.count = -count;
    stage_of(next, i).add(old);
    stage_of(next, i).add(by);
    visit_(next);
  }

  // By free groups of another pool.
  void replace_crews(int i) {
    for (const Crew& crew : stage(i).crews) {
      for (int pool = 0; pool < world_.pools(); ++pool) {
        if (pool == crew.pool) continue;
        for (const int degree : likely_degrees(pool, stage(i))) {
          for (const int count : amounts(std::min(crew.count, free_gpus(pool) / degree))) {
            if (count * degree <= free_gpus(pool)) replace(i, crew, {pool, degree, count}, count);
          }
        }
      }
    }
  }

  // Groups of other pools change places, with the degree that their new layers ask for.
  void swap_crews(int i, int j) {
    for (const Crew& a : stage(i).crews) {
      for (const Crew& b : stage(j).crews) {
        if (a.pool == b.pool) continue;
        const int a_degree = smallest_degree(a.pool, stage(j));
        const int b_degree = smallest_degree(b.pool, stage(i));
        if (a_degree == 0 || b_degree == 0) continue;
        for (const int count : amounts(std::min(a.count, b.count))) {
          Draft next = draft_;
          stage_of(next, i).add({a.pool, a.degree, -count});
          stage_of(next, j).add({b.pool, b.degree, -count});
          stage_of(next, i).add({b.pool, b_degree, count});
          stage_of(next, j).add({a.pool, a_degree, count});
          visit_(next);
        }
      }
    }
  }

  void move_crews(int from, int to) {
    for (const Crew& crew : stage(from).crews) {
      for (const int degree : likely_degrees(crew.pool, stage(to))) {
        for (const int count : amounts(crew.count)) move_crew(from, to, {crew.pool, crew.degree, count}, degree);
      }
    }
  }

  void move_crew(int from, int to, const Crew& crew, int degree) {
    const int groups = crew.count * crew.degree / degree;
    Draft next = draft_;
    stage_of(next, from).add({crew.pool, crew.degree, -crew.count});
    if (groups == 0 || stage_of(next, from).crews.empty()) return;
    stage_of(next, to).add({crew.pool, degree, groups});
    visit_(next);
  }

  void add_crews(int i) {
    for (int pool = 0; pool < world_.pools(); ++pool) {
      for (const int degree : likely_degrees(pool, stage(i))) {
        if (free_gpus(pool) < degree) continue;
        for (const int count : amounts(free_gpus(pool) / degree)) {
          Draft next = draft_;
          stage_of(next, i).add({pool, degree, count});
          visit_(next);
        }
      }
    }
  }

  void drop_crews(int i) {
    for (const Crew& crew : stage(i).crews) {
      for (const int count : amounts(crew.count)) {
        Draft next = draft_;
        stage_of(next, i).add({crew.pool, crew.degree, -count});
        if (!stage_of(next, i).crews.empty()) visit_(next);
      }
    }
  }

  // The slowest to lose one: which that is, the other moves decide.
  void drop_replica_everywhere() {
    Draft next = draft_;
    for (DraftStage& stage : next.stages) {
      const Crew last = stage.crews.back();
      stage.add({last.pool, last.degree, -1});
      if (stage.crews.empty()) return;
    }
    visit_(next);
  }

  void merge_with_next(int i) {
    Draft next = draft_;
    DraftStage& merged = stage_of(next, i);
    const DraftStage other = stage_of(next, i + 1);
    merged.last_layer = other.last_layer;
    for (const Crew& crew : other.crews) merged.add(crew);
    next.stages.erase(next.stages.begin() + i + 1);
    visit_(next);
  }

  // Half of the layers to half of the replicas; a single replica's second half goes to a free group.
  void split(int i) {
    const int layers = stage(i).last_layer - stage(i).first_layer;
    if (layers < 2) return;
    Draft next = draft_;
    DraftStage& first = stage_of(next, i);
    DraftStage second{first.first_layer + layers / 2, first.last_layer, {}};
    first.last_layer = second.first_layer;
    for (const Crew& crew : stage(i).crews) {
      if (crew.count < 2) continue;
      first.add({crew.pool, crew.degree, -(crew.count / 2)});
      second.add({crew.pool, crew.degree, crew.count / 2});
    }
    if (!second.crews.empty()) {
      next.stages.insert(next.stages.begin() + i + 1, second);
      visit_(next);
      return;
    }
    for (int pool = 0; pool < world_.pools(); ++pool) {
      const int degree = smallest_degree(pool, second);
      if (degree == 0 || free_gpus(pool) < degree) continue;
      Draft widened = next;
      second.crews = {{pool, degree, 1}};
      widened.stages.insert(widened.stages.begin() + i + 1, second);
      visit_(widened);
    }
  }

  const Draft& draft_;
  const World& world_;
  PlanSpace space_;
  const Visit& visit_;
  int stages_;
  std::vector<int> free_;
};

}  // namespace

void visit_neighbours(const Draft& draft, int stage, const World& world, PlanSpace space, const Visit& visit) {
  Neighbours(draft, world, space, visit).visit_at(stage);
}

}  // namespace sailor
