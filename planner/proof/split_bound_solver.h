// SplitBoundSolver: a lower bound on the price of the GPUs of every plan whose iteration takes at most a given time,
// for given GPU prices. If the bound exceeds what the available GPUs are worth, no plan is that fast. A dynamic program
// over the layers whose size does not depend on the number of GPUs. docs/planner-bound.md has the proof.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "planner/proof/proof_table.h"
#include "planner/relaxation/split_solver.h"

namespace sailor {

// The plans that one solver call considers. A plan's path time is the shortest time that a microbatch can take through
// the pipeline and back: the passes of the fastest replica of each stage, and the messages between the stages.
struct PlanClass {
  double seconds = 0;     // of an iteration, at most
  double least_path = 0;  // seconds
  double most_path = 0;
  bool inside_nodes = false;  // the plans use some pool on one node only, whose links are fast
};

class SplitBoundSolver {
 public:
  // Into how many levels times are rounded, in favour of the plan. More levels give a tighter bound and take longer.
  struct Levels {
    int paths = 1;
    int ends = 32;
  };

  // The table must outlive the solver.
  SplitBoundSolver(ProofTable& table, Levels levels) : table_(table), levels_(levels) {}

  // A split that costs at most as much as the cheapest plan of the class. Nothing if all plans cost more than `most`.
  // `prices` are per group of each kind.
  std::optional<CheapestSplit> solve(const PlanClass& plans, std::span<const double> prices, double most);

 private:
  // Summarises all ways to split the layers before this one: the best of each figure, even if they come from different
  // splits.
  struct Label {
    double price = 0;
    double least_path = 0;  // through the stages before, and the messages between them
    double most_path = 0;
    double head = 0;  // the earliest start of a replica
    double end = 0;   // what a replica cannot use of the iteration: it works at most for the rest
    int from = -1;    // the label of the stage before, in the cheapest split
    StageSegment segment;
  };
  struct Stage {
    const Label* from = nullptr;
    LayerRange layers;
    int region = 0;
    double before = 0;  // how long a message from the stage before keeps a replica from the next message
    double after = 0;   // the same for a message to the stage after
  };
  // What one replica can do.
  struct Work {
    int kind = 0;
    double price = 0;
    int microbatches = 0;
    double finish = 0;
  };
  // Of a stage with several kinds.
  struct Replicas {
    int least = 0;
    int most = 0;
    int least_tensor_parallel = 0;  // of any of them
  };
  struct Choice {
    double price = 0;
    double forward = 0;
    double backward = 0;
    double finish = 0;
    int kind = 0;
    double groups = 0;
    bool is_final = false;  // more replicas would not make it cheaper
  };

  void extend(int layer, int region, const Label& from, int index);
  void add_stage(const Stage& stage, int index);
  [[nodiscard]] Work most_work(const Stage& stage, const ProofTable::Entry& entry, double reduction) const;
  [[nodiscard]] Choice pure(const Stage& stage, const ProofTable::Entry& entry);
  void add_mixed(const Stage& stage, int least_tensor_parallel, int index);
  int list_works(const Stage& stage, const Replicas& replicas);
  void choose_of_works(const Replicas& replicas);
  [[nodiscard]] Choice cheapest_of(std::span<const Work> works, int most_replicas) const;
  [[nodiscard]] double in_whole_gpus(double price, const Work& work) const;
  [[nodiscard]] bool is_affordable(const Stage& stage, std::span<const ProofTable::Entry> entries) const;
  void offer(const Stage& stage, const Choice& choice, int index);
  void offer_to(const Stage& stage, const Choice& choice, int region, int index);
  void set_rest();
  [[nodiscard]] CheapestSplit traced();

  [[nodiscard]] double price_of(const ProofTable::Entry& entry) const {
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

  ProofTable& table_;
  Levels levels_;
  PlanClass plans_;
  std::span<const double> prices_;
  double most_ = 0;
  std::vector<double> rest_price_;  // [layer]: at least, for this layer and all after it in the whole iteration
  std::vector<double> rest_path_;   // [layer]: the shortest passes of these layers
  std::vector<Work> works_;         // of every kind that holds a stage, the fastest first
  std::vector<Choice> choices_;     // with each kind as the fastest of the stage, and others
  std::vector<Label> labels_;       // [layer][region of the stage that starts there][path level][end level]
};

}  // namespace sailor
