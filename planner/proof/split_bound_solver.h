// ProofProgram: no plan whose iteration takes at most so long has cheaper GPUs, at given prices. A dynamic program over
// the layers whose size does not depend on how many GPUs there are. docs/planner-bound.md has the proof.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "planner/proof/proof_table.h"
#include "planner/relaxation/split_solver.h"

namespace sailor {

// Plans that the program looks at. The way of a plan is how long a microbatch is under way at least: the passes of the
// fastest replicas of all stages, and the messages between them.
struct PlanClass {
  double seconds = 0;    // of an iteration, at most
  double least_way = 0;  // the plan's way, in seconds
  double most_way = 0;
  bool inside_nodes = false;  // some pool is used on one node only, whose links are fast
};

class ProofProgram {
 public:
  struct Levels {
    int ways = 1;
    int ends = 32;
  };

  // The table outlives the program.
  ProofProgram(ProofTable& table, Levels levels) : table_(table), levels_(levels) {}

  // A split that is as cheap as any plan of the class, or cheaper; nothing if all cost more than `most`. `prices` are
  // of a group of each kind.
  std::optional<CheapestSplit> solve(const PlanClass& plans, std::span<const double> prices, double most);

 private:
  // Of all ways to have split the layers before: the best of each figure, whichever of them has it.
  struct Label {
    double price = 0;
    double least_way = 0;  // of the stages before, and the messages between them
    double most_way = 0;
    double head = 0;  // no replica begins sooner
    double end = 0;   // a replica works at most for what is left of the iteration beside this
    int from = -1;    // the cheapest split's label of the stage before
    Leg leg;
  };
  struct Stage {
    const Label* from = nullptr;
    int first = 0;
    int last = 0;
    int region = 0;
    double before = 0;  // a message from the stage before keeps a replica from the next one for so long
    double after = 0;   // and one to the stage after
  };
  struct Work {  // of one replica
    int kind = 0;
    double price = 0;
    int microbatches = 0;
    double finish = 0;
  };
  struct Replicas {  // of a stage of several kinds
    int least = 0;
    int most = 0;
    int least_degree = 0;  // of any of them
  };
  struct Choice {
    double price = 0;
    double forward = 0;
    double backward = 0;
    double finish = 0;
    int kind = 0;
    double groups = 0;
    bool is_final = false;  // more replicas make it no cheaper
  };

  void extend(int layer, int region, const Label& from, int index);
  void add_stage(const Stage& stage, int index);
  [[nodiscard]] Work most_work(const Stage& stage, const ProofTable::Entry& entry, double reduction) const;
  [[nodiscard]] Choice pure(const Stage& stage, const ProofTable::Entry& entry);
  void add_mixed(const Stage& stage, int least_degree, int index);
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
  [[nodiscard]] int degree_of(int kind) const { return table_.kinds()[static_cast<std::size_t>(kind)].degree; }
  [[nodiscard]] std::size_t labels_of_layer() const {
    return static_cast<std::size_t>(table_.regions() * levels_.ways * levels_.ends);
  }
  [[nodiscard]] Label& label(int layer, int index) {
    return labels_[static_cast<std::size_t>(layer) * labels_of_layer() + static_cast<std::size_t>(index)];
  }

  ProofTable& table_;
  Levels levels_;
  PlanClass plans_;
  std::span<const double> prices_;
  double most_ = 0;
  std::vector<double> rest_price_;  // [layer]: of this layer and all after it, if there were all seconds for it
  std::vector<double> rest_way_;    // [layer]: their passes at least
  std::vector<Work> works_;         // of every kind that holds a stage, the fastest first
  std::vector<Choice> choices_;     // with each of them as the fastest, and others
  std::vector<Label> labels_;       // [layer][region of the stage that begins there][way][end]
};

}  // namespace sailor
