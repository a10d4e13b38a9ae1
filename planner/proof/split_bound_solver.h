// SplitBoundSolver: for given GPU prices, computes a lower bound on the price of the GPUs of every plan whose iteration
// takes at most a given time. If the bound exceeds the worth of all available GPUs, no plan is that fast. The solver is
// a dynamic program over the layers; its size does not depend on the number of GPUs. docs/planner-bound.md has the
// proof.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "planner/proof/regional_bound_table.h"
#include "planner/relaxation/split_solver.h"

namespace sailor {

// The plans that one solver call considers: all plans whose iteration takes at most `seconds` and whose path time is in
// a range. The path time of a plan is the shortest time that a microbatch can take through the pipeline and back: the
// passes of the fastest replica of each stage, and the messages between the stages.
struct PlanClass {
  double seconds = 0;     // the longest iteration
  double least_path = 0;  // the shortest path time, in seconds
  double most_path = 0;
  bool inside_nodes = false;  // see BoundProver: the plans use some pool on one node only, whose links are fast
};

class SplitBoundSolver {
 public:
  // The number of levels to which the solver rounds times. It always rounds in favour of the plan, so the result stays
  // a lower bound. More levels give a tighter bound and take longer.
  struct Levels {
    int paths = 1;
    int ends = 32;
  };

  // The table must outlive the solver.
  SplitBoundSolver(RegionalBoundTable& table, Levels levels) : table_(table), levels_(levels) {}

  // Returns a split that costs at most as much as the cheapest plan of the class. Returns nothing if all plans of the
  // class cost more than `most`. `prices` are per group of each kind.
  std::optional<CheapestSplit> solve(const PlanClass& plans, std::span<const double> prices, double most);

 private:
  // Summarises all ways to split the layers before a given layer. Each figure is the most favourable of all these
  // splits, so different figures may come from different splits.
  struct Label {
    double price = 0;
    double least_path = 0;  // path time through the stages so far, with the messages
    double most_path = 0;
    double head = 0;  // H_i in the proof: the earliest time at which a replica of the next stage can start
    double end = 0;   // E_i in the proof: how long, of the iteration, a replica of the next stage cannot work
    int from = -1;    // index of the label before the last stage, in the cheapest split
    StageSegment segment;
  };
  // A stage that extends the splits of a label.
  struct Stage {
    const Label* from = nullptr;
    LayerRange layers;
    int region = 0;
    double before = 0;  // how long a message from the earlier stage keeps a replica from handling the next one
    double after = 0;   // the same for a message to the later stage
  };
  // The most that one replica of a kind can do for a stage.
  struct Work {
    int kind = 0;
    double price = 0;
    int microbatches = 0;
    double sync_and_update = 0;
  };
  // The range of the number of replicas of a stage with several kinds.
  struct Replicas {
    int least = 0;
    int most = 0;
    int least_tensor_parallel = 0;  // the smallest tensor-parallel size among the replicas
  };
  // The cheapest replicas found for a stage, with a lower bound on each of their times.
  struct Choice {
    double price = 0;
    double forward = 0;
    double backward = 0;
    double sync_and_update = 0;
    int kind = 0;
    double groups = 0;
    bool is_final = false;  // true: more replicas would not make the stage cheaper
  };

  void extend(int layer, int region, const Label& from, int index);
  void add_stage(const Stage& stage, int index);
  [[nodiscard]] Work most_work(const Stage& stage, const RegionalBoundTable::Entry& entry, double reduction) const;
  [[nodiscard]] Choice choice_of_one_kind(const Stage& stage, const RegionalBoundTable::Entry& entry);
  void add_stages_of_several_kinds(const Stage& stage, int least_tensor_parallel, int index);
  int list_works(const Stage& stage, const Replicas& replicas);
  void update_choices(const Replicas& replicas);
  [[nodiscard]] Choice cheapest_of(std::span<const Work> works, int most_replicas) const;
  [[nodiscard]] double in_whole_gpus(double price, const Work& work) const;
  [[nodiscard]] bool is_affordable(const Stage& stage, std::span<const RegionalBoundTable::Entry> entries) const;
  void merge_into_labels(const Stage& stage, const Choice& choice, int index);
  void merge_into_label_of_region(const Stage& stage, const Choice& choice, int region, int index);
  void set_rest();
  [[nodiscard]] CheapestSplit traced();

  [[nodiscard]] double price_of(const RegionalBoundTable::Entry& entry) const {
    return prices_[static_cast<std::size_t>(entry.kind)];
  }
  [[nodiscard]] int tensor_parallel_of(int kind) const {
    return table_.kinds()[static_cast<std::size_t>(kind)].tensor_parallel;
  }
  [[nodiscard]] std::size_t labels_of_layer() const {
    return static_cast<std::size_t>(table_.regions() * levels_.paths * levels_.ends);
  }
  [[nodiscard]] Label& label(int layer, int index) {
    return labels_[static_cast<std::size_t>(layer) * labels_of_layer() + static_cast<std::size_t>(index)];
  }

  RegionalBoundTable& table_;
  Levels levels_;
  PlanClass plans_;
  std::span<const double> prices_;
  double most_ = 0;
  // [layer]: a lower bound on the price of the groups for this layer and all later ones.
  std::vector<double> rest_price_;
  std::vector<double> rest_path_;  // [layer]: the sum of the shortest passes of this layer and all later ones
  std::vector<Work> works_;        // one for every kind that can hold the stage, the fastest first
  // [index in works_]: the best choice in which this kind is the fastest of the stage.
  std::vector<Choice> choices_;
  std::vector<Label> labels_;  // [layer][region of the stage that starts there][path level][end level]
};

}  // namespace sailor
