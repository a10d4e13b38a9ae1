#include "report/numbers.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <string_view>
#include <utility>

#include <fmt/format.h>

namespace sailor::report {
namespace {

std::string with_separators(std::string digits) {
  const auto point = std::min(digits.find('.'), digits.size());
  const std::size_t first = digits.starts_with('-') ? 1 : 0;
  for (std::size_t at = point; at > first + 3; at -= 3) digits.insert(at - 3, 1, ',');
  return digits;
}

struct Unit {
  double size;
  std::string_view name;
};

// Formats the value in the largest unit of which it is at least 1. `units` must be in descending order.
template <std::size_t N>
std::string in_units(double value, const std::array<Unit, N>& units) {
  for (const Unit& unit : units) {
    if (value >= unit.size * 0.9995) return fmt::format("{} {}", significant(value / unit.size), unit.name);
  }
  return fmt::format("{} {}", significant(value / units.back().size), units.back().name);
}

}  // namespace

std::string counted(long count) { return with_separators(fmt::format("{}", count)); }

std::string counted(long count, const std::string& thing) {
  return fmt::format("{} {}{}", counted(count), thing, count == 1 ? "" : "s");
}

std::string significant(double value, int digits) {
  if (value == 0) return "0";
  const int magnitude = static_cast<int>(std::floor(std::log10(std::abs(value)) + 1e-12));
  std::string text = fmt::format("{:.{}f}", value, std::max(0, digits - 1 - magnitude));
  if (text.find('.') != std::string::npos) {
    text.erase(text.find_last_not_of('0') + 1);
    if (text.back() == '.') text.pop_back();
  }
  return with_separators(std::move(text));
}

std::string percent(double part) {
  const double value = 100 * part;
  if (value > 99 && value < 99.995) return significant(value, 4) + " %";  // 99.9 % must not become 100 %
  return std::abs(value) < 9.95 ? significant(value, 2) + " %" : fmt::format("{:.0f} %", value);
}

std::string memory_text(Bytes amount) {
  constexpr double kKib = 1024;
  constexpr std::array<Unit, 4> kUnits{{{kKib * kKib * kKib, "GiB"}, {kKib * kKib, "MiB"}, {kKib, "KiB"}, {1, "B"}}};
  return in_units(amount.value(), kUnits);
}

std::string traffic_text(Bytes amount) {
  constexpr std::array<Unit, 5> kUnits{{{1e12, "TB"}, {1e9, "GB"}, {1e6, "MB"}, {1e3, "kB"}, {1, "B"}}};
  return in_units(amount.value(), kUnits);
}

std::string duration(Seconds time) {
  constexpr std::array<Unit, 3> kLong{{{2 * 86400, "days"}, {2 * 3600, "h"}, {120, "min"}}};
  constexpr std::array<Unit, 3> kShort{{{1, "s"}, {1e-3, "ms"}, {1e-6, "µs"}}};
  const double value = time.value();
  constexpr double kRounding = 1e-8;  // that a difference of times leaves
  if (std::abs(value) < kRounding) return "0 s";
  for (const Unit& unit : kLong) {
    // A unit is used from two of it on, because "100 s" and "30 h" are clearer than "1.7 min" and "1.3 days".
    const double size = unit.size / 2;
    if (value >= unit.size) return fmt::format("{} {}", significant(value / size), unit.name);
  }
  return in_units(value, kShort);
}

std::string money(double dollars) {
  if (dollars == 0) return "$0";
  if (std::abs(dollars) >= 1) return fmt::format("${}", with_separators(fmt::format("{:.2f}", dollars)));
  return fmt::format("${}", significant(dollars));
}

}  // namespace sailor::report
