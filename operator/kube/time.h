// Points in time as Kubernetes writes them (RFC 3339), and a clock that tests can set.
#pragma once

#include <chrono>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

namespace sailor {

using Time = std::chrono::sys_time<std::chrono::milliseconds>;
using Clock = std::function<Time()>;

Time system_time();

std::string to_rfc3339(Time time);        // whole seconds: metav1.Time
std::string to_rfc3339_micro(Time time);  // with six decimals: metav1.MicroTime
std::optional<Time> parse_rfc3339(std::string_view text);

double seconds_between(Time from, Time to);

}  // namespace sailor
