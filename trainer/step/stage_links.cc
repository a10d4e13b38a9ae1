#include "trainer/step/stage_links.h"

#include <algorithm>
#include <functional>
#include <numeric>

#include <ATen/ATen.h>

#include "core/model/check.h"
#include "trainer/device.h"
#include "trainer/step/crossings.h"

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

StageLinks::StageLinks(Groups& groups, const Roster& roster, Role role, MessageShape shape,
                       const std::vector<Operation>& operations)
    : groups_(groups),
      roster_(roster),
      role_(role),
      degree_(roster.tensor_parallel_rank_of(roster.rank_of(role)).tensor_parallel),
      shape_(std::move(shape)) {
  std::ranges::copy_if(operations, std::back_inserter(to_receive_), is_receive);
  post_receives();
}

void StageLinks::send(const Operation& operation, const at::Tensor& tensor) {
  const at::Tensor flat = tensor.contiguous().view({-1});
  const std::int64_t begin = shape_.is_dealt ? stretch_of(elements(), role_.shard, degree_).begin : 0;
  for (const Crossing& crossing : crossings(elements(), degree_, degree_of_peer(operation), shape_.is_dealt)) {
    if (crossing.sender != role_.shard) continue;
    const Stretch& stretch = crossing.stretch;
    sent_.push_back(groups_.pipeline().send(flat.narrow(0, stretch.begin - begin, stretch.size()),
                                            roster_.rank_of(peer_of(operation, crossing.receiver)), tag_of(operation)));
  }
}

at::Tensor StageLinks::receive(const Operation& operation) {
  SAILOR_CHECK(!posted_.empty() && posted_.front().operation == operation, "receives out of order");
  const Posted posted = std::move(posted_.front());
  posted_.pop_front();
  for (const auto& transfer : posted.transfers) transfer->wait();
  post_receives();
  if (!shape_.is_dealt) return gathered(posted.part).view(shape_.sizes);
  return posted.part.view({shape_.sizes[0], shape_.sizes[1] / degree_, shape_.sizes[2]});
}

void StageLinks::finish() {
  for (const auto& transfer : sent_) transfer->wait();
  sent_.clear();
}

void StageLinks::post_receives() {
  const Stretch own = stretch_of(elements(), role_.shard, degree_);
  while (posted_.size() < kReceivesAhead && !to_receive_.empty()) {
    const Operation& operation = to_receive_.front();
    Posted next{
        .operation = operation,
        .part = at::empty({stretch_of(elements(), 0, degree_).size()}, at::device(compute_device()).dtype(shape_.type)),
        .transfers = {}};
    for (const Crossing& crossing : crossings(elements(), degree_of_peer(operation), degree_, shape_.is_dealt)) {
      if (crossing.receiver != role_.shard) continue;
      const Stretch& stretch = crossing.stretch;
      next.transfers.push_back(
          groups_.pipeline().receive(next.part.narrow(0, stretch.begin - own.begin, stretch.size()),
                                     roster_.rank_of(peer_of(operation, crossing.sender)), tag_of(operation)));
    }
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
  return roster_.tensor_parallel_rank_of(roster_.rank_of(peer_of(operation, 0))).tensor_parallel;
}

// The whole tensor from the stretches that the group's workers received.
at::Tensor StageLinks::gathered(const at::Tensor& part) const {
  if (degree_ == 1) return part;
  const at::Tensor whole = part.new_empty({part.numel() * degree_});
  groups_.tensor_parallel().start_gather(part, whole)->wait();
  return whole.narrow(0, 0, elements());
}

std::int64_t StageLinks::elements() const {
  return std::accumulate(shape_.sizes.begin(), shape_.sizes.end(), std::int64_t{1}, std::multiplies<>());
}

}  // namespace sailor::trainer
