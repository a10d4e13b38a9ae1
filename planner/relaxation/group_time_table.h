// GroupTimeTable: lower bounds on the times of one tensor-parallel group, for one microbatch size, every range of
// layers and every kind of group. A kind is a GPU type with a tensor-parallel size. All pools of a GPU type have the
// same times, so a kind does not distinguish them.
#pragma once

#include <span>
#include <vector>

#include "planner/problem/planning_problem.h"

namespace sailor {

struct GroupKind {
  int pool = 0;  // any of the pools of the type
  int type = 0;  // index of the GPU type
  int tensor_parallel = 1;
};

class GroupTimeTable {
 public:
  // A kind of group that can hold a range of layers.
  struct Entry {
    int kind = 0;
    double pass = 0;  // seconds of a microbatch, forward and backward
  };
  struct Setting {
    int microbatch_size = 1;
    bool recomputes = false;
    int shards = 1;  // the most replicas that can share the optimizer's state
  };

  // `like` is another table of the same problem, or null. The new table copies the entries that do not depend on the
  // setting.
  GroupTimeTable(const PlanningProblem& problem, Setting setting, const GroupTimeTable* like);

  [[nodiscard]] const Setting& setting() const { return setting_; }
  [[nodiscard]] int microbatches() const { return microbatches_; }
  [[nodiscard]] int layers() const { return layers_; }
  [[nodiscard]] const std::vector<GroupKind>& kinds() const { return kinds_; }

  [[nodiscard]] int type_of(int pool) const { return type_of_pool_[static_cast<std::size_t>(pool)]; }

  // Returns the kinds that can hold the layers, the fastest first.
  [[nodiscard]] std::span<const Entry> entries(LayerRange layers) const;
  // Returns a lower bound, in seconds, on the time from a stage's last backward pass to the end of its update. The
  // stage has these layers, a group of this kind, and at least this number of replicas.
  [[nodiscard]] double least_sync_and_update(LayerRange layers, int kind, int replicas) const;
  // Returns a lower bound, in seconds, on the time of a message between two nodes, from the stage that ends before
  // layer `last` to the next stage.
  [[nodiscard]] double least_link(int last) const { return links_[static_cast<std::size_t>(last)]; }
  // A later stage completes its last backward pass before the first stage does, so the first stage hides a part of the
  // time that the later stage needs for its gradient sum and update. Returns an upper bound, in seconds, on this part.
  // The stage starts with layer `layer`, and a microbatch needs at least `path` seconds to reach it and to return.
  [[nodiscard]] double most_hidden(int layer, double path) const;

 private:
  [[nodiscard]] std::size_t index_of(LayerRange layers) const {
    return static_cast<std::size_t>(layers.first) * static_cast<std::size_t>(layers_ + 1) +
           static_cast<std::size_t>(layers.last);
  }
  void add_kinds(const PlanningProblem& problem);
  void add_ranges(const PlanningProblem& problem);
  // `needs` has one entry per kind.
  void add_entries(LayerRange layers, std::span<const StageNeeds> needs);
  void add_reductions(const PlanningProblem& problem);
  void add_reductions_of(const PlanningProblem& problem, LayerRange layers, std::size_t row);
  void add_syncs_and_updates(LayerRange layers, std::span<const StageNeeds> needs);
  void add_links(const PlanningProblem& problem);
  void add_paths(const PlanningProblem& problem);
  [[nodiscard]] StageShape shape(int kind, LayerRange layers) const;

  Setting setting_;
  int microbatches_ = 0;
  int layers_ = 0;
  double most_backward_ = 0;     // the largest fraction of a pass that is the backward pass
  double most_spread_ = 1;       // the time of a message over the slowest link divided by that over the fastest
  std::vector<double> fastest_;  // [layer]: the sum of the passes of all layers before it, on the fastest kinds
  // [layer]: the sum of the backward passes of all layers before it, on the slowest kinds.
  std::vector<double> slow_backward_;
  std::vector<GroupKind> kinds_;
  std::vector<int> type_of_pool_;
  std::vector<Entry> entries_;
  std::vector<std::size_t> entry_begin_;  // [range of layers]: index of the first entry
  std::vector<int> steps_;                // numbers of replicas for which least_sync_and_update is known, ascending
  std::vector<int> step_of_;              // [replicas]: index of the largest of steps_ that is at most this number
  std::vector<float> reductions_;         // [range of layers][kind][step], rounded down
  std::vector<float> syncs_and_updates_;  // [range of layers][kind][step], rounded down
  std::vector<double> links_;             // [last]: see least_link()
};

// Returns one table for every microbatch size and every choice of activation checkpointing that the job allows.
std::vector<GroupTimeTable> group_time_tables(const PlanningProblem& problem);

}  // namespace sailor
