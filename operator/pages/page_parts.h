// What the pages of the operator have in common.
#pragma once

#include <optional>
#include <string>

#include "operator/kube/time.h"
#include "report/markup.h"

namespace sailor {

inline constexpr const char* kNothing = "–";

template <class T, class Text>
std::string text_or_nothing(const std::optional<T>& value, Text text) {
  return value ? std::string(text(*value)) : kNothing;
}

report::Element heading(const std::string& text);

// A page around `content`, with its title and the time of what it shows.
std::string operator_page(const std::string& title, const report::Element& content, Time now);

}  // namespace sailor
