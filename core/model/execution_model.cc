#include "core/model/execution_model.h"

#include <algorithm>

#include "core/model/check.h"

namespace sailor {
namespace {

// The runs are those that `sailor evaluate` compares with (docs/simulator.md). On GH200 nodes a sum reached 0.4 of the
// rate of one message, on RTX machines all of it; a message took 1.5 ms beside its transfer on GH200 nodes. In neither
// did a sum run beside passes, and GH200 nodes held the sender of a message back until it was sent.
ExecutionModel conservative() {
  ExecutionModel model{.name = "default",
                       .source =
                           "not measured on this cluster; the most conservative figures of 17 published runs on "
                           "GH200 and RTX GPUs: messages and sums of gradients wait for passes, and a sum is one "
                           "ring at 0.4 of the network's rate"};
  model.messages_beside_passes = false;
  model.message_latency = Seconds(1.5e-3);
  model.sums_beside_passes = false;
  model.sum_algorithm = SumAlgorithm::kRing;
  model.sum_share = 0.4;
  return model;
}

ExecutionModel trainer() {
  return {.name = "trainer",
          .source =
              "the design of the trainer, not measured on GPUs: messages and sums of gradients run beside passes "
              "at the full rates of the network"};
}

ExecutionModel sailor_paper() {
  ExecutionModel model{.name = "sailor-paper",
                       .source =
                           "the formula of the Sailor paper (SOSP'25, section 4.2) as its public simulator "
                           "computes it; for plans that it cannot express, its assumptions, simulated operation "
                           "by operation"};
  model.messages_beside_passes = false;
  model.sums_beside_passes = false;
  model.sum_algorithm = SumAlgorithm::kRing;
  model.uses_paper_formula = true;
  return model;
}

const ExecutionModel& found(std::string_view name) {
  const ExecutionModel* model = find_execution_model(name);
  SAILOR_CHECK(model != nullptr, "no execution model {}", name);
  return *model;
}

}  // namespace

const std::vector<ExecutionModel>& built_in_execution_models() {
  static const std::vector<ExecutionModel> models{conservative(), trainer(), sailor_paper()};
  return models;
}

const ExecutionModel* find_execution_model(std::string_view name) {
  const auto& models = built_in_execution_models();
  const auto found = std::ranges::find(models, name, &ExecutionModel::name);
  return found == models.end() ? nullptr : &*found;
}

const ExecutionModel& default_execution_model() { return found("default"); }
const ExecutionModel& trainer_execution_model() { return found("trainer"); }

}  // namespace sailor
