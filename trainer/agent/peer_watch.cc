#include "trainer/agent/peer_watch.h"

#include <algorithm>
#include <utility>

#include "core/net/http_client.h"
#include "core/protocol/endpoints.h"

namespace sailor::trainer {
namespace {

constexpr std::chrono::milliseconds kLongestProbe{2'000};  // an agent that ends waits for the current probe
constexpr std::size_t kProbesAtOnce = 16;                  // enough that each pod is probed soon, at little cost

}  // namespace

PeerWatch::PeerWatch(std::chrono::milliseconds timeout, AgentCredentials* credentials,
                     std::function<void(const WatchedPeers::News&)> tell)
    : period_(MissedProbes::period_of(timeout)),
      credentials_(credentials),
      tell_(std::move(tell)),
      probing_(period_, [this] { probe_some(); }) {}

void PeerWatch::watch(std::int64_t generation, const std::vector<AgentAddress>& peers) {
  const std::lock_guard lock(mutex_);
  peers_ = WatchedPeers(generation, peers, peers_);
  ++changes_;
}

// Probes the next pods in turn, at most kProbesAtOnce of them, and stops at the first pod that does not answer.
void PeerWatch::probe_some() {
  std::unique_lock lock(mutex_);
  const int changes = changes_;
  bool is_answered = true;
  for (std::size_t left = std::min(peers_.size(), kProbesAtOnce); left > 0 && is_answered; --left) {
    const AgentAddress peer = peers_.next_to_probe();
    lock.unlock();
    is_answered = answers(peer);
    lock.lock();
    if (changes != changes_) return;  // watch() has been called meanwhile
    const auto news = peers_.note(is_answered);
    if (!news) continue;
    lock.unlock();
    tell_(*news);
    lock.lock();
    if (changes != changes_) return;
  }
}

bool PeerWatch::answers(const AgentAddress& peer) const {
  // A new connection each time, because the question is whether one can be made.
  net::HttpClientSettings settings{.timeout = std::min(period_, kLongestProbe)};
  if (credentials_ != nullptr) settings.tls = credentials_->client_of_peer();
  const auto url = credentials_ == nullptr ? net::http_url : net::https_url;
  const net::HttpClient client(url(peer.host, peer.port), std::move(settings));
  return client.send({.target = std::string(kHealthPath)}).has_value();
}

}  // namespace sailor::trainer
