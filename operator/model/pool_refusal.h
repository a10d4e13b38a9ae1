// PoolRefusal: a pool from which no node came when a job asked for one. The record of that job keeps it; as long as it
// holds, no job asks for nodes of the pool.
#pragma once

#include <algorithm>
#include <chrono>
#include <string>
#include <vector>

#include "core/model/ids.h"
#include "operator/kube/time.h"

namespace sailor {

// An autoscaler leaves a pool alone for about as long after a failure.
inline constexpr std::chrono::seconds kFirstPauseOfPool = std::chrono::minutes(5);
inline constexpr std::chrono::seconds kLongestPauseOfPool = std::chrono::hours(1);

struct PoolRefusal {
  PoolKey pool;
  Time since;
  Time until;           // no job asks for a node of the pool before this time
  std::string message;  // why no node came: words of the autoscaler, or a sentence without a full stop
  friend bool operator==(const PoolRefusal&, const PoolRefusal&) = default;

  [[nodiscard]] std::chrono::seconds pause() const { return std::chrono::ceil<std::chrono::seconds>(until - since); }
  [[nodiscard]] bool holds(Time now) const { return now < until; }
  // A pool that refuses again within the same time after the pause is asked later each time.
  [[nodiscard]] bool is_remembered(Time now) const { return now < until + pause(); }
};

// Returns the refusal by a pool of which these are the earlier ones.
inline PoolRefusal next_refusal(const std::vector<PoolRefusal>& earlier, const PoolKey& pool, Time now,
                                std::string message) {
  const auto known = std::ranges::find(earlier, pool, &PoolRefusal::pool);
  const bool is_repeated = known != earlier.end() && known->is_remembered(now);
  const auto pause = is_repeated ? std::min(2 * known->pause(), kLongestPauseOfPool) : kFirstPauseOfPool;
  return {pool, now, now + pause, std::move(message)};
}

}  // namespace sailor
