// ProofTable: what no group and no link does sooner, for proofs about plans with one microbatch size. Kinds of groups
// are types of GPU in a region, with a degree: the replicas of a stage are of one region, so that a stage's kinds are
// those of its region, and what it sends goes from region to region.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "planner/relaxation/group_kind_table.h"

namespace sailor {

// All times in seconds, and a nanosecond less for each operation: a step is played in whole nanoseconds.
class ProofTable {
 public:
  // A kind that holds a range of layers, and what its passes take.
  struct Entry {
    int kind = 0;
    double forward = 0;
    double backward = 0;
    double update = 0;
    // Of this and the entries after it: no group that is not faster than this one does either pass sooner.
    double least_forward = 0;
    double least_backward = 0;

    [[nodiscard]] double pass() const { return forward + backward; }
  };
  // Between two stages, one way.
  struct Message {
    double least = 0;      // latency and transfer
    double occupancy = 0;  // for so long it keeps the sender from the next one, and the receiver
  };

  struct Boundary {  // regions of the stages above and below it
    int from = 0;
    int to = 0;
  };

  // `like`: a table of the same world, with which it shares what does not depend on the setting; null: none.
  ProofTable(const World& world, KindTable::Setting setting, const ProofTable* like);

  [[nodiscard]] int microbatches() const { return microbatches_; }
  [[nodiscard]] int layers() const { return layers_; }
  [[nodiscard]] int regions() const { return regions_; }
  // Their types are types of one region: each has a price of its own.
  [[nodiscard]] const std::vector<GroupKind>& kinds() const { return kinds_; }
  [[nodiscard]] const std::vector<int>& gpus() const { return gpus_; }  // of each of those types
  [[nodiscard]] int type_of(int pool) const { return type_of_pool_[static_cast<std::size_t>(pool)]; }

  // Ascending pass; empty if no kind of the region holds the layers.
  [[nodiscard]] std::span<const Entry> entries(int region, int first, int last) const;
  // Before `layer` begins a stage. `inside_nodes`: if there may be a node that both stages are on.
  [[nodiscard]] Message message(int layer, Boundary regions, bool inside_nodes) const;
  // The same, whatever the regions.
  [[nodiscard]] double least_occupancy(int layer, bool inside_nodes) const;
  // From the last backward pass of a group of a stage that has at least so many replicas to the stage's last update.
  // `reduction`: to sum the stage's gradients.
  [[nodiscard]] static double least_finish(const Entry& entry, int layers, double reduction);
  // To sum the gradients of a stage with such a group and at least so many replicas.
  [[nodiscard]] double least_reduction(int first, int last, int kind, int replicas);

 private:
  [[nodiscard]] std::size_t range(int region, int first, int last) const;
  void add_kinds();
  void add_entries(int region, int first, int last);
  void add_messages();
  void add_messages(const StageShape& sender);
  [[nodiscard]] std::size_t message_at(int layer, Boundary regions, bool inside_nodes) const;
  [[nodiscard]] StageShape shape(int kind, int first, int last) const;

  const World& world_;
  KindTable::Setting setting_;
  int microbatches_ = 0;
  int layers_ = 0;
  int regions_ = 1;
  std::vector<GroupKind> kinds_;
  std::vector<int> gpus_;
  std::vector<int> type_of_pool_;
  std::vector<int> region_of_type_;
  std::vector<Entry> entries_;
  std::vector<std::size_t> entry_begin_;  // [range]
  std::vector<Message> messages_;         // [layer][from][to][inside or not]
  // [range of layers and kind][replicas], of what was asked for; else negative.
  std::shared_ptr<std::vector<std::vector<float>>> reductions_;
};

}  // namespace sailor
