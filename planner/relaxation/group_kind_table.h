// KindTable: what one tensor-parallel group does to any range of layers, for every kind of group, with one microbatch
// size. Kinds are types of GPU with a degree: which of a type's pools a group is from makes no difference to its times.
#pragma once

#include <span>
#include <vector>

#include "planner/problem/planning_problem.h"

namespace sailor {

struct GroupKind {
  int pool = 0;  // one of the type's pools
  int type = 0;  // of GPU, an index
  int degree = 1;
};

class KindTable {
 public:
  // A kind that holds a range of layers.
  struct Entry {
    int kind = 0;
    double pass = 0;  // seconds of a microbatch, forward and backward
  };
  struct Setting {
    int microbatch_size = 1;
    bool recomputes = false;
    int shards = 1;  // the most replicas that share the optimizer's state
  };

  // `like`: a table of the same world, of which it takes what does not depend on the setting; null: none.
  KindTable(const World& world, Setting setting, const KindTable* like);

  [[nodiscard]] const Setting& setting() const { return setting_; }
  [[nodiscard]] int microbatches() const { return microbatches_; }
  [[nodiscard]] int layers() const { return layers_; }
  [[nodiscard]] const std::vector<GroupKind>& kinds() const { return kinds_; }

  [[nodiscard]] int type_of(int pool) const { return type_of_pool_[static_cast<std::size_t>(pool)]; }

  // Ascending pass; empty if no kind holds the layers.
  [[nodiscard]] std::span<const Entry> entries(int first, int last) const;
  // No stage of these layers with such a group and at least so many replicas takes less from its last backward pass to
  // the end of its update.
  [[nodiscard]] double least_finish(int first, int last, int kind, int replicas) const;
  // No message between nodes from the layer before `last` to the next stage takes less.
  [[nodiscard]] double least_link(int last) const { return links_[static_cast<std::size_t>(last)]; }
  // No stage that begins with this layer has done its last backward pass earlier before the end of all passes, if the
  // way of a microbatch to it and back takes so long at least.
  [[nodiscard]] double most_hidden(int layer, double way) const;

 private:
  [[nodiscard]] std::size_t range(int first, int last) const {
    return static_cast<std::size_t>(first) * static_cast<std::size_t>(layers_ + 1) + static_cast<std::size_t>(last);
  }
  void add_kinds(const World& world);
  void add_ranges(const World& world);
  void add_entries(const World& world, int first, int last);
  void add_reductions(const World& world);
  void add_reductions_of(const World& world, int first, int last, std::size_t row);
  void add_finishes(const World& world, int first, int last);
  void add_links(const World& world);
  void add_ways(const World& world);
  [[nodiscard]] StageShape shape(int kind, int first, int last) const;

  Setting setting_;
  int microbatches_ = 0;
  int layers_ = 0;
  double most_backward_ = 0;           // of a pass
  double most_spread_ = 1;             // the slowest link over the fastest
  std::vector<double> fastest_;        // [layer]: passes of all layers before, on the fastest kinds
  std::vector<double> slow_backward_;  // [layer]: backward passes of all layers before, on the slowest kinds
  std::vector<GroupKind> kinds_;
  std::vector<int> type_of_pool_;
  std::vector<Entry> entries_;
  std::vector<std::size_t> entry_begin_;  // [range]
  std::vector<int> steps_;                // numbers of replicas for which least_finish is known, ascending
  std::vector<int> step_of_;              // [replicas]: the last of steps_ that is not above
  std::vector<float> reductions_;         // [range][kind][step], rounded down
  std::vector<float> finishes_;           // the same
  std::vector<double> links_;             // [last]
};

// One for every microbatch size and way to hold activations that the job allows.
std::vector<KindTable> kind_tables(const World& world);

}  // namespace sailor
