#include "planner/search/random_change.h"

#include <algorithm>
#include <array>
#include <cmath>

namespace sailor {
namespace {

class RandomChange {
 public:
  RandomChange(Draft& draft, const PlanningProblem& problem, RandomNumbers& random)
      : draft_(draft), problem_(problem), random_(random), stages_(static_cast<int>(draft.stages.size())) {}

  // The most useful changes are drawn most often.
  bool make() {
    const int drawn = random_.below(has_slow_gpus(problem_.cluster) ? 22 : 20);
    if (drawn < 4) return move_layers();
    if (drawn < 10) return move_replicas();
    if (drawn < 12) return change_tensor_parallel();
    if (drawn < 14) return swap_replicas();
    if (drawn < 15) return add_replicas();
    if (drawn < 16) return drop_replicas();
    if (drawn < 17) return merge();
    if (drawn < 19) return split();
    if (drawn < 20) return change_microbatch_size();
    return add_stage();
  }

 private:
  GroupedStage& stage(int i) { return draft_.stages[static_cast<std::size_t>(i)]; }
  int any_stage() { return random_.below(stages_); }
  ReplicaGroup any_group(int i) {
    const auto& groups = stage(i).groups;
    return groups[static_cast<std::size_t>(random_.below(static_cast<int>(groups.size())))];
  }
  int any_tensor_parallel() {
    const auto& sizes = problem_.tensor_parallel_sizes;
    return sizes[static_cast<std::size_t>(random_.below(static_cast<int>(sizes.size())))];
  }

  // Small numbers are drawn most often, and so are a quarter, a half and the whole.
  int any_part_of(int count) {
    const std::array<int, 9> amounts{1, 1, 2, 4, 8, 16, count / 4, count / 2, count};
    return std::clamp(amounts[static_cast<std::size_t>(random_.below(static_cast<int>(amounts.size())))], 1, count);
  }

  void add(int i, const ReplicaGroup& like, int count) {
    stage(i).add(draft_replicas(like.pool, like.tensor_parallel, count));
  }

  bool move_layers() {
    if (stages_ < 2) return false;
    const int from = any_stage();
    const int to = random_.below(5) < 3 ? from + (random_.is_one_in(2) ? 1 : -1) : any_stage();
    const int count = 1 + random_.below(2);
    if (to < 0 || to >= stages_ || to == from || stage(from).layers.size() <= count) return false;
    const int step = to > from ? 1 : -1;
    for (int i = from; i != to; i += step) {
      const int upper = std::min(i, i + step);
      stage(upper).layers.last -= step * count;
      stage(upper + 1).layers.first -= step * count;
    }
    if (random_.is_one_in(2)) move_share(from, to, static_cast<double>(count) / (stage(from).layers.size() + count));
    return true;
  }

  void move_share(int from, int to, double share) {
    const ReplicaGroup group = any_group(from);
    const int count = std::max(1, static_cast<int>(group.count * share + random_.fraction()));
    if (count >= group.count) return;
    add(from, group, -count);
    add(to, group, count);
  }

  // Takes replicas of about as many GPUs as `count` replicas of `group` have, and as many GPUs on both sides.
  bool convert(int from, const ReplicaGroup& group, int count, int to, int tensor_parallel) {
    const int made = std::max(1, count * group.tensor_parallel / tensor_parallel);
    const int taken = made * tensor_parallel / group.tensor_parallel;
    if (taken < 1 || taken > group.count || taken * group.tensor_parallel != made * tensor_parallel) return false;
    add(from, group, -taken);
    stage(to).add(draft_replicas(group.pool, tensor_parallel, made));
    return !stage(from).groups.empty();
  }

  // The replicas keep their tensor-parallel size or take one of those of the other stage.
  bool move_replicas() {
    if (stages_ < 2) return false;
    const int from = any_stage();
    const int to = any_stage();
    if (from == to) return false;
    const ReplicaGroup group = any_group(from);
    const int tensor_parallel = random_.is_one_in(2) ? group.tensor_parallel : any_group(to).tensor_parallel;
    return convert(from, group, any_part_of(group.count), to, tensor_parallel);
  }

  bool change_tensor_parallel() {
    const int i = any_stage();
    const ReplicaGroup group = any_group(i);
    const int tensor_parallel = any_tensor_parallel();
    if (tensor_parallel == group.tensor_parallel) return false;
    return convert(i, group, any_part_of(group.count), i, tensor_parallel);
  }

