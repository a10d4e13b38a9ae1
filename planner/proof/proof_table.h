// ProofTable: lower bounds on the times of groups and links, for proofs about plans with one microbatch size. A kind of
// group is a GPU type in one region with a tensor-parallel size. All replicas of a stage are in one region, so a stage
// uses the kinds of its region, and its messages go from region to region.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "planner/relaxation/group_kind_table.h"

namespace sailor {

// All times are in seconds, minus a nanosecond per operation, because steps are simulated in whole nanoseconds.
class ProofTable {
 public:
  // A kind whose memory holds a range of layers, and the times of its passes.
  struct Entry {
    int kind = 0;
    double forward = 0;
    double backward = 0;
    double update = 0;
    // The least of this entry and the entries after it: no group with a pass at least this long has shorter ones.
    double least_forward = 0;
    double least_backward = 0;

    [[nodiscard]] double pass() const { return forward + backward; }
  };
  // A message between two stages, in one direction.
  struct Message {
    double least = 0;      // latency and transfer
    double occupancy = 0;  // how long it keeps its sender and its receiver from their next message
  };

  // The regions of the stages before and after a boundary.
  struct Boundary {
    int from = 0;
    int to = 0;
  };

  // `like`: a table of the same problem, with which this one shares what does not depend on the setting; may be null.
  ProofTable(const PlanningProblem& problem, GroupKindTable::Setting setting, const ProofTable* like);

  [[nodiscard]] int microbatches() const { return microbatches_; }
  [[nodiscard]] int layers() const { return layers_; }
  [[nodiscard]] int regions() const { return regions_; }
  // Types are counted per region, so each region has its own price of a GPU type.
  [[nodiscard]] const std::vector<GroupKind>& kinds() const { return kinds_; }
  [[nodiscard]] const std::vector<int>& gpus() const { return gpus_; }  // of each type
  [[nodiscard]] int type_of(int pool) const { return type_of_pool_[static_cast<std::size_t>(pool)]; }

  // Sorted by ascending pass; empty if no kind of the region holds the layers.
  [[nodiscard]] std::span<const Entry> entries(int region, LayerRange layers) const;
  // The message to the stage that starts with `layer`. `inside_nodes`: both stages may be on the same node.
  [[nodiscard]] Message message(int layer, Boundary regions, bool inside_nodes) const;
  // The least occupancy of such a message between any two regions.
  [[nodiscard]] double least_occupancy(int layer, bool inside_nodes) const;
  // From the last backward pass of such a group to the last update of its stage, if summing the stage's gradients takes
  // `reduction`.
  [[nodiscard]] static double least_finish(const Entry& entry, int layers, double reduction);
  // To sum the gradients of a stage with such a group and at least this number of replicas.
  [[nodiscard]] double least_reduction(LayerRange layers, int kind, int replicas);

 private:
  [[nodiscard]] std::size_t index_of(int region, LayerRange layers) const;
  void add_kinds();
  void add_entries(int region, LayerRange layers);
  void add_messages();
  void add_messages(const StageShape& sender);
  [[nodiscard]] std::size_t message_at(int layer, Boundary regions, bool inside_nodes) const;
  [[nodiscard]] StageShape shape(int kind, LayerRange layers) const;

  const PlanningProblem& problem_;
  GroupKindTable::Setting setting_;
  int microbatches_ = 0;
  int layers_ = 0;
  int regions_ = 1;
  std::vector<GroupKind> kinds_;
  std::vector<int> gpus_;
  std::vector<int> type_of_pool_;
  std::vector<int> region_of_type_;
  std::vector<Entry> entries_;
  std::vector<std::size_t> entry_begin_;  // [region and range of layers]
  std::vector<Message> messages_;         // [layer][from][to][inside or not]
  // [range of layers and kind][replicas]: filled on demand; negative: not computed yet.
  std::shared_ptr<std::vector<std::vector<float>>> reductions_;
};

}  // namespace sailor
