#include "report/time_bar.h"

#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "report/numbers.h"
#include "report/share_bar.h"

namespace sailor::report {
namespace {

struct Part {
  const char* colour;
  const char* name;
  Seconds TimeBreakdown::*time;
};

constexpr std::array<Part, 5> kParts{{{"blue", "compute", &TimeBreakdown::compute},
                                      {"grey", "pipeline bubble", &TimeBreakdown::bubble},
                                      {"orange", "point to point", &TimeBreakdown::point_to_point},
                                      {"green", "gradient sync", &TimeBreakdown::gradient_sync},
                                      {"purple", "update", &TimeBreakdown::update}}};

}  // namespace

Element time_bar(const Estimate& estimate) {
  std::vector<Share> shares;
  for (const Part& part : kParts) {
    const Seconds time = estimate.time.*part.time;
    const double share = std::max(0.0, time / estimate.iteration);
    shares.push_back({part.colour, fmt::format("{} {} ({})", part.name, duration(time), percent(share)), share});
  }
  return share_bar("The parts of the time of an iteration", shares);
}

}  // namespace sailor::report
