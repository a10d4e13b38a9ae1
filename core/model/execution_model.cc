#include "core/model/execution_model.h"

#include <algorithm>

#include "core/model/check.h"

namespace sailor {
namespace {

ExecutionModel conservative() {
  ExecutionModel model{.name = "default",
                       .source =
                           "Not measured on this cluster: the most conservative figures of published runs. "
                           "Messages and sums of gradients wait for passes, and a sum is one ring of all replicas."};
  model.messages_beside_passes = false;
  model.sums_beside_passes = false;
  model.sum_algorithm = SumAlgorithm::kRing;
  return model;
}

ExecutionModel trainer() {
  return {.name = "trainer",
          .source =
              "The design of the trainer, not measured on GPUs: messages and sums of gradients run beside passes "
              "at the full rates of the network."};
}

ExecutionModel sailor_paper() {
  ExecutionModel model{.name = "sailor-paper",
                       .source =
                           "The formula of the Sailor paper (SOSP'25, section 4.2) as its public simulator "
                           "computes it; its assumptions, played operation by operation, for plans that it cannot "
                           "express."};
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
