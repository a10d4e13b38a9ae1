#include "trainer/elastic/joining/state_streams.h"

#include <algorithm>

#include "trainer/elastic/state/state_transfer.h"

namespace sailor::trainer {

bool StateStreams::is_settled() const {
  const auto now = StateStream::Clock::now();
  return now > deadline_ ||
         std::ranges::all_of(streams_, [&](const auto& stream) { return stream->is_settled(now - lost_limit_); });
}

UnsentState StateStreams::unsent() const {
  StateStream::Progress all;
  for (const auto& stream : streams_) {
    const auto [arrived, unique_left] = stream->progress();
    all.arrived += arrived;
    all.unique_left += unique_left;
  }
  const std::chrono::duration<double> elapsed = StateStream::Clock::now() - began_;
  return {.bytes = all.unique_left * kBytesOfElement,
          .bytes_per_second = static_cast<double>(all.arrived * kBytesOfElement) / elapsed.count()};
}

void StateStreams::stop() {
  for (const auto& stream : streams_) stream->stop();
}

bool StateStreams::is_over() const {
  return std::ranges::all_of(streams_, [](const auto& one) { return one->is_over(); });
}

}  // namespace sailor::trainer
