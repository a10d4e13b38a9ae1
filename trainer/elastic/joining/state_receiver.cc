#include "trainer/elastic/joining/state_receiver.h"

#include <algorithm>
#include <utility>

#include <ATen/ATen.h>
#include <c10/core/DeviceGuard.h>
#include <fmt/format.h>

#include "core/log/log.h"
#include "trainer/comm/communication_error.h"
#include "trainer/device/allocation_failure.h"
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

IncomingStream::IncomingStream(std::shared_ptr<const Assignment> assignment, std::int64_t generation,
                               std::vector<StreamedShard> shards, StreamLink link, at::Device device)
    : assignment_(std::move(assignment)), shards_(std::move(shards)), device_(device), generation_(generation) {
  result_ = std::async(std::launch::async, [this, link = std::move(link)]() mutable {
    StreamLink own = std::move(link);  // closes the connection when this function returns
    std::optional<ReceivedState> received;
    bool is_final = false;
    const auto failure = allocation_failure([&] {
      is_final = run(own);
      keep_arrived_shards();
    });
    if (failure) {
      log_warning("state stream given up", {{"why", *failure}});
      arrived_ = 0;
    }
    held_.forget_gradients();  // of a step that has arrived only in part
    if (arrived_ > 0 && !is_stopped_) received = {generation_, updated_by_, std::exchange(held_, {}), is_final};
    held_ = {};
    gradients_ = {};
    return received;
  });
}

bool IncomingStream::is_over_within(std::chrono::milliseconds timeout) const {
  return result_.wait_for(timeout) == std::future_status::ready;
}

bool IncomingStream::run(StreamLink& link) {
  const c10::DeviceGuard device(compute_device());  // the current device is a setting of the thread
  try {
    while (!is_stopped_) {
      const StreamHeader header = link.receive_header();
      if (header.is_heartbeat()) continue;
      check_order(header);
      header.is_step() ? apply_step(header, link) : receive_shards(header, link);
      held_.first_loss = header.first_loss;
      link.acknowledge();
      if (header.is_last) return true;
    }
  } catch (const CommunicationError& error) {
    if (!is_stopped_) log_info("state stream ended", {{"step", std::to_string(held_.step)}, {"why", error.what()}});
  }
  return false;
}

void IncomingStream::check_order(const StreamHeader& header) const {
  const bool is_next = header.is_step() ? header.step == held_.step + 1 : arrived_ == 0 || header.step == held_.step;
  if (is_next && header.known_shards == arrived_ && header.sent_shards <= std::ssize(shards_)) return;
  throw CommunicationError(fmt::format("step {} with {} of {} shards does not follow step {} with {} shards",
                                       header.step, header.known_shards, header.sent_shards, held_.step, arrived_));
}

// Does the same arithmetic as the training workers, so that equal versions still mean equal states.
void IncomingStream::apply_step(const StreamHeader& header, StreamLink& link) {
  if (header.squared_norm != kStepSkipped) receive_gradients(header, link);
  held_.squared_norm = header.squared_norm;
  held_.next_loss = header.loss;
  held_.apply_gradients(assignment_->training);
  updated_by_ = generation_;
}

void IncomingStream::receive_gradients(const StreamHeader& header, StreamLink& link) {
  for (std::size_t i = 0; std::cmp_less(i, header.known_shards); ++i) {
    const StreamedShard& shard = shards_[i];
    const LayerState& state = states_of(shard).at(shard.layer_state);
    const at::Tensor& gradient = gradients_.at(&state);
    receive(gradient, state.layout, shard, link);
    (shard.is_peer_replica ? held_.peer_replica_gradients : held_.gradients)[shard.layer_state] = gradient;
  }
}

void IncomingStream::receive_shards(const StreamHeader& header, StreamLink& link) {
  held_.step = held_.reached = header.step;
  updated_by_ = header.updated_by;
  held_.loss = header.loss;
  for (; arrived_ < header.sent_shards; ++arrived_) {
    const StreamedShard& shard = shards_[static_cast<std::size_t>(arrived_)];
    const LayerState& state = place_of(shard);
    for (const at::Tensor& tensor : tensors_of(state)) receive(tensor, state.layout, shard, link);
  }
}

// Returns the layout of all these shards of a layer state together.
StateLayout IncomingStream::layout_of_shards(std::span<const StreamedShard> shards, int layer_state,
                                             bool is_peer_replica) const {
  std::vector<Slice> slices;
  for (const StreamedShard& shard : shards) {
    const bool is_here = shard.layer_state == layer_state && shard.is_peer_replica == is_peer_replica;
    if (is_here) slices.insert(slices.end(), shard.slices.begin(), shard.slices.end());
  }
  return shard_of(layout_of(assignment_->model, layer_state), neighbours_joined(std::move(slices)));
}

// Returns the layer state that the shard is a part of. All shards of a layer state lie in the same tensors. Elements
// that have not arrived yet are zero, so that an update leaves them alone.
LayerState& IncomingStream::place_of(const StreamedShard& shard) {
  LayerStates& states = states_of(shard);
  if (const auto found = states.find(shard.layer_state); found != states.end()) return found->second;
  const StateLayout layout = layout_of_shards(shards_, shard.layer_state, shard.is_peer_replica);
  LayerState& state = states[shard.layer_state] = empty_state(layout, device_);
  for (const at::Tensor& tensor : tensors_of(state)) tensor.zero_();
  gradients_[&state] = at::zeros_like(state.weights);
  return state;
}

// Shrinks layer states of which only some shards have arrived.
void IncomingStream::keep_arrived_shards() {
  const auto arrived = std::span(shards_).first(static_cast<std::size_t>(arrived_));
  for (const bool is_peer_replica : {false, true}) {
    LayerStates& states = is_peer_replica ? held_.peer_replicas : held_.layer_states;
    for (auto& [id, state] : states) {
      const StateLayout layout = layout_of_shards(arrived, id, is_peer_replica);
      if (layout == state.layout) continue;
      LayerState part = empty_state(layout, device_);
      copy_slices(slices_of(layout), state, part);
      state = std::move(part);
    }
    std::erase_if(states, [](const auto& state) { return state.second.layout.size == 0; });
  }
}

LayerStates& IncomingStream::states_of(const StreamedShard& shard) {
  return shard.is_peer_replica ? held_.peer_replicas : held_.layer_states;
}

void StateReceiver::stop() {
  for (const auto& stream : streams_) stream->stop();
}

bool StateReceiver::is_over_within(std::chrono::milliseconds timeout) const {
  return std::ranges::all_of(streams_, [=](const auto& stream) { return stream->is_over_within(timeout); });
}

std::optional<ReceivedState> StateReceiver::take(const ModelSpec& model) {
  std::optional<ReceivedState> newest;
  for (const auto& stream : std::exchange(streams_, {})) {
    std::optional<ReceivedState> received = stream->take();
    if (!received) continue;
    if (!newest || received->held.step > newest->held.step) {
      newest = std::move(received);
    } else if (received->held.step == newest->held.step) {
      newest->held.join(model, received->held);
      newest->is_final = newest->is_final || received->is_final;
    }
  }
  return newest;
}

}  // namespace sailor::trainer
