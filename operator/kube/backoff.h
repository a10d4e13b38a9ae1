// Backoff: the time to wait before the next try. It doubles with each failure, up to a limit, and has jitter.
#pragma once

#include <chrono>
#include <random>

namespace sailor::kube {

struct BackoffPolicy {
  std::chrono::milliseconds first;
  std::chrono::milliseconds limit;
  double jitter = 1.0;  // at most this fraction of the wait is added
};

// The wait between a watch that failed and the next one, as in client-go.
inline constexpr BackoffPolicy kWatchBackoff{std::chrono::milliseconds(800), std::chrono::seconds(30), 1.0};
// The wait between two attempts of one request.
inline constexpr BackoffPolicy kRequestBackoff{std::chrono::milliseconds(100), std::chrono::seconds(5), 0.5};

class Backoff {
 public:
  explicit Backoff(BackoffPolicy policy, unsigned seed = std::random_device{}()) : policy_(policy), random_(seed) {}

  std::chrono::milliseconds next() {
    auto base = policy_.first;
    for (int i = 0; i < failures_ && base < policy_.limit; ++i) base *= 2;
    ++failures_;
    base = std::min(base, policy_.limit);
    std::uniform_real_distribution<double> jitter(0, policy_.jitter);
    return base + std::chrono::milliseconds(static_cast<long>(static_cast<double>(base.count()) * jitter(random_)));
  }
  void reset() { failures_ = 0; }

 private:
  BackoffPolicy policy_;
  std::minstd_rand random_;
  int failures_ = 0;
};

}  // namespace sailor::kube
