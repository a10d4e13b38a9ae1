#include "trainer/weights/initial_weights.h"

#include <ATen/ATen.h>

namespace sailor::trainer {

Result<LayerState> load_pretrained_state(const HuggingFaceModel& files, const ModelSpec& spec,
                                         const StateLayout& shard) {
  auto values = files.weights(shard.id);
  if (!values) return tl::unexpected(values.error());
  const StateLayout whole = layout_of(spec, shard.id);
  const at::Tensor flat = at::from_blob(values->data(), {whole.size}, at::kFloat);
  LayerState state = empty_state(shard);
  pack_into(state.weights, flat, spans_of(whole, slices_of(shard)));
  state.momentum.zero_();
  state.variance.zero_();
  return state;
}

}  // namespace sailor::trainer