  // As many GPUs of both, or any number.
  bool swap_replicas() {
    if (stages_ < 2) return false;
    const int i = any_stage();
    const int j = any_stage();
    const ReplicaGroup a = any_group(i);
    const ReplicaGroup b = any_group(j);
    if (i == j || (a.pool == b.pool && a.tensor_parallel == b.tensor_parallel)) return false;
    const int count = any_part_of(a.count);
    const int same = std::clamp(count * a.tensor_parallel / b.tensor_parallel, 1, b.count);
    const int other = random_.is_one_in(3) ? any_part_of(b.count) : same;
    add(i, a, -count);
    add(j, b, -other);
    add(i, b, other);
    add(j, a, count);
    return true;
  }

  bool add_replicas() {
    stage(any_stage()).add(draft_replicas(random_.below(problem_.pools()), any_tensor_parallel(), any_part_of(8)));
    return true;
  }

  bool drop_replicas() {
    const int i = any_stage();
    const ReplicaGroup group = any_group(i);
    add(i, group, -any_part_of(group.count));
    return !stage(i).groups.empty();
  }

  bool merge() {
    if (stages_ < 2) return false;
    const int i = random_.below(stages_ - 1);
    stage(i).layers.last = stage(i + 1).layers.last;
    for (const ReplicaGroup& group : stage(i + 1).groups) stage(i).add(group);
    draft_.stages.erase(draft_.stages.begin() + i + 1);
    return true;
  }

  // Divides the replicas in proportion to the layers, or the groups at random.
  bool split() {
    const int i = any_stage();
    const GroupedStage whole = stage(i);
    const int layers = whole.layers.size();
    if (layers < 2) return false;
    const int middle = whole.layers.first + 1 + random_.below(layers - 1);
    GroupedStage first{{whole.layers.first, middle}, {}};
    GroupedStage second{{middle, whole.layers.last}, {}};
    const bool keeps_groups = random_.is_one_in(2) && whole.groups.size() > 1;
    for (const ReplicaGroup& group : whole.groups) {
      const int share = (group.count * first.layers.size() + layers / 2) / layers;
      const int count = keeps_groups ? (random_.is_one_in(2) ? group.count : 0) : share;
      if (count > 0) first.add(draft_replicas(group.pool, group.tensor_parallel, count));
      if (count < group.count) second.add(draft_replicas(group.pool, group.tensor_parallel, group.count - count));
    }
    if (first.groups.empty() || second.groups.empty()) return false;
    stage(i) = first;
    draft_.stages.insert(draft_.stages.begin() + i + 1, second);
    return true;
  }

  // Makes a stage of unused GPUs, with layers in proportion to their speed. The other stages become shorter in the same
  // proportion. GPUs of nodes with another number of them than a power of two are too few for any other stage.
  bool add_stage() {
    if (stages_ >= problem_.layers()) return false;
    GroupedStage added;
    for (const ReplicaGroup& group : unused_groups(draft_, problem_)) {
      if (random_.is_one_in(4)) continue;
      const int count = random_.is_one_in(2) ? group.count : any_part_of(group.count);
      added.groups.push_back(draft_replicas(group.pool, group.tensor_parallel, count));
    }
    if (added.groups.empty()) return false;
    double others = 0;
    for (const GroupedStage& one : draft_.stages) others += speed_of(one, draft_, problem_);
    const double speed = speed_of(added, draft_, problem_);
    const int share = static_cast<int>(std::lround(problem_.layers() * speed / (others + speed)));
    const int layers = std::clamp(share - 1 + random_.below(3), 1, problem_.layers() - stages_);
    const int at = random_.below(stages_ + 1);
    if (!shorten_stages(layers, at)) return false;
    added.layers.first = at == 0 ? 0 : stage(at - 1).layers.last;
    added.layers.last = added.layers.first + layers;
    draft_.stages.insert(draft_.stages.begin() + at, added);
    return true;
  }

  // Leaves `layers` layers without a stage before stage `at`. Returns false if a stage would have none.
  bool shorten_stages(int layers, int at) {
    const double part = 1 - static_cast<double>(layers) / problem_.layers();
    const double rounding = random_.fraction();
    int end = 0;
    for (int i = 0; i < stages_; ++i) {
      const int last =
          i + 1 == stages_ ? problem_.layers() - layers : static_cast<int>(stage(i).layers.last * part + rounding);
      if (last <= end) return false;
      const int moved = i < at ? 0 : layers;
      stage(i).layers = {end + moved, last + moved};
      end = last;
    }
    return true;
  }

  bool change_microbatch_size() {
    const auto& sizes = problem_.job.training.microbatch_sizes;
    const int size = sizes[static_cast<std::size_t>(random_.below(static_cast<int>(sizes.size())))];
    return std::exchange(draft_.microbatch_size, size) != size;
  }

  Draft& draft_;
  const PlanningProblem& problem_;
  RandomNumbers& random_;
  int stages_;
};

}  // namespace

bool change_randomly(Draft& draft, const PlanningProblem& problem, RandomNumbers& random) {
  return RandomChange(draft, problem, random).make();
}

}  // namespace sailor
