#include "trainer/agent/peer_watch.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "core/protocol/endpoints.h"
#include "trainer/agent/http_server.h"

namespace sailor::trainer {
namespace {

constexpr std::chrono::milliseconds kLongestAnswer{2'000};  // an agent that ends waits for the question under way
constexpr std::size_t kAskedAtOnce = 16;                    // so that the turn comes round soon, at little cost

}  // namespace

PeerWatch::PeerWatch(std::chrono::milliseconds timeout, std::function<void(const WatchedPeers::News&)> tell)
    : period_(Silence::period_of(timeout)), tell_(std::move(tell)), pulse_(period_, [this] { ask_some(); }) {}

void PeerWatch::watch(std::int64_t generation, const std::vector<AgentAddress>& peers) {
  const std::lock_guard lock(mutex_);
  peers_ = WatchedPeers(generation, peers, peers_);
  ++changes_;
}

// Each that answers, up to the first that does not.
void PeerWatch::ask_some() {
  std::unique_lock lock(mutex_);
  const int changes = changes_;
  bool is_answered = true;
  for (std::size_t left = std::min(peers_.size(), kAskedAtOnce); left > 0 && is_answered; --left) {
    const AgentAddress peer = peers_.whose_turn();
    lock.unlock();
    is_answered = gives_answer(peer);
    lock.lock();
    if (changes != changes_) return;  // others are watched by now
    const auto news = peers_.note(is_answered);
    if (!news) continue;
    lock.unlock();
    tell_(*news);
    lock.lock();
    if (changes != changes_) return;
  }
}

bool PeerWatch::gives_answer(const AgentAddress& peer) const {
  const std::string url = fmt::format("http://{}:{}{}", peer.host, peer.port, kHealthPath);
  return get_status(url, std::min(period_, kLongestAnswer)).has_value();
}

}  // namespace sailor::trainer
