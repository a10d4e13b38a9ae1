#include "trainer/model/sequence_parallel.h"

#include <utility>

#include <ATen/ATen.h>
#include <torch/csrc/autograd/custom_function.h>

#include "core/model/check.h"

namespace sailor::trainer {
namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

// Tensors and what is on its way into the second one.
struct Exchange {
  at::Tensor result;
  std::unique_ptr<Transfer> transfer;

  at::Tensor wait() {
    transfer->wait();
    return std::move(result);
  }
};

Exchange start_gather(Group& group, const at::Tensor& share) {
  const at::Tensor whole = share.new_empty({share.size(0), share.size(1) * group.size(), share.size(2)});
  return {whole, group.start_gather(share.contiguous().view({-1}), whole.view({-1}))};
}

Exchange start_scatter(Group& group, const at::Tensor& whole) {
  SAILOR_CHECK(whole.size(1) % group.size() == 0, "{} tokens for {} workers", whole.size(1), group.size());
  const at::Tensor share = whole.new_empty({whole.size(0), whole.size(1) / group.size(), whole.size(2)});
  return {share, group.start_sum_of_parts(whole.contiguous().view({-1}), share.view({-1}))};
}

// What a backward pass needs is kept as an IValue: a group outlives all graphs.
void keep(AutogradContext& context, Group* group) {
  context.saved_data["group"] = static_cast<std::int64_t>(reinterpret_cast<std::intptr_t>(group));
}
Group& kept_group(const AutogradContext& context) {
  return *reinterpret_cast<Group*>(static_cast<std::intptr_t>(context.saved_data.at("group").toInt()));
}

class GatheredProducts : public torch::autograd::Function<GatheredProducts> {
 public:
  static variable_list forward(AutogradContext* context, Group* group, const at::Tensor& share,
                               at::TensorList weights) {
    keep(*context, group);
    variable_list kept = {share};
    kept.insert(kept.end(), weights.begin(), weights.end());
    context->save_for_backward(std::move(kept));
    const at::Tensor whole = start_gather(*group, share).wait();
    variable_list products;
    for (const at::Tensor& weight : weights) products.push_back(at::linear(whole, weight));
    return products;
  }

  // The tokens arrive while the gradient of the input is computed; it is dealt while those of the weights are.
  static variable_list backward(AutogradContext* context, const variable_list& gradients) {
    Group& group = kept_group(*context);
    const variable_list kept = context->get_saved_variables();
    Exchange tokens = start_gather(group, kept.front());
    at::Tensor input;
    for (std::size_t i = 0; i < gradients.size(); ++i) {
      const at::Tensor part = gradients[i].matmul(kept[i + 1]);
      input = input.defined() ? input.add_(part) : part;
    }
    Exchange share = start_scatter(group, input);
    const at::Tensor rows = tokens.wait().flatten(0, 1);
    variable_list results = {{}, {}};  // of the group, and of the share
    for (const at::Tensor& gradient : gradients) results.push_back(gradient.flatten(0, 1).t().mm(rows));
    results[1] = share.wait();
    return results;
  }
};

class ScatteredSum : public torch::autograd::Function<ScatteredSum> {
 public:
  static at::Tensor forward(AutogradContext* context, Group* group, const at::Tensor& whole) {
    keep(*context, group);
    return start_scatter(*group, whole).wait();
  }

  static variable_list backward(AutogradContext* context, const variable_list& gradients) {
    return {{}, start_gather(kept_group(*context), gradients.front()).wait()};
  }
};

}  // namespace

std::vector<at::Tensor> gathered_products(Group& group, const at::Tensor& share,
                                          const std::vector<at::Tensor>& weights) {
  return GatheredProducts::apply(&group, share, at::TensorList(weights));
}

at::Tensor scattered_sum(Group& group, const at::Tensor& whole) { return ScatteredSum::apply(&group, whole); }

}  // namespace sailor::trainer
