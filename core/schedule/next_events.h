// NextEvents: the time of every worker's next event, and which worker comes first. A tournament tree of minima: an
// update compares one pair of times for each level that changes. A worker has one next event at most.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <limits>
#include <vector>

namespace sailor {

class NextEvents {
 public:
  static constexpr std::int64_t kNever = std::numeric_limits<std::int64_t>::max();

  explicit NextEvents(std::size_t workers) : leaves_(std::bit_ceil(workers)), times_(2 * leaves_, kNever) {}

  void set(std::size_t worker, std::int64_t at) {
    std::size_t node = leaves_ + worker;
    times_[node] = at;
    while (node > 1) {
      const std::int64_t earliest = std::min(times_[node], times_[node ^ 1]);
      node /= 2;
      if (times_[node] == earliest) return;
      times_[node] = earliest;
    }
  }

  [[nodiscard]] std::int64_t of(std::size_t worker) const { return times_[leaves_ + worker]; }
  [[nodiscard]] std::int64_t earliest() const { return times_[1]; }

  // The lowest index of the workers whose next event is at `earliest()`.
  [[nodiscard]] std::size_t first() const {
    std::size_t node = 1;
    while (node < leaves_) {
      node *= 2;
      if (times_[node] != times_[1]) ++node;
    }
    return node - leaves_;
  }

 private:
  std::size_t leaves_;
  std::vector<std::int64_t> times_;  // [1] is the root, the children of [i] are [2 i] and [2 i + 1]
};

}  // namespace sailor
