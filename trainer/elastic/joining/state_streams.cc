#include "trainer/elastic/joining/state_streams.h"

#include <algorithm>

namespace sailor::trainer {
namespace {

constexpr double kShareOfStep = 0.05;  // the share of a step that enqueueing shards may take

}  // namespace

void StateStreams::note_gradients(const HeldState& held) {
  for (const auto& stream : streams_) stream->note_gradients(held);
}

void StateStreams::note_update(const HeldState& held, std::chrono::duration<double> step) {
  const auto allowed = kShareOfStep * step / static_cast<double>(streams_.size());
  for (const auto& stream : streams_) stream->note_update(held, allowed);
}

void StateStreams::note_last_update(const HeldState& held) {
  for (const auto& stream : streams_) stream->note_last_update(held);
}

bool StateStreams::is_settled() const {
  const auto now = StateStream::Clock::now();
  return now > deadline_ ||
         std::ranges::all_of(streams_, [&](const auto& stream) { return stream->is_settled(now - lost_limit_); });
}

void StateStreams::stop() {
  for (const auto& stream : streams_) stream->stop();
}

bool StateStreams::is_over() const {
  return std::ranges::all_of(streams_, [](const auto& one) { return one->is_over(); });
}

}  // namespace sailor::trainer
