#include "trainer/agent/peer_watch.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "trainer/agent/http_server.h"

namespace sailor::trainer {
namespace {

constexpr std::chrono::milliseconds kLongestAnswer{2'000};  // an agent that ends waits for the question under way

}  // namespace

PeerWatch::PeerWatch(std::chrono::milliseconds timeout, std::function<void(const News&)> tell)
    : period_(Silence::period_of(timeout)), tell_(std::move(tell)), pulse_(period_, [this] { ask(); }) {}

void PeerWatch::watch(std::int64_t generation, std::optional<AgentAddress> peer) {
  const std::lock_guard lock(mutex_);
  generation_ = generation;
  peer_ = std::move(peer);
  silence_ = {};
}

void PeerWatch::ask() {
  std::unique_lock lock(mutex_);
  if (!peer_) return;
  const std::int64_t generation = generation_;
  const AgentAddress peer = *peer_;
  lock.unlock();
  const std::string url = fmt::format("http://{}:{}/healthz", peer.host, peer.port);
  const Result<int> status = get_status(url, std::min(period_, kLongestAnswer));
  lock.lock();
  if (generation != generation_) return;  // another is watched by now
  const bool was_silent = silence_.is_over_limit();
  silence_.note(status.has_value());
  const bool is_silent = silence_.is_over_limit();
  lock.unlock();
  if (is_silent != was_silent) tell_({generation, peer.name, is_silent});
}

}  // namespace sailor::trainer
