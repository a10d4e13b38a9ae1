#include "trainer/model/loss.h"

#include <algorithm>
#include <limits>
#include <string_view>
#include <utility>

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>

#include "trainer/model/vocabulary.h"

namespace sailor::trainer {
namespace {

struct ChunkLoss {
  at::Tensor loss;      // scalar, FP64
  at::Tensor gradient;  // of the logits, FP32
};

// One worker has the whole vocabulary. A GPU converts to FP32 while it computes. A CPU makes a converted copy, and the
// logits would exist three times.
at::Tensor replace_by_softmax(at::Tensor& logits, const at::Tensor& rows) {
  if (logits.is_cpu()) logits = logits.to(at::kFloat);
  logits = at::log_softmax(logits, -1, at::kFloat);
  const at::Tensor loss = logits.gather(-1, rows).sum(at::kDouble).neg();
  logits.exp_();
  return loss;
}

// The vocabulary is split over the workers. They agree on the largest logit of each token. Then they sum the
// exponentials, and the target's logit from the worker that has it.
at::Tensor replace_by_softmax(const TensorParallel& group, at::Tensor& logits, const at::Tensor& rows,
                              const at::Tensor& is_elsewhere) {
  logits = logits.to(at::kFloat);
  const at::Tensor largest = logits.amax(-1, true);
  group.all_reduce_max(largest);
  logits.sub_(largest);
  const at::Tensor target = logits.gather(-1, rows).masked_fill_(is_elsewhere, 0);
  const at::Tensor sums = at::stack({logits.exp_().sum(-1, true), target});
  group.all_reduce(sums);
  logits.div_(sums[0]);
  return sums[0].log().sub_(sums[1]).sum(at::kDouble);
}

// The gradient of a token's logits is their softmax, less 1 at the target.
ChunkLoss loss_of_chunk(const TensorParallel& group, const OutputWeights& weights, const at::Tensor& hidden,
                        const at::Tensor& targets) {
  at::Tensor logits = at::linear(hidden, weights.weight);
  const std::int64_t count = weights.gradient.size(0);
  const std::int64_t padding = logits.size(-1) - count;
  if (padding > 0) logits.narrow(-1, count, padding).fill_(-std::numeric_limits<float>::infinity());
  const auto [rows, is_elsewhere] = rows_of_tokens(targets.unsqueeze(-1), weights.begin, count);
  const at::Tensor loss =
      group.is_single() ? replace_by_softmax(logits, rows) : replace_by_softmax(group, logits, rows, is_elsewhere);
  logits.scatter_add_(-1, rows, is_elsewhere.to(at::kFloat).sub_(1));
  return {loss, std::move(logits)};
}

void add_weight_gradient(const OutputWeights& weights, const at::Tensor& of_logits, const at::Tensor& hidden,
                         double factor) {
  if (of_logits.scalar_type() == at::kFloat) {
    weights.gradient.addmm_(of_logits.t(), hidden, 1, factor);
  } else {
    const at::Tensor product = of_logits.t().mm(hidden);
    weights.gradient.add_(product.narrow(0, 0, weights.gradient.size(0)), factor);
  }
}

// Returns the sum of what `loss_of` returns for each chunk of tokens.
template <typename LossOf>
at::Tensor sum_over_chunks(std::int64_t tokens, std::int64_t chunk, const at::Tensor& like, const LossOf& loss_of) {
  at::Tensor sum = at::zeros({}, like.options().dtype(at::kDouble));
  for (std::int64_t begin = 0; begin < tokens; begin += chunk)
    sum.add_(loss_of(begin, std::min(chunk, tokens - begin)));
  return sum;
}

}  // namespace

OutputWeights output_weights(const Parameters& head, const Parameters* tokens) {
  const Parameters& parameters = tokens != nullptr ? *tokens : head;
  const std::string_view name = tokens != nullptr ? "tokens.weight" : "output.weight";
  return {parameters.padded(name), parameters.gradient_of(name), parameters.layout_of(name).begin};
}

at::Tensor loss_of(const TensorParallel& group, const OutputWeights& weights, const at::Tensor& hidden,
                   const at::Tensor& targets, std::int64_t chunk) {
  const at::NoGradGuard without_graph;
  const at::Tensor inputs = group.all_tokens(hidden).flatten(0, 1);
  const at::Tensor ids = targets.flatten();
  return sum_over_chunks(ids.numel(), chunk, hidden, [&](std::int64_t begin, std::int64_t count) {
    return loss_of_chunk(group, weights, inputs.narrow(0, begin, count), ids.narrow(0, begin, count)).loss;
  });
}

LossWithGradient loss_with_gradient(const TensorParallel& group, const OutputWeights& weights, const at::Tensor& hidden,
                                    const LossTargets& targets, std::int64_t chunk) {
  const at::NoGradGuard without_graph;
  const at::Tensor all = group.all_tokens(hidden);
  const at::Tensor inputs = all.flatten(0, 1);
  const at::Tensor ids = targets.tokens.flatten();
  const at::Tensor gradient = at::empty_like(all, at::MemoryFormat::Contiguous);
  const at::Tensor rows = gradient.view(inputs.sizes());
  const at::Tensor loss = sum_over_chunks(ids.numel(), chunk, hidden, [&](std::int64_t begin, std::int64_t count) {
    const at::Tensor chunk_inputs = inputs.narrow(0, begin, count);
    ChunkLoss one = loss_of_chunk(group, weights, chunk_inputs, ids.narrow(0, begin, count));
    one.gradient = one.gradient.to(weights.weight.scalar_type());
    at::Tensor chunk_rows = rows.narrow(0, begin, count);
    at::mm_out(chunk_rows, one.gradient, weights.weight);
    add_weight_gradient(weights, one.gradient, chunk_inputs, targets.factor);
    return one.loss;
  });
  return {loss, group.reduce_from_region(gradient.mul_(targets.factor))};
}

}  // namespace sailor::trainer
