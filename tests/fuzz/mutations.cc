#include "tests/fuzz/mutations.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <limits>
#include <string_view>
#include <vector>

namespace sailor::testing {
namespace {

using nlohmann::json;

std::size_t below(std::size_t limit, Random& random) {
  return std::uniform_int_distribution<std::size_t>(0, limit - 1)(random);
}

// The value, and all values in it.
void collect(json& value, std::vector<json*>& found) {
  found.push_back(&value);
  if (!value.is_structured()) return;
  for (json& inner : value) collect(inner, found);
}

json& any_value_of(json& document, Random& random) {
  std::vector<json*> found;
  collect(document, found);
  return *found[below(found.size(), random)];
}

// Values at the limits of the types that fields have, and values of other types.
const json& strange_value(Random& random) {
  static const std::vector<json> values = {nullptr,
                                           true,
                                           0,
                                           -1,
                                           1,
                                           2,
                                           1025,
                                           0.5,
                                           -0.0,
                                           1e308,
                                           5e-324,
                                           std::numeric_limits<std::int64_t>::max(),
                                           std::numeric_limits<std::int64_t>::min(),
                                           std::numeric_limits<std::uint64_t>::max(),
                                           std::numeric_limits<int>::max(),
                                           std::int64_t{1} << 53U,
                                           "",
                                           "0",
                                           "-1",
                                           "1e999",
                                           "nan",
                                           "0x10",
                                           "9223372036854775808",
                                           "1Ei",
                                           "..",
                                           "a/b/c",
                                           "2026-02-31T25:61:61Z",
                                           "9999-12-31T23:59:59Z",
                                           std::string(300, 'x'),
                                           std::string("a\0b", 3),
                                           json::array(),
                                           json::object(),
                                           json::array({nullptr, nullptr}),
                                           json::object({{"", ""}})};
  return values[below(values.size(), random)];
}

void change_array(json& array, Random& random) {
  const auto at = static_cast<std::ptrdiff_t>(below(array.size(), random));
  if (below(2, random) == 0) {
    array.erase(array.begin() + at);
  } else {
    const json repeated = array[static_cast<std::size_t>(at)];
    array.insert(array.begin() + at, 1 + below(3, random), repeated);
  }
}

void change_object(json& object, Random& random) {
  auto at = object.begin();
  std::advance(at, static_cast<std::ptrdiff_t>(below(object.size(), random)));
  if (below(2, random) == 0) {
    object.erase(at);
  } else {
    json moved = at.value();
    object[at.key() + (below(2, random) == 0 ? "x" : "")] = strange_value(random);
    any_value_of(object, random) = std::move(moved);
  }
}

}  // namespace

json mutated(json document, Random& random) {
  json& value = any_value_of(document, random);
  switch (below(4, random)) {
    case 0:
      if (value.is_array() && !value.empty()) return change_array(value, random), document;
      if (value.is_object() && !value.empty()) return change_object(value, random), document;
      [[fallthrough]];
    case 1: {
      json other = any_value_of(document, random);
      value = std::move(other);
      break;
    }
    default:
      value = strange_value(random);
  }
  return document;
}

std::string mutated(std::string text, Random& random) {
  static constexpr std::array<std::string_view, 14> kWords = {
      "{", "}", "[", "]", "\"", ",", ":", "\n", "\\u0000", "\xff", "1e999", "null", "&a [*a]", "- -"};
  const std::size_t at = below(text.size() + 1, random);
  const std::size_t length = std::min(text.size() - at, 1 + below(16, random));
  switch (below(4, random)) {
    case 0:
      return text.erase(at, length);
    case 1:
      return text.insert(at, text.substr(at, length));
    case 2:
      if (at < text.size()) text[at] = static_cast<char>(below(256, random));
      return text;
    default:
      return text.insert(at, kWords[below(kWords.size(), random)]);
  }
}

}  // namespace sailor::testing
