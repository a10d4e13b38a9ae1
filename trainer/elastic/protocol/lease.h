// Lease: the time until which a generation may apply updates. Only a generation whose workers all run in one pod needs
// a lease (core/protocol/lease.h): if this pod is cut off, nothing else stops it from training beside a newer
// generation.
#pragma once

#include <chrono>
#include <cstdint>
#include <ctime>

namespace sailor::trainer {

// A clock that is the same in all processes of a machine and continues while the machine sleeps.
struct BootClock {
  using duration = std::chrono::nanoseconds;
  using rep = duration::rep;
  using period = duration::period;
  using time_point = std::chrono::time_point<BootClock>;
  static constexpr bool is_steady = true;  // NOLINT(readability-identifier-naming): the standard's name
  static time_point now() {
    timespec time{};
    clock_gettime(CLOCK_BOOTTIME, &time);
    return time_point(std::chrono::seconds(time.tv_sec) + std::chrono::nanoseconds(time.tv_nsec));
  }
};

struct Lease {
  std::int64_t generation = 0;
  BootClock::time_point until;
  friend bool operator==(const Lease&, const Lease&) = default;
};

// Returns the lease that starts at the time of the request, because the answer may have been delayed.
inline Lease granted(std::int64_t generation, BootClock::time_point asked, std::chrono::seconds length) {
  return {generation, asked + length};
}

// Returns true if the lease belongs to this generation and has not expired.
inline bool is_valid(const Lease& lease, std::int64_t generation, BootClock::time_point now) {
  return lease.generation == generation && now < lease.until;
}

}  // namespace sailor::trainer
