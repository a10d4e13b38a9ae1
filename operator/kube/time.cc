#include "operator/kube/time.h"

#include <algorithm>
#include <ctime>

#include <fmt/format.h>

#include "core/model/parse_number.h"

namespace sailor {
namespace {

using std::chrono::days;
using std::chrono::hours;
using std::chrono::milliseconds;
using std::chrono::minutes;
using std::chrono::seconds;

struct Civil {
  std::chrono::year_month_day date;
  std::chrono::hh_mm_ss<milliseconds> clock;
};

Civil civil(Time time) {
  const auto day = std::chrono::floor<days>(time);
  return {std::chrono::year_month_day(day), std::chrono::hh_mm_ss(time - day)};
}

std::string up_to_seconds(const Civil& at) {
  return fmt::format("{:04}-{:02}-{:02}T{:02}:{:02}:{:02}", static_cast<int>(at.date.year()),
                     static_cast<unsigned>(at.date.month()), static_cast<unsigned>(at.date.day()),
                     at.clock.hours().count(), at.clock.minutes().count(), at.clock.seconds().count());
}

// Parses the digits after the decimal point: "25" is 250 ms. Drops the digits after the third.
milliseconds parse_fraction(std::string_view digits) {
  int value = 0;
  for (std::size_t i = 0; i < 3; ++i) value = value * 10 + (i < digits.size() ? digits[i] - '0' : 0);
  return milliseconds(value);
}

std::optional<minutes> parse_offset(std::string_view text) {
  if (text == "Z" || text == "z") return minutes(0);
  if (text.size() != 6 || (text[0] != '+' && text[0] != '-') || text[3] != ':') return std::nullopt;
  const auto hour = parse_number<unsigned>(text.substr(1, 2));
  const auto minute = parse_number<unsigned>(text.substr(4, 2));
  if (!hour || !minute) return std::nullopt;
  const minutes offset = hours(*hour) + minutes(*minute);
  return text[0] == '-' ? -offset : offset;
}

}  // namespace

Time system_time() { return std::chrono::time_point_cast<milliseconds>(std::chrono::system_clock::now()); }

std::string to_rfc3339(Time time) { return up_to_seconds(civil(time)) + "Z"; }

std::string to_rfc3339_micro(Time time) {
  const Civil at = civil(time);
  return fmt::format("{}.{:03}000Z", up_to_seconds(at), at.clock.subseconds().count());
}

std::optional<Time> parse_rfc3339(std::string_view text) {
  constexpr std::string_view kPattern = "YYYY-MM-DDThh:mm:ss";
  if (text.size() < kPattern.size()) return std::nullopt;
  for (const std::size_t separator : {4UL, 7UL, 10UL, 13UL, 16UL}) {
    if (text[separator] != kPattern[separator]) return std::nullopt;
  }
  const auto year = parse_number<unsigned>(text.substr(0, 4));
  const auto month = parse_number<unsigned>(text.substr(5, 2));
  const auto day = parse_number<unsigned>(text.substr(8, 2));
  const auto hour = parse_number<unsigned>(text.substr(11, 2));
  const auto minute = parse_number<unsigned>(text.substr(14, 2));
  const auto second = parse_number<unsigned>(text.substr(17, 2));
  if (!year || !month || !day || !hour || !minute || !second) return std::nullopt;
  std::string_view rest = text.substr(kPattern.size());
  milliseconds fraction{0};
  if (rest.starts_with('.')) {
    const std::size_t end = std::min(rest.find_first_not_of("0123456789", 1), rest.size());
    fraction = parse_fraction(rest.substr(1, end - 1));
    rest.remove_prefix(end);
  }
  const auto offset = parse_offset(rest);
  const std::chrono::year_month_day date{std::chrono::year(static_cast<int>(*year)), std::chrono::month(*month),
                                         std::chrono::day(*day)};
  if (!offset || !date.ok() || *hour > 23 || *minute > 59 || *second > 60) return std::nullopt;
  return Time(std::chrono::sys_days(date)) + hours(*hour) + minutes(*minute) + seconds(*second) + fraction - *offset;
}

MonotonicTime monotonic_time() {
  return std::chrono::time_point_cast<std::chrono::milliseconds>(std::chrono::steady_clock::now());
}

MonotonicTime time_since_boot() {
  timespec time{};
  ::clock_gettime(CLOCK_BOOTTIME, &time);
  const auto passed = std::chrono::seconds(time.tv_sec) + std::chrono::nanoseconds(time.tv_nsec);
  return MonotonicTime(std::chrono::duration_cast<std::chrono::milliseconds>(passed));
}

Time later(Time time, double seconds) {
  constexpr double kThousandYears = 1000.0 * 366 * 24 * 3600;
  const double bounded = std::clamp(seconds, -kThousandYears, kThousandYears);
  return time + std::chrono::milliseconds(static_cast<std::int64_t>(bounded * 1000));
}

double seconds_between(Time from, Time to) { return std::chrono::duration<double>(to - from).count(); }

}  // namespace sailor
