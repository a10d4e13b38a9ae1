#include "operator/kube/time.h"

#include <cstdio>

#include <fmt/format.h>

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

// ".25" is 250 ms; digits beyond the third are dropped.
milliseconds parse_fraction(std::string_view digits) {
  int value = 0;
  for (std::size_t i = 0; i < 3; ++i) value = value * 10 + (i < digits.size() ? digits[i] - '0' : 0);
  return milliseconds(value);
}

std::optional<minutes> parse_offset(std::string_view text) {
  if (text == "Z" || text == "z") return minutes(0);
  if (text.size() != 6 || (text[0] != '+' && text[0] != '-') || text[3] != ':') return std::nullopt;
  int hour = 0;
  int minute = 0;
  if (std::sscanf(std::string(text.substr(1)).c_str(), "%2d:%2d", &hour, &minute) != 2) return std::nullopt;
  const minutes offset = hours(hour) + minutes(minute);
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
  int year = 0;
  unsigned month = 0;
  unsigned day = 0;
  int hour = 0;
  int minute = 0;
  int second = 0;
  int used = 0;
  const std::string copy(text);
  if (std::sscanf(copy.c_str(), "%4d-%2u-%2uT%2d:%2d:%2d%n", &year, &month, &day, &hour, &minute, &second, &used) !=
      6) {
    return std::nullopt;
  }
  std::string_view rest = text.substr(static_cast<std::size_t>(used));
  milliseconds fraction{0};
  if (rest.starts_with('.')) {
    const std::size_t end = std::min(rest.find_first_not_of("0123456789", 1), rest.size());
    fraction = parse_fraction(rest.substr(1, end - 1));
    rest.remove_prefix(end);
  }
  const auto offset = parse_offset(rest);
  const std::chrono::year_month_day date{std::chrono::year(year), std::chrono::month(month), std::chrono::day(day)};
  if (!offset || !date.ok() || hour > 23 || minute > 59 || second > 60) return std::nullopt;
  return Time(std::chrono::sys_days(date)) + hours(hour) + minutes(minute) + seconds(second) + fraction - *offset;
}

double seconds_between(Time from, Time to) { return std::chrono::duration<double>(to - from).count(); }

}  // namespace sailor
