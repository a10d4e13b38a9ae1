#include "report/share_bar.h"

#include <algorithm>

#include "report/drawing.h"

namespace sailor::report {

Element share_bar(std::string_view name, const std::vector<Share>& shares) {
  Element svg = picture(30, name, Narrow::kShrinks);
  const Scale scale(0, 1, 0, kPictureWidth);
  std::vector<LegendEntry> entries;
  double from = 0;
  for (const Share& share : shares) {
    const double width = scale.at(std::max(0.0, share.part));
    svg.add(rectangle({from, 0, width, 28}, share.colour + " cut").add(tooltip(share.text)));
    from += width;
    entries.push_back({share.colour, share.text});
  }
  Element section("section");
  section.add(figure("", svg)).add(legend(entries));
  return section;
}

}  // namespace sailor::report
