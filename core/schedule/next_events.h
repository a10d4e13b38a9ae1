// NextEvents: the time of every worker's next event, and which worker comes first. A tournament tree of minima: an
// update compares one pair of events for each level that changes. A worker has one next event at most.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <limits>
#include <memory_resource>
#include <vector>

namespace sailor {

class NextEvents {
 public:
  static constexpr std::int64_t kNever = std::numeric_limits<std::int64_t>::max();

  explicit NextEvents(std::size_t workers, std::pmr::memory_resource* memory = std::pmr::get_default_resource())
      : leaves_(std::bit_ceil(workers)), index_bits_(std::countr_zero(leaves_)), events_(2 * leaves_, kNever, memory) {}

  void set(std::size_t worker, std::int64_t at) {
    std::size_t node = leaves_ + worker;
    events_[node] = at == kNever ? kNever : (at << index_bits_) | static_cast<std::int64_t>(worker);
    while (node > 1) {
      const std::int64_t earliest = std::min(events_[node], events_[node ^ 1]);
      node /= 2;
      if (events_[node] == earliest) return;
      events_[node] = earliest;
    }
  }

  [[nodiscard]] std::int64_t of(std::size_t worker) const { return time_of(events_[leaves_ + worker]); }
  [[nodiscard]] std::int64_t earliest() const { return time_of(events_[1]); }

  // The lowest index of the workers whose next event is at `earliest()`, which must not be kNever.
  [[nodiscard]] std::size_t first() const { return static_cast<std::size_t>(events_[1]) & (leaves_ - 1); }

 private:
  [[nodiscard]] std::int64_t time_of(std::int64_t event) const {
    return event == kNever ? kNever : event >> index_bits_;
  }

  std::size_t leaves_;
  int index_bits_;
  // [1] is the root, the children of [i] are [2 i] and [2 i + 1]. An event is its time and, in the lowest bits, its
  // worker, so that one comparison orders events. Times may therefore reach 2^63 ns, which is 292 years, divided by the
  // number of workers.
  std::pmr::vector<std::int64_t> events_;
};

}  // namespace sailor
