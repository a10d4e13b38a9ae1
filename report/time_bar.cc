#include "report/time_bar.h"

#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "report/drawing.h"
#include "report/numbers.h"

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
  Element svg = picture(30, "The parts of the time of an iteration", Narrow::kShrinks);
  const Scale scale(0, 1, 0, kPictureWidth);
  std::vector<LegendEntry> entries;
  double from = 0;
  for (const Part& part : kParts) {
    const Seconds time = estimate.time.*part.time;
    const double share = std::max(0.0, time / estimate.iteration);
    const std::string text = fmt::format("{} {} ({})", part.name, duration(time), percent(share));
    svg.add(rectangle({from, 0, scale.at(share), 28}, std::string(part.colour) + " cut").add(tooltip(text)));
    from += scale.at(share);
    entries.push_back({part.colour, text});
  }
  Element section("section");
  section.add(figure("", svg)).add(legend(entries));
  return section;
}

}  // namespace sailor::report
