// Time: a point in time with a resolution of 1 ms, and its text in Kubernetes objects (RFC 3339, UTC). Code that needs
// the present time takes a Clock, so tests can set it.
#pragma once

#include <chrono>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

namespace sailor {

using Time = std::chrono::sys_time<std::chrono::milliseconds>;
using Clock = std::function<Time()>;

Time system_time();  // the Clock outside of tests

// A point in time of a clock that never steps. It means nothing to another process.
using MonotonicTime = std::chrono::time_point<std::chrono::steady_clock, std::chrono::milliseconds>;
using MonotonicClock = std::function<MonotonicTime()>;

MonotonicTime monotonic_time();   // the MonotonicClock outside of tests
MonotonicTime time_since_boot();  // the same, but it goes on while the machine is suspended

std::string to_rfc3339(Time time);        // the text of a metav1.Time: whole seconds
std::string to_rfc3339_micro(Time time);  // the text of a metav1.MicroTime: six decimals
// Accepts any offset from UTC and any number of decimals, of which it keeps three. Returns nothing for invalid text.
std::optional<Time> parse_rfc3339(std::string_view text);

// Returns the time that many seconds after `time`. More than a thousand years count as a thousand years, so a user may
// write any number for "never".
Time later(Time time, double seconds);

// Returns `to` - `from` in seconds; negative if `to` is earlier.
double seconds_between(Time from, Time to);

}  // namespace sailor
