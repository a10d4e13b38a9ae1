#include "trainer/elastic/joining/state_streaming.h"

#include <algorithm>

namespace sailor::trainer {
namespace {

constexpr double kShareOfStep = 0.05;  // the share of a step that enqueueing shards may take

}  // namespace

void StateStreaming::note_gradients(const HeldState& held) {
  for (const auto& stream : streams_) stream->note_gradients(held);
}

void StateStreaming::note_update(const HeldState& held, std::chrono::duration<double> step) {
  const auto allowed = kShareOfStep * step / static_cast<double>(streams_.size());
  for (const auto& stream : streams_) stream->note_update(held, allowed);
}

void StateStreaming::note_last_update(const HeldState& held) {
  for (const auto& stream : streams_) stream->note_last_update(held);
}

bool StateStreaming::is_settled() const {
  const auto now = StateStream::Clock::now();
  return now > deadline_ ||
         std::ranges::all_of(streams_, [&](const auto& stream) { return stream->is_settled(now - lost_limit_); });
}

void StateStreaming::stop() {
  for (const auto& stream : streams_) stream->stop();
}

bool StateStreaming::is_over() const {
  return std::ranges::all_of(streams_, [](const auto& one) { return one->is_over(); });
}

}  // namespace sailor::trainer
