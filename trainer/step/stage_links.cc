#include "trainer/step/stage_links.h"

#include <algorithm>
#include <functional>
#include <numeric>

#include <ATen/ATen.h>

#include "planner/model/check.h"
#include "trainer/device.h"

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

// Elements of each of the parts that a tensor is received in; the last one is filled up.
std::int64_t part_length(std::int64_t elements, int receivers) { return (elements + receivers - 1) / receivers; }

// The sender of the part for this receiver: senders take turns.
int sender_of(int receiver, int senders) { return receiver % senders; }

// One part of the flat tensor, filled up to the common length.
at::Tensor part_of(const at::Tensor& flat, int receiver, std::int64_t length) {
  const std::int64_t begin = std::min(receiver * length, flat.numel());
  const std::int64_t end = std::min(begin + length, flat.numel());
  const at::Tensor part = flat.narrow(0, begin, end - begin);
  return end - begin == length ? part : at::constant_pad_nd(part, {0, length - (end - begin)});
}

}  // namespace

StageLinks::StageLinks(Groups& groups, const Roster& roster, Role role, MessageShape shape,
                       const std::vector<Operation>& operations)
    : groups_(groups),
      roster_(roster),
      role_(role),
      degree_(roster.shard_of(roster.rank_of(role)).degree),
      shape_(std::move(shape)) {
  std::ranges::copy_if(operations, std::back_inserter(to_receive_), is_receive);
  post_receives();
}

void StageLinks::send(const Operation& operation, const at::Tensor& tensor) {
  const int receivers = degree_of_peer(operation);
  const std::int64_t length = part_length(elements(), receivers);
  const at::Tensor flat = tensor.contiguous().view({-1});
  for (int receiver = 0; receiver < receivers; ++receiver) {
    if (sender_of(receiver, degree_) != role_.shard) continue;
    sent_.push_back(groups_.pipeline().send(part_of(flat, receiver, length),
                                            roster_.rank_of(peer_of(operation, receiver)), tag_of(operation)));
  }
}

at::Tensor StageLinks::receive(const Operation& operation) {
  SAILOR_CHECK(!posted_.empty() && posted_.front().operation == operation, "receives out of order");
  Posted posted = std::move(posted_.front());
  posted_.pop_front();
  posted.transfer->wait();
  post_receives();
  if (degree_ == 1) return posted.part.view(shape_.sizes);
  const at::Tensor whole = posted.part.new_empty({posted.part.numel() * degree_});
  groups_.tensor_parallel().start_gather(posted.part, whole)->wait();
  return whole.narrow(0, 0, elements()).view(shape_.sizes);
}

void StageLinks::finish() {
  for (const auto& transfer : sent_) transfer->wait();
  sent_.clear();
}

void StageLinks::post_receives() {
  while (posted_.size() < kReceivesAhead && !to_receive_.empty()) {
    const Operation& operation = to_receive_.front();
    const int sender = sender_of(role_.shard, degree_of_peer(operation));
    Posted next{.operation = operation,
                .part = at::empty({part_length(elements(), degree_)}, at::device(compute_device()).dtype(shape_.type)),
                .transfer = nullptr};
    next.transfer =
        groups_.pipeline().receive(next.part, roster_.rank_of(peer_of(operation, sender)), tag_of(operation));
    posted_.push_back(std::move(next));
    to_receive_.pop_front();
  }
}

// Activations come from the stage before and go to the one after, gradients the other way.
Role StageLinks::peer_of(const Operation& operation, int shard) const {
  const bool is_downstream = is_receive(operation) == carries_gradient(operation);
  return {role_.stage + (is_downstream ? 1 : -1), operation.peer, shard};
}

int StageLinks::degree_of_peer(const Operation& operation) const {
  return roster_.shard_of(roster_.rank_of(peer_of(operation, 0))).degree;
}

std::int64_t StageLinks::elements() const {
  return std::accumulate(shape_.sizes.begin(), shape_.sizes.end(), std::int64_t{1}, std::multiplies<>());
}

}  // namespace sailor::trainer
