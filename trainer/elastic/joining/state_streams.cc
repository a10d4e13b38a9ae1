#include "trainer/elastic/joining/state_streams.h"

#include <algorithm>

namespace sailor::trainer {
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
