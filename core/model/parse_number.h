#pragma once

#include <charconv>
#include <optional>
#include <string_view>
#include <system_error>

namespace sailor {

// Returns the number that the whole text spells, in the notation of std::from_chars: decimal, with "-" before it if it
// is negative. Returns nothing for an empty text, for any other character (spaces and "+" included) and for a number
// that the type cannot hold.
template <class Number>
[[nodiscard]] std::optional<Number> parse_number(std::string_view text) {
  Number number{};
  const char* begin = text.data();
  const char* end = begin + text.size();
  const auto [stopped, error] = std::from_chars(begin, end, number);
  return error == std::errc() && stopped == end ? std::optional(number) : std::nullopt;
}

}  // namespace sailor
