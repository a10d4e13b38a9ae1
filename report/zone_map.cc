#include "report/zone_map.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <numbers>
#include <ranges>
#include <set>

#include <fmt/format.h>

#include "report/drawing.h"
#include "report/numbers.h"

namespace sailor::report {
namespace {

constexpr std::size_t kMaxZones = 24;  // with more zones the map shows regions
constexpr std::size_t kMaxLabels = 12;
constexpr double kHeight = 560;
constexpr Point kCentre{kPictureWidth / 2, kHeight / 2};
constexpr double kRadiusX = 310;  // radii of the ellipse on which places are drawn
constexpr double kRadiusY = 190;
constexpr double kLineHeight = 15;

struct Place {
  std::string name;
  int gpus = 0;
  Bytes inside;  // sent between its own nodes
};

// The traffic between two places, in both directions.
struct ZoneLink {
  std::size_t from = 0;
  std::size_t to = 0;
  Bytes there;
  Bytes back;
  Dollars cost;

  [[nodiscard]] Bytes bytes() const { return there + back; }
};

class ZoneMap {
 public:
  explicit ZoneMap(const PlanView& view) {
    std::set<Zone> zones;
    for (const PoolCharge& charge : view.details.charges) zones.insert(charge.pool.zone);
    is_by_region_ = zones.size() > kMaxZones;
    for (const PoolCharge& charge : view.details.charges) place(charge.pool.zone).gpus += charge.used;
    for (const ZoneTraffic& traffic : view.details.traffic) add(traffic);
    std::ranges::stable_sort(links_, std::greater<>(), &ZoneLink::bytes);
  }

  [[nodiscard]] Element draw() const {
    Element svg = picture(places_.size() > 2 ? kHeight : kHeight / 2, "Map of zones and traffic");
    for (const ZoneLink& link : std::views::reverse(links_)) svg.add(drawn(link));
    for (std::size_t i = 0; i < places_.size(); ++i) svg.add(drawn(i));
    for (std::size_t i = 0; i < std::min(links_.size(), kMaxLabels); ++i) svg.add(label_of(links_[i]));
    return svg;
  }

  [[nodiscard]] std::string caption() const {
    std::string text = is_by_region_ ? "There are too many zones to draw, so the map shows their regions. " : "";
    text += "Traffic per iteration; wider lines carry more.";
    if (links_.size() > kMaxLabels) {
      text +=
          fmt::format(" The {} busiest of {} links are labelled; all links have tooltips.", kMaxLabels, links_.size());
    }
    return text;
  }

 private:
  [[nodiscard]] std::string name_of(const Zone& zone) const {
    return is_by_region_ ? region_of(zone).str() : zone.str();
  }

  std::size_t index_of(const Zone& zone) {
    const std::string name = name_of(zone);
    const auto found = std::ranges::find(places_, name, &Place::name);
    if (found != places_.end()) return static_cast<std::size_t>(found - places_.begin());
    places_.push_back({name, 0, {}});
    return places_.size() - 1;
  }
  Place& place(const Zone& zone) { return places_[index_of(zone)]; }

  void add(const ZoneTraffic& traffic) {
    const std::size_t from = index_of(traffic.from);
    const std::size_t to = index_of(traffic.to);
    if (from == to) {
      places_[from].inside += traffic.bytes();
      return;
    }
    const auto found = std::ranges::find_if(
        links_, [&](const ZoneLink& link) { return std::minmax(link.from, link.to) == std::minmax(from, to); });
    if (found == links_.end()) {
      links_.push_back({from, to, traffic.bytes(), {}, traffic.cost});
      return;
    }
    (found->from == from ? found->there : found->back) += traffic.bytes();
    found->cost += traffic.cost;
  }

  [[nodiscard]] Point at(std::size_t index) const {
    const auto count = static_cast<double>(places_.size());
    if (places_.size() <= 2)
      return {kPictureWidth * (2 * static_cast<double>(index) + 1) / (2 * count), kHeight / 4 - 24};
    const double angle = 2 * std::numbers::pi * static_cast<double>(index) / count - std::numbers::pi / 2;
    return {kCentre.x + kRadiusX * std::cos(angle), kCentre.y + kRadiusY * std::sin(angle)};
  }

  [[nodiscard]] double radius(std::size_t index) const {
    int most = 1;
    for (const Place& each : places_) most = std::max(most, each.gpus);
    return 10 + 22 * std::sqrt(static_cast<double>(places_[index].gpus) / most);
  }

  // Places the text of a place at the left or right side of the map beside it, and the text of other places above or
  // below them, away from the lines, which run inwards.
  [[nodiscard]] Element drawn(std::size_t index) const {
    const Point centre = at(index);
    const double size = radius(index);
    const double side = places_.size() > 2 ? (centre.x - kCentre.x) / kRadiusX : 0;
    const bool is_above = places_.size() > 2 && centre.y < kCentre.y;
    Element group("g");
    group.add(Element("circle", {{"class", "zone"}, {"cx", centre.x}, {"cy", centre.y}, {"r", size}}));
    if (std::abs(side) > 0.3) {
      add_text(index, {centre.x + std::copysign(size + 8, side), centre.y - 10}, side > 0 ? "" : " end", group);
    } else {
      add_text(index, {centre.x, is_above ? centre.y - size - 8 - 2 * kLineHeight : centre.y + size + 16}, " middle",
               group);
    }
    return group;
  }

  void add_text(std::size_t index, Point first, const std::string& anchor, Element& group) const {
    const Place& each = places_[index];
    group.add(label(first, each.name, "strong outlined" + anchor));
    group.add(label({first.x, first.y + kLineHeight}, counted(each.gpus, "GPU"), "outlined" + anchor));
    group.add(
        label({first.x, first.y + 2 * kLineHeight}, "within " + traffic_text(each.inside), "soft outlined" + anchor));
  }

  [[nodiscard]] Element drawn(const ZoneLink& link) const {
    const Point from = at(link.from);
    const Point to = at(link.to);
    Element path("line", {{"class", link.cost > Dollars(0) ? "paid-link" : "free-link"},
                          {"x1", from.x},
                          {"y1", from.y},
                          {"x2", to.x},
                          {"y2", to.y},
                          {"stroke-width", 1.5 + 9 * std::sqrt(link.bytes() / links_.front().bytes())}});
    return std::move(path).add(
        tooltip(fmt::format("{} to {}: {}; back: {}; {} per iteration", places_[link.from].name, places_[link.to].name,
                            traffic_text(link.there), traffic_text(link.back), money(link.cost.value()))));
  }

  [[nodiscard]] Element label_of(const ZoneLink& link) const {
    const Point from = at(link.from);
    const Point to = at(link.to);
    const std::string cost = link.cost > Dollars(0) ? " · " + money(link.cost.value()) : "";
    return label({(from.x + to.x) / 2, (from.y + to.y) / 2 - 4}, traffic_text(link.bytes()) + cost, "outlined middle");
  }

  bool is_by_region_ = false;
  std::vector<Place> places_;
  std::vector<ZoneLink> links_;  // the link with the most bytes first
};

}  // namespace

Element zone_map(const PlanView& view) {
  const ZoneMap map(view);
  Element section("section");
  section.add(legend({{"orange", "paid link"}, {"sky", "free link"}}));
  section.add(figure(map.caption(), map.draw()));
  return section;
}

}  // namespace sailor::report
