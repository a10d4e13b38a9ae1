// A bar of the parts of a whole, with a legend.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "report/markup.h"

namespace sailor::report {

struct Share {
  std::string colour;  // a class of the style sheet
  std::string text;    // names the part and its size
  double part = 0;     // of the whole; a negative one counts as 0
};

// `name` is the text for screen readers. The parts may add up to less than 1.
Element share_bar(std::string_view name, const std::vector<Share>& shares);

}  // namespace sailor::report
