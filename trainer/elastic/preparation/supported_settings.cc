#include "trainer/elastic/preparation/supported_settings.h"

#include <fmt/format.h>

#include "core/model/tensor_parallel.h"

namespace sailor::trainer {
namespace {

tl::unexpected<Error> refuse(std::string message) { return fail(ErrorCode::kInvalidArgument, std::move(message)); }

Result<void> check_tensor_parallel(const ModelSpec& model, const Plan& plan) {
  const int most = max_tensor_parallel(model);
  for (std::size_t stage = 0; stage < plan.stages.size(); ++stage) {
    for (const Replica& replica : plan.stages[stage].replicas) {
      if (replica.tensor_parallel <= most) continue;
      return refuse(fmt::format(
          "stage {} of the plan has a replica of tensor_parallel {}; the layers of model {} can be split over {} "
          "workers at most (key-value heads are computed by one worker each)",
          stage, replica.tensor_parallel, model.name, most));
    }
  }
  return {};
}

}  // namespace

Result<void> check_supported(const Assignment& assignment) {
  const ModelSpec& model = assignment.model;
  const TrainingSpec& training = assignment.training;
  if (const auto longest = model.longest_sequence(); longest && training.sequence_length > *longest) {
    return refuse(
        fmt::format("training.sequenceLength {} is longer than the {} positions of model {}; lower it or raise "
                    "maxPositions",
                    training.sequence_length, *longest, model.name));
  }
  if (training.evaluation && !assignment.data.validation) {
    return refuse("training.evaluation: there is no data.validation to evaluate on; name its path or a fraction");
  }
  if (auto checked = check_tensor_parallel(model, assignment.plan); !checked) return checked;
  return check_token_partition(assignment.plan, training.sequence_length);
}

}  // namespace sailor::trainer
