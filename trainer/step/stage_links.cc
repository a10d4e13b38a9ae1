#include "trainer/step/stage_links.h"

#include <algorithm>

#include <ATen/ATen.h>

#include "planner/model/check.h"

namespace sailor::trainer {
namespace {

constexpr std::size_t kReceivesAhead = 3;  // hides the transfer of the next inputs behind the present pass

bool is_receive(const Operation& operation) {
  return operation.kind == OperationKind::kReceiveActivation || operation.kind == OperationKind::kReceiveGradient;
}

bool carries_gradient(const Operation& operation) {
  return operation.kind == OperationKind::kSendGradient || operation.kind == OperationKind::kReceiveGradient;
}

int tag_of(const Operation& operation) { return 2 * operation.microbatch + (carries_gradient(operation) ? 1 : 0); }

}  // namespace

StageLinks::StageLinks(Group& pipeline, const Roster& roster, Role role, std::vector<std::int64_t> message_shape,
                       const std::vector<Operation>& operations)
    : pipeline_(pipeline), roster_(roster), role_(role), shape_(std::move(message_shape)) {
  std::ranges::copy_if(operations, std::back_inserter(to_receive_), is_receive);
  post_receives();
}

void StageLinks::send(const Operation& operation, const at::Tensor& tensor) {
  sent_.push_back(pipeline_.send(tensor.contiguous(), rank_of_peer(operation), tag_of(operation)));
}

at::Tensor StageLinks::receive(const Operation& operation) {
  SAILOR_CHECK(!posted_.empty() && posted_.front().operation == operation, "receives out of order");
  Posted posted = std::move(posted_.front());
  posted_.pop_front();
  posted.transfer->wait();
  post_receives();
  return posted.tensor;
}

void StageLinks::finish() {
  for (const auto& transfer : sent_) transfer->wait();
  sent_.clear();
}

void StageLinks::post_receives() {
  while (posted_.size() < kReceivesAhead && !to_receive_.empty()) {
    Posted next{.operation = to_receive_.front(), .tensor = at::empty(shape_, at::kFloat), .transfer = nullptr};
    next.transfer = pipeline_.receive(next.tensor, rank_of_peer(next.operation), tag_of(next.operation));
    posted_.push_back(std::move(next));
    to_receive_.pop_front();
  }
}

// Activations come from the stage before and go to the one after, gradients the other way.
int StageLinks::rank_of_peer(const Operation& operation) const {
  const bool is_downstream = is_receive(operation) == carries_gradient(operation);
  return roster_.rank_of({role_.stage + (is_downstream ? 1 : -1), operation.peer, role_.shard});
}

}  // namespace sailor::trainer
