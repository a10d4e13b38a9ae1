#include "trainer/elastic/joining/state_receiver.h"

#include <algorithm>
#include <utility>

#include <ATen/ATen.h>
#include <c10/core/DeviceGuard.h>
#include <fmt/format.h>

#include "core/log/log.h"
#include "trainer/comm/communication_error.h"
#include "trainer/device/device.h"
#include "trainer/elastic/state/state_transfer.h"

namespace sailor::trainer {
namespace {

void receive(const at::Tensor& flat, const StateLayout& layout, const StreamedShard& shard, StreamLink& link) {
  const IncomingMessage incoming(flat, spans_of(layout, shard.slices), shard.elements);
  link.receive(incoming.message());
  incoming.unpack();
}

}  // namespace

IncomingStream::IncomingStream(std::shared_ptr<const Assignment> assignment, std::vector<StreamedShard> shards,
                               StreamLink link)
    : assignment_(std::move(assignment)), shards_(std::move(shards)) {
  result_ = std::async(std::launch::async, [this, link = std::move(link)]() mutable {
    StreamLink own = std::move(link);  // closes the connection when this function returns
    std::optional<HeldState> followed = run(own);
    held_ = {};
    gradients_ = {};
    return followed;
  });
}

bool IncomingStream::is_over_within(std::chrono::milliseconds timeout) const {
  return result_.wait_for(timeout) == std::future_status::ready;
}

std::optional<HeldState> IncomingStream::run(StreamLink& link) {
  const c10::DeviceGuard device(compute_device());  // the current device is a setting of the thread
  try {
    while (!is_stopped_) {
      const StepHeader header = link.receive_header();
      if (header.step == 0) continue;
      apply_step(header, link);
      link.acknowledge();
      if (header.is_last) return std::exchange(held_, {});
    }
  } catch (const CommunicationError& error) {
    if (!is_stopped_) log_info("state stream ended", {{"step", std::to_string(held_.step)}, {"why", error.what()}});
  }
  return std::nullopt;
}

// Does the same arithmetic as the training workers, so that equal versions still mean equal states.
void IncomingStream::apply_step(const StepHeader& header, StreamLink& link) {
  const bool is_first = held_.step == 0, is_next = is_first || header.step == held_.step + 1;
  if (!is_next || header.known_shards != std::ssize(gradients_) || header.sent_shards > std::ssize(shards_)) {
    throw CommunicationError(
        fmt::format("step {} with {} shards does not follow step {}", header.step, header.known_shards, held_.step));
  }
  if (is_first) {
    held_.step = held_.reached = header.step;
    held_.loss = header.loss;
  } else {
    if (header.squared_norm != kStepSkipped) receive_gradients(header, link);
    held_.squared_norm = header.squared_norm;
    held_.next_loss = header.loss;
    held_.apply_gradients(assignment_->training);
  }
  held_.first_loss = header.first_loss;
  for (int i = header.known_shards; i < header.sent_shards; ++i)
    receive_shard(shards_[static_cast<std::size_t>(i)], link);
}

void IncomingStream::receive_gradients(const StepHeader& header, StreamLink& link) {
  for (std::size_t i = 0; std::cmp_less(i, header.known_shards); ++i) {
    const StreamedShard& shard = shards_[i];
    const LayerStates& states = shard.is_peer_replica ? held_.peer_replicas : held_.layer_states;
    receive(gradients_[i], states.at(shard.layer_state).layout, shard, link);
    (shard.is_peer_replica ? held_.peer_replica_gradients : held_.gradients)[shard.layer_state] = gradients_[i];
  }
}

void IncomingStream::receive_shard(const StreamedShard& shard, StreamLink& link) {
  const StateLayout whole = layout_of(assignment_->model, shard.layer_state);
  const LayerState state = empty_state(shard_of(whole, neighbours_joined(shard.slices)));
  for (const at::Tensor& tensor : tensors_of(state)) receive(tensor, state.layout, shard, link);
  gradients_.push_back(at::empty_like(state.weights));
  (shard.is_peer_replica ? held_.peer_replicas : held_.layer_states)[shard.layer_state] = state;
}

void StateReceiver::stop() {
  for (const auto& stream : streams_) stream->stop();
}

bool StateReceiver::is_over_within(std::chrono::milliseconds timeout) const {
  return std::ranges::all_of(streams_, [=](const auto& stream) { return stream->is_over_within(timeout); });
}

std::optional<ReceivedState> StateReceiver::take(const ModelSpec& model) {
  std::optional<ReceivedState> followed;
  for (const auto& stream : std::exchange(streams_, {})) {
    std::optional<HeldState> held = stream->take();
    if (!held) continue;
    if (!followed) {
      followed = {generation_, *std::move(held)};
    } else if (held->step == followed->held.step) {
      followed->held.join(model, *held);
    }
  }
  return followed;
}

}  // namespace sailor::trainer
