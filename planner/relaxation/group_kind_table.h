// GroupKindTable: lower bounds on the times of one tensor-parallel group with any range of layers, for every kind of
// group and one microbatch size. A kind is a GPU type and a tensor-parallel size; it does not matter which of the
// type's pools a group is from, because its times are the same.
#pragma once

#include <span>
#include <vector>

#include "planner/problem/planning_problem.h"

namespace sailor {

struct GroupKind {
  int pool = 0;  // one of the type's pools
  int type = 0;  // index of the GPU type
  int tensor_parallel = 1;
};

class GroupKindTable {
 public:
  // A kind whose memory holds a range of layers.
  struct Entry {
    int kind = 0;
    double pass = 0;  // seconds of a microbatch, forward and backward
  };
  struct Setting {
    int microbatch_size = 1;
    bool recomputes = false;
    int shards = 1;  // the most replicas that can share the optimizer's state
  };

  // `like`: a table of the same problem, from which this one copies what does not depend on the setting; may be null.
  GroupKindTable(const PlanningProblem& problem, Setting setting, const GroupKindTable* like);

  [[nodiscard]] const Setting& setting() const { return setting_; }
  [[nodiscard]] int microbatches() const { return microbatches_; }
  [[nodiscard]] int layers() const { return layers_; }
  [[nodiscard]] const std::vector<GroupKind>& kinds() const { return kinds_; }

  [[nodiscard]] int type_of(int pool) const { return type_of_pool_[static_cast<std::size_t>(pool)]; }

  // Sorted by ascending pass; empty if no kind holds the layers.
  [[nodiscard]] std::span<const Entry> entries(LayerRange layers) const;
  // A lower bound in seconds on the time from a stage's last backward pass to the end of its update, if the stage has
  // these layers, a group of this kind, and at least this number of replicas.
  [[nodiscard]] double least_finish(LayerRange layers, int kind, int replicas) const;
  // A lower bound in seconds on a message between nodes from layer `last - 1` to the next stage.
  [[nodiscard]] double least_link(int last) const { return links_[static_cast<std::size_t>(last)]; }
  // An upper bound in seconds on how long before the end of all passes a stage can complete its last backward pass, if
  // the stage starts with this layer and a microbatch needs at least `path` seconds to reach it and return.
  [[nodiscard]] double most_hidden(int layer, double path) const;

 private:
  [[nodiscard]] std::size_t index_of(LayerRange layers) const {
    return static_cast<std::size_t>(layers.first) * static_cast<std::size_t>(layers_ + 1) +
           static_cast<std::size_t>(layers.last);
  }
  void add_kinds(const PlanningProblem& problem);
  void add_ranges(const PlanningProblem& problem);
  void add_entries(const PlanningProblem& problem, LayerRange layers);
  void add_reductions(const PlanningProblem& problem);
  void add_reductions_of(const PlanningProblem& problem, LayerRange layers, std::size_t row);
  void add_finishes(const PlanningProblem& problem, LayerRange layers);
  void add_links(const PlanningProblem& problem);
  void add_paths(const PlanningProblem& problem);
  [[nodiscard]] StageShape shape(int kind, LayerRange layers) const;

  Setting setting_;
  int microbatches_ = 0;
  int layers_ = 0;
  double most_backward_ = 0;           // the largest part of a pass that is the backward pass
  double most_spread_ = 1;             // the slowest link's time over the fastest's
  std::vector<double> fastest_;        // [layer]: passes of all layers before it, on the fastest kinds
  std::vector<double> slow_backward_;  // [layer]: backward passes of all layers before it, on the slowest kinds
  std::vector<GroupKind> kinds_;
  std::vector<int> type_of_pool_;
  std::vector<Entry> entries_;
  std::vector<std::size_t> entry_begin_;  // [range of layers]
  std::vector<int> steps_;                // numbers of replicas for which least_finish is known, ascending
  std::vector<int> step_of_;              // [replicas]: the last of steps_ that is not above it
  std::vector<float> reductions_;         // [range of layers][kind][step], rounded down
  std::vector<float> finishes_;           // the same
  std::vector<double> links_;             // [last]
};

// One table for every microbatch size and every choice of activation checkpointing that the job allows.
std::vector<GroupKindTable> group_kind_tables(const PlanningProblem& problem);

}  // namespace sailor
