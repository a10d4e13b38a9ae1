#include "trainer/elastic/joining/state_receiver.h"

#include <algorithm>
#include <utility>

#include <ATen/ATen.h>
#include <c10/core/DeviceGuard.h>
#include <fmt/format.h>

#include "core/log/log.h"
#include "trainer/comm/peer_lost.h"
#include "trainer/device/device.h"
#include "trainer/elastic/state/state_transfer.h"

namespace sailor::trainer {
namespace {

void receive(const at::Tensor& flat, const StateLayout& layout, const StreamedShard& shard, FollowLink& link) {
  const Arrival arrival(flat, spans_of(layout, shard.slices), shard.elements);
  link.receive(arrival.message());
  arrival.unpack();
}

}  // namespace

FollowedStream::FollowedStream(std::shared_ptr<const Assignment> assignment, std::vector<StreamedShard> shards,
                               FollowLink link)
    : assignment_(std::move(assignment)), shards_(std::move(shards)) {
  result_ = std::async(std::launch::async, [this, link = std::move(link)]() mutable {
    FollowLink own = std::move(link);  // closed as soon as it is over
    std::optional<HeldState> followed = run(own);
    held_ = {};
    gradients_ = {};
    return followed;
  });
}

bool FollowedStream::is_over_within(std::chrono::milliseconds patience) const {
  return result_.wait_for(patience) == std::future_status::ready;
}

std::optional<HeldState> FollowedStream::run(FollowLink& link) {
  const c10::DeviceGuard device(compute_device());  // each thread has its own
  try {
    while (!is_stopped_) {
      const StepNews news = link.hear();
      if (news.step == 0) continue;
      follow(news, link);
      link.acknowledge();
      if (news.is_last) return std::exchange(held_, {});
    }
  } catch (const PeerLost& error) {
    if (!is_stopped_) log_info("follows no longer", {{"step", std::to_string(held_.step)}, {"why", error.what()}});
  }
  return std::nullopt;
}

// The holders' own arithmetic, so that equal names go on meaning equal states.
void FollowedStream::follow(const StepNews& news, FollowLink& link) {
  const bool is_first = held_.step == 0, is_next = is_first || news.step == held_.step + 1;
  if (!is_next || news.followed != std::ssize(gradients_) || news.handed_out > std::ssize(shards_)) {
    throw PeerLost(fmt::format("step {} with {} shards does not follow step {}", news.step, news.followed, held_.step));
  }
  if (is_first) {
    held_.step = held_.reached = news.step;
    held_.loss = news.loss;
  } else {
    if (news.squared_norm != kStepLeftOut) receive_gradients(news, link);
    held_.squared_norm = news.squared_norm;
    held_.next_loss = news.loss;
    held_.apply_gradients(assignment_->training);
  }
  held_.first_loss = news.first_loss;
  for (int i = news.followed; i < news.handed_out; ++i) receive_shard(shards_[static_cast<std::size_t>(i)], link);
}

void FollowedStream::receive_gradients(const StepNews& news, FollowLink& link) {
  for (std::size_t i = 0; i < static_cast<std::size_t>(news.followed); ++i) {
    const StreamedShard& shard = shards_[i];
    const LayerStates& states = shard.is_copy ? held_.copies : held_.layer_states;
    receive(gradients_[i], states.at(shard.layer_state).layout, shard, link);
    (shard.is_copy ? held_.copied_gradients : held_.gradients)[shard.layer_state] = gradients_[i];
  }
}

void FollowedStream::receive_shard(const StreamedShard& shard, FollowLink& link) {
  const StateLayout whole = layout_of(assignment_->model, shard.layer_state);
  const LayerState state = empty_state(shard_of(whole, neighbours_joined(shard.slices)));
  for (const at::Tensor& tensor : tensors_of(state)) receive(tensor, state.layout, shard, link);
  gradients_.push_back(at::empty_like(state.weights));
  (shard.is_copy ? held_.copies : held_.layer_states)[shard.layer_state] = state;
}

void Following::stop() {
  for (const auto& stream : streams_) stream->stop();
}

bool Following::is_over_within(std::chrono::milliseconds patience) const {
  return std::ranges::all_of(streams_, [=](const auto& stream) { return stream->is_over_within(patience); });
}

std::optional<Followed> Following::take(const ModelSpec& model) {
  std::optional<Followed> followed;
  for (const auto& stream : std::exchange(streams_, {})) {
    std::optional<HeldState> held = stream->take();
    if (!held) continue;
    if (!followed) {
      followed = {generation_, *std::move(held)};
    } else if (held->step == followed->held.step) {
      followed->held.join(model, *std::move(held));
    }
  }
  return followed;
}

}  // namespace sailor::trainer
