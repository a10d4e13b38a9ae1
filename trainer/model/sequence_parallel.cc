#include "trainer/model/sequence_parallel.h"

#include <utility>

#include <ATen/ATen.h>
#include <ATen/core/ivalue.h>
#include <torch/csrc/autograd/custom_function.h>

#include "core/model/check.h"

namespace sailor::trainer {
namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

// A collective that has been started, and the tensor that it fills.
struct PendingResult {
  at::Tensor result;
  std::unique_ptr<Work> work;

  at::Tensor wait() {
    work->wait();
    return std::move(result);
  }
};

PendingResult start_all_gather(Group& group, const at::Tensor& own) {
  const at::Tensor all = own.new_empty({own.size(0), own.size(1) * group.size(), own.size(2)});
  return {all, group.start_all_gather(own.contiguous().view({-1}), all.view({-1}))};
}

PendingResult start_reduce_scatter(Group& group, const at::Tensor& all) {
  SAILOR_CHECK(all.size(1) % group.size() == 0, "{} tokens for {} workers", all.size(1), group.size());
  const at::Tensor own = all.new_empty({all.size(0), all.size(1) / group.size(), all.size(2)});
  return {own, group.start_reduce_scatter(all.contiguous().view({-1}), own.view({-1}))};
}

// Autograd keeps values for the backward pass as IValues; this one holds a pointer. The group outlives all graphs.
struct SavedGroup : torch::CustomClassHolder {
  explicit SavedGroup(Group* saved) : group(saved) {}
  Group* group;
};

void save_group(AutogradContext& context, Group* group) {
  context.saved_data["group"] = c10::IValue::make_capsule(c10::make_intrusive<SavedGroup>(group));
}
Group& saved_group(const AutogradContext& context) {
  return *static_cast<const SavedGroup&>(*context.saved_data.at("group").toCapsule()).group;
}

class AllGatherLinear : public torch::autograd::Function<AllGatherLinear> {
 public:
  static variable_list forward(AutogradContext* context, Group* group, const at::Tensor& own, at::TensorList weights) {
    save_group(*context, group);
    variable_list saved = {own};
    saved.insert(saved.end(), weights.begin(), weights.end());
    context->save_for_backward(std::move(saved));
    const at::Tensor all = start_all_gather(*group, own).wait();
    variable_list products;
    for (const at::Tensor& weight : weights) products.push_back(at::linear(all, weight));
    return products;
  }

  // The all-gather of the tokens overlaps with the computation of the input's gradient; the reduce-scatter of that
  // gradient overlaps with the computation of the weights' gradients.
  static variable_list backward(AutogradContext* context, const variable_list& gradients) {
    Group& group = saved_group(*context);
    const variable_list saved = context->get_saved_variables();
    PendingResult tokens = start_all_gather(group, saved.front());
    at::Tensor input;
    for (std::size_t i = 0; i < gradients.size(); ++i) {
      const at::Tensor part = gradients[i].matmul(saved[i + 1]);
      input = input.defined() ? input.add_(part) : part;
    }
    PendingResult own = start_reduce_scatter(group, input);
    const at::Tensor rows = tokens.wait().flatten(0, 1);
    variable_list results = {{}, {}};  // no gradient for the group; the second is filled in below
    for (const at::Tensor& gradient : gradients) results.push_back(gradient.flatten(0, 1).t().mm(rows));
    results[1] = own.wait();
    return results;
  }
};

class ReduceScatterTokens : public torch::autograd::Function<ReduceScatterTokens> {
 public:
  static at::Tensor forward(AutogradContext* context, Group* group, const at::Tensor& all) {
    save_group(*context, group);
    return start_reduce_scatter(*group, all).wait();
  }

  static variable_list backward(AutogradContext* context, const variable_list& gradients) {
    return {{}, start_all_gather(saved_group(*context), gradients.front()).wait()};
  }
};

}  // namespace

std::vector<at::Tensor> all_gather_linear(Group& group, const at::Tensor& own, const std::vector<at::Tensor>& weights) {
  return AllGatherLinear::apply(&group, own, at::TensorList(weights));
}

at::Tensor all_gather_tokens(Group& group, const at::Tensor& own) {
  return start_all_gather(group, own.detach()).wait();
}

at::Tensor reduce_scatter_tokens(Group& group, const at::Tensor& all) {
  return ReduceScatterTokens::apply(&group, all);
}

}  // namespace sailor::trainer
