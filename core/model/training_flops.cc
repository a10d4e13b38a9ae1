#include "core/model/training_flops.h"

#include <algorithm>

namespace sailor {
namespace {

// The tokens to which a token of this layer attends.
int attended_tokens(const ModelSpec& model, int layer, int sequence_length) {
  return model.is_local(layer) ? std::min(model.local_window, sequence_length) : sequence_length;
}

}  // namespace

Flops training_flops_per_token(const ModelSpec& model, int sequence_length) {
  constexpr double kPasses = 3;  // the backward pass has two products for each one of the forward pass
  double forward = 0;
  for (int layer = 1; layer < model.layer_count(); ++layer) {  // layer 0 looks embeddings up, without arithmetic
    forward += 2 * static_cast<double>(layer_parameters(model, layer));
    if (layer_kind(model, layer) != LayerKind::kBlock) continue;
    // The scores, and the weighted sum of the values.
    forward += 2 * 2 * static_cast<double>(model.hidden_size) * attended_tokens(model, layer, sequence_length);
  }
  return Flops(kPasses * forward);
}

double model_flops_utilization(const JobSpec& job, double tokens_per_second, FlopsPerSecond peak) {
  return training_flops_per_token(job.model, job.training.sequence_length).value() * tokens_per_second / peak.value();
}

}  // namespace sailor
