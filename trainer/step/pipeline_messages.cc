#include "trainer/step/pipeline_messages.h"

#include <algorithm>
#include <functional>
#include <numeric>

#include <ATen/ATen.h>

#include "core/model/check.h"
#include "trainer/device/device.h"
#include "trainer/step/activation_resharding.h"

namespace sailor::trainer {
namespace {

bool is_receive(const Operation& operation) {
  return operation.kind == OperationKind::kReceiveActivation || operation.kind == OperationKind::kReceiveGradient;
}

bool carries_gradient(const Operation& operation) {
  return operation.kind == OperationKind::kSendGradient || operation.kind == OperationKind::kReceiveGradient;
}

// Whether the receive brings what the pass needs.
bool is_of_pass(const Operation& receive, const Operation& pass) {
  return receive.microbatch == pass.microbatch && carries_gradient(receive) == (pass.kind == OperationKind::kBackward);
}

int tag_of(const Operation& operation) { return 2 * operation.microbatch + (carries_gradient(operation) ? 1 : 0); }

}  // namespace

PipelineMessages::PipelineMessages(TrainingGroups& groups, const Roster& roster, Role role, MessageShape shape,
                                   const std::vector<Operation>& operations)
    : groups_(groups),
      roster_(roster),
      role_(role),
      tensor_parallel_(roster.tensor_parallel_rank_of(roster.rank_of(role)).tensor_parallel),
      shape_(std::move(shape)) {
  std::ranges::copy_if(operations, std::back_inserter(receives_), is_receive);
  post_receives_until(kReceivesAhead);
}

void PipelineMessages::send(const Operation& operation, const at::Tensor& tensor) {
  const at::Tensor flat = tensor.contiguous().view({-1});
  const bool is_part = shape_.is_sequence_parallel;
  const std::int64_t begin = is_part ? interval_of(elements(), role_.shard, tensor_parallel_).begin : 0;
  const int receivers = tensor_parallel_of_peer(operation);
  Sent& message = sent_.emplace_back(peer_of(operation, 0));
  for (const auto& [sender, receiver, interval] :
       reshard_messages(elements(), tensor_parallel_, receivers, shape_.is_sequence_parallel)) {
    if (sender != role_.shard) continue;
    message.works.push_back(groups_.pipeline().send(flat.narrow(0, interval.begin - begin, interval.size()),
                                                    roster_.rank_of(peer_of(operation, receiver)), tag_of(operation)));
  }
}

void PipelineMessages::reach(const Operation& receive) {
  SAILOR_CHECK(reached_ < receives_.size() && receives_[reached_] == receive, "receives out of order");
  ++reached_;
  post_receives_until(reached_ + kReceivesAhead);
}

at::Tensor PipelineMessages::take_for(const Operation& pass, int acknowledged) {
  const auto found =
      std::ranges::find_if(posted_, [&](const PostedReceive& one) { return is_of_pass(one.operation, pass); });
  SAILOR_CHECK(found != posted_.end(), "a pass of microbatch {} before its receive", pass.microbatch);
  const PostedReceive posted = std::move(*found);
  posted_.erase(found);
  for (const auto& work : posted.works) work->wait();
  free_acknowledged(peer_of(posted.operation, 0), acknowledged);
  if (!shape_.is_sequence_parallel) return gather_intervals(posted.interval).view(shape_.sizes);
  return posted.interval.view({shape_.sizes[0], shape_.sizes[1] / tensor_parallel_, shape_.sizes[2]});
}

// These sends are complete, or nearly: to wait for them takes no time.
void PipelineMessages::free_acknowledged(const Role& peer, int count) {
  for (auto message = sent_.begin(); count > 0; --count) {
    message = std::find_if(message, sent_.end(), [&](const Sent& sent) { return sent.peer == peer; });
    SAILOR_CHECK(message != sent_.end(), "more messages acknowledged than sent");
    for (const auto& work : message->works) work->wait();
    message = sent_.erase(message);
  }
}

void PipelineMessages::finish(std::size_t unfinished) {
  for (; sent_.size() > unfinished; sent_.pop_front()) {
    for (const auto& work : sent_.front().works) work->wait();
  }
}

void PipelineMessages::post_receives_until(std::size_t count) {
  const Interval own = interval_of(elements(), role_.shard, tensor_parallel_);
  const std::int64_t longest = interval_of(elements(), 0, tensor_parallel_).size();
  for (; next_to_post_ < std::min(count, receives_.size()); ++next_to_post_) {
    const Operation& operation = receives_[next_to_post_];
    PostedReceive next{.operation = operation,
                       .interval = at::empty({longest}, at::device(compute_device()).dtype(shape_.type)),
                       .works = {}};
    const int senders = tensor_parallel_of_peer(operation);
    for (const auto& [sender, receiver, interval] :
         reshard_messages(elements(), senders, tensor_parallel_, shape_.is_sequence_parallel)) {
      if (receiver != role_.shard) continue;
      next.works.push_back(
          groups_.pipeline().receive(next.interval.narrow(0, interval.begin - own.begin, interval.size()),
                                     roster_.rank_of(peer_of(operation, sender)), tag_of(operation)));
    }
    posted_.push_back(std::move(next));
  }
}

// Activations come from the previous stage and go to the next one. Gradients go the other way.
Role PipelineMessages::peer_of(const Operation& operation, int index) const {
  const bool is_next_stage = is_receive(operation) == carries_gradient(operation);
  return {role_.stage + (is_next_stage ? 1 : -1), operation.peer, index};
}

int PipelineMessages::tensor_parallel_of_peer(const Operation& operation) const {
  return roster_.tensor_parallel_rank_of(roster_.rank_of(peer_of(operation, 0))).tensor_parallel;
}

// Returns the whole tensor from the intervals that the workers of the group have received.
at::Tensor PipelineMessages::gather_intervals(const at::Tensor& interval) const {
  if (tensor_parallel_ == 1) return interval;
  const at::Tensor whole = interval.new_empty({interval.numel() * tensor_parallel_});
  groups_.tensor_parallel().start_all_gather(interval, whole)->wait();
  return whole.narrow(0, 0, elements());
}

std::int64_t PipelineMessages::elements() const {
  return std::accumulate(shape_.sizes.begin(), shape_.sizes.end(), std::int64_t{1}, std::multiplies<>());
}

}  // namespace sailor::trainer
