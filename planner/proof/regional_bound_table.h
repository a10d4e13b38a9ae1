// RegionalBoundTable: lower bounds on the times of groups and messages, for proofs about plans with one microbatch
// size. Unlike GroupTimeTable, it distinguishes regions: a kind of group is a GPU type in one region with a
// tensor-parallel size. All replicas of a stage are in one region, so a stage uses only the kinds of its region, and a
// message goes from one region to another or stays in one. A cluster with more than three regions counts as a single
// region with the best of all links.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "planner/relaxation/group_time_table.h"

namespace sailor {

// All times are in seconds. They are a nanosecond shorter per operation than the estimator says, because the simulator
// rounds times to whole nanoseconds.
class RegionalBoundTable {
 public:
  // A kind of group that can hold a range of layers, and the times of its passes.
  struct Entry {
    int kind = 0;
    double forward = 0;
    double backward = 0;
    double update = 0;
    int buckets = 1;  // as in StageNeeds
    // The minimum of `forward`, and of `backward`, over this entry and all entries with a longer pass. It bounds the
    // passes of any group that is at most as fast as this one.
    double least_forward = 0;
    double least_backward = 0;

    [[nodiscard]] double pass() const { return forward + backward; }
  };
  // A message from one stage to the next or back.
  struct Message {
    double least = 0;  // the shortest time: latency and transfer
    // How long the sender and the receiver are busy before they can handle the next message.
    double occupancy = 0;
  };

  // The regions of the two stages at a boundary: the earlier and the later one.
  struct Boundary {
    int from = 0;
    int to = 0;
  };

  // `like` is another table of the same problem, or null. The new table shares the entries that do not depend on the
  // setting.
  RegionalBoundTable(const PlanningProblem& problem, GroupTimeTable::Setting setting, const RegionalBoundTable* like);

  [[nodiscard]] int microbatches() const { return microbatches_; }
  // The most replicas that a stage can have.
  [[nodiscard]] int most_replicas() const { return most_replicas_; }
  [[nodiscard]] int layers() const { return layers_; }
  [[nodiscard]] int regions() const { return regions_; }
  // A GPU type that occurs in two regions counts as two types, so each region has its own price of it.
  [[nodiscard]] const std::vector<GroupKind>& kinds() const { return kinds_; }
  [[nodiscard]] const std::vector<int>& gpus() const { return gpus_; }  // available GPUs of each type
  [[nodiscard]] int type_of(int pool) const { return type_of_pool_[static_cast<std::size_t>(pool)]; }

  // Returns the kinds of the region that can hold the layers, the fastest first.
  [[nodiscard]] std::span<const Entry> entries(int region, LayerRange layers) const;
  // Returns a bound on the message to the stage that starts with `layer`. With `inside_nodes`, both stages may be on
  // the same node.
  [[nodiscard]] Message message(int layer, Boundary regions, bool inside_nodes) const;
  // Returns the smallest occupancy of such a message between any two regions.
  [[nodiscard]] double least_occupancy(int layer, bool inside_nodes) const;
  // Returns a lower bound on the time from the last backward pass of such a group to the last update of its stage, if
  // the gradient sum of the stage takes `reduction`.
  [[nodiscard]] static double least_sync_and_update(const Entry& entry, double reduction);
  // Returns a lower bound on the time to sum the gradients of a stage that has a group of this kind and at least this
  // number of replicas.
  [[nodiscard]] double least_reduction(LayerRange layers, int kind, int replicas);

 private:
  // Bounds of the sums of gradients, which do not depend on the setting.
  struct Reductions {
    std::vector<std::size_t> row_of;  // [range of layers]: equal for ranges that exchange equal amounts
    // [row and kind][replicas], for as many replicas as a stage can have in any table. Values are computed on demand; a
    // negative value is not computed yet.
    std::vector<std::vector<float>> known;
  };

  [[nodiscard]] std::size_t index_of(int region, LayerRange layers) const;
  void add_kinds();
  void add_entries(int region, LayerRange layers);
  [[nodiscard]] std::shared_ptr<Reductions> no_reductions() const;
  [[nodiscard]] std::vector<int> classes_of_layers() const;
  void add_messages();
  void add_messages(const StageShape& sender);
  [[nodiscard]] std::size_t message_at(int layer, Boundary regions, bool inside_nodes) const;
  [[nodiscard]] StageShape shape(int kind, LayerRange layers) const;

  const PlanningProblem& problem_;
  GroupTimeTable::Setting setting_;
  int microbatches_ = 0;
  int most_replicas_ = 0;
  int layers_ = 0;
  int regions_ = 1;
  std::vector<GroupKind> kinds_;
  std::vector<int> gpus_;
  std::vector<int> type_of_pool_;
  std::vector<int> region_of_type_;
  std::vector<Entry> entries_;
  std::vector<std::size_t> entry_begin_;  // [region and range of layers]: index of the first entry
  std::vector<Message> messages_;         // [layer][from][to][inside or not]
  std::shared_ptr<Reductions> reductions_;
};

}  // namespace sailor
