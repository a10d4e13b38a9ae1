#include "report/pareto_chart.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "report/drawing.h"
#include "report/numbers.h"

namespace sailor::report {
namespace {

constexpr double kLeft = 70;
constexpr double kRight = kPictureWidth - 20;
constexpr double kTop = 30;
constexpr double kBottom = 360;
constexpr double kHeight = 400;
// A bound beyond this multiple of the fastest plan is not drawn, because the plans would be drawn too close together.
constexpr double kFarBound = 3;
constexpr double kHighestCost = 1.12;  // the end of the axis, as a multiple of the dearest plan

class Chart {
 public:
  Chart(const JobSpec& job, const std::vector<ComparedPlan>& plans, double bound)
      : job_(job),
        plans_(plans),
        bound_(bound),
        x_(0, max_throughput() * 1.08, kLeft, kRight),
        y_(0, max_cost() * kHighestCost, kBottom, kTop),
        svg_(picture(kHeight, "Plans by throughput and cost per iteration")) {}

  Element draw() {
    draw_axes();
    draw_limits();
    draw_bound();
    for (std::size_t i = 0; i < plans_.size(); ++i) draw_plan(i);
    for (const bool is_chosen : {true, false}) {  // the chosen plan's label gets space first
      for (std::size_t i = 0; i < plans_.size(); ++i) {
        if (plans_[i].is_chosen == is_chosen) draw_label(i);
      }
    }
    return std::move(svg_);
  }

 private:
  [[nodiscard]] double max_throughput() const {
    double max = 0;
    for (const ComparedPlan& plan : plans_) max = std::max(max, plan.estimate.throughput());
    return is_bound_drawn(max) ? std::max(max, bound_) : max;
  }
  [[nodiscard]] bool is_bound_drawn(double max) const { return bound_ > 0 && bound_ < kFarBound * max; }
  [[nodiscard]] double max_cost() const {
    double max = 0;
    for (const ComparedPlan& plan : plans_) max = std::max(max, plan.estimate.cost_per_iteration().value());
    return max > 0 ? max : 1;
  }

  void draw_axes() {
    for (const double tick : x_.ticks(8)) {
      svg_.add(line({x_.at(tick), kTop}, {x_.at(tick), kBottom}, "grid"));
      svg_.add(label({x_.at(tick), kBottom + 16}, significant(tick), "soft middle"));
    }
    for (const double tick : y_.ticks(6)) {
      svg_.add(line({kLeft, y_.at(tick)}, {kRight, y_.at(tick)}, "grid"));
      svg_.add(label({kLeft - 6, y_.at(tick) + 4}, money(tick), "soft end"));
    }
    svg_.add(label({kRight, kBottom + 34}, "iterations per second", "soft end"));
    svg_.add(label({0, kTop - 14}, "cost per iteration", "soft"));
  }

  void draw_limits() {
    if (const auto* most = std::get_if<MaximizeThroughput>(&job_.objective)) {
      if (most->max_cost_per_iteration) draw_cost_limit(most->max_cost_per_iteration->value());
      if (most->max_cost_per_hour) draw_hourly_limit(most->max_cost_per_hour->value());
    } else if (const auto& least = std::get<MinimizeCost>(job_.objective).min_throughput) {
      draw_vertical_line(*least, "minimum throughput", "limit dashed");
    }
  }

  void draw_cost_limit(double dollars) {
    const std::string limit = "limit: " + money(dollars) + " per iteration";
    if (dollars > kHighestCost * max_cost()) {
      svg_.add(label({kLeft + 6, kTop + 12}, limit + ", above this chart", "outlined"));
      return;
    }
    const double at = y_.at(dollars);
    const bool is_near_top = at < kTop + 16;  // the name of the axis is above
    svg_.add(line({kLeft, at}, {kRight, at}, "limit dashed"));
    svg_.add(label({kLeft + 6, at + (is_near_top ? 14 : -5)}, limit, "outlined"));
  }

  // A limit per hour is a hyperbola: the faster a plan is, the less one iteration may cost.
  void draw_hourly_limit(double dollars) {
    constexpr int kPoints = 60;
    std::string path;
    for (int i = 1; i <= kPoints; ++i) {
      const double at = kLeft + (kRight - kLeft) * i / kPoints;
      const double throughput = max_throughput() * 1.08 * i / kPoints;
      path += fmt::format("{}{} {}", i == 1 ? "M" : "L", coordinate(at),
                          coordinate(y_.clamped(dollars / 3600 / throughput)));
    }
    svg_.add(Element("path", {{"class", "limit dashed open"}, {"d", path}})
                 .add(tooltip("limit: " + money(dollars) + " per hour")));
    svg_.add(label({kLeft + 6, kTop + 12}, "limit: " + money(dollars) + " per hour", "outlined"));
  }

  void draw_bound() {
    if (!is_bound_drawn(max_throughput())) return;
    draw_vertical_line(bound_, "bound: no plan can be faster than " + significant(bound_), "limit");
  }

  void draw_vertical_line(double throughput, const std::string& meaning, std::string_view classes) {
    const double at = x_.clamped(throughput);
    svg_.add(line({at, kTop}, {at, kBottom}, classes));
    const bool is_right_half = at > kPictureWidth / 2;
    svg_.add(
        label({at + (is_right_half ? -6 : 6), kBottom - 10}, meaning, is_right_half ? "outlined end" : "outlined"));
  }

  [[nodiscard]] Point place_of(const ComparedPlan& plan) const {
    return {x_.at(plan.estimate.throughput()), y_.at(plan.estimate.cost_per_iteration().value())};
  }

  void draw_plan(std::size_t index) {
    const ComparedPlan& plan = plans_[index];
    const Point at = place_of(plan);
    Element group("g");
    group.add(tooltip(
        fmt::format("{}: {} iterations/s, {} per iteration, {}", index + 1, significant(plan.estimate.throughput()),
                    money(plan.estimate.cost_per_iteration().value()), counted(gpu_count(plan.plan), "GPU"))));
    if (plan.is_chosen) group.add(Element("circle", {{"class", "halo"}, {"cx", at.x}, {"cy", at.y}, {"r", 11.0}}));
    group.add(
        Element("circle", {{"class", plan.is_chosen ? "green" : "blue"}, {"cx", at.x}, {"cy", at.y}, {"r", 6.0}}));
    svg_.add(group);
  }

  // Draws the plan's number above, below or beside it where no other label or plan is. If there is no space, the number
  // is only in the tooltip and the table.
  void draw_label(std::size_t index) {
    const Point plan = place_of(plans_[index]);
    for (const Point& offset : {Point{0, -14}, Point{0, 26}, Point{-20, 4}, Point{20, 4}}) {
      const Point at{plan.x + offset.x, plan.y + offset.y};
      if (!is_free(at, index)) continue;
      taken_.push_back(at);
      svg_.add(plans_[index].is_chosen ? label(at, fmt::format("{} chosen", index + 1), "strong outlined middle")
                                       : label(at, fmt::format("{}", index + 1), "outlined middle"));
      return;
    }
  }

  [[nodiscard]] bool is_free(const Point& at, std::size_t own) const {
    const auto is_near = [&](const Point& other) {
      return std::abs(other.x - at.x) < 20 && std::abs(other.y - at.y) < 12;
    };
    if (std::ranges::any_of(taken_, is_near)) return false;
    for (std::size_t i = 0; i < plans_.size(); ++i) {
      const Point plan = place_of(plans_[i]);
      if (i != own && is_near({plan.x, plan.y + 4})) return false;
    }
    return true;
  }

  const JobSpec& job_;
  const std::vector<ComparedPlan>& plans_;
  double bound_;
  Scale x_;
  Scale y_;
  Element svg_;
  std::vector<Point> taken_;  // positions of labels
};

}  // namespace

Element pareto_chart(const JobSpec& job, const std::vector<ComparedPlan>& plans, double bound_throughput) {
  return Chart(job, plans, bound_throughput).draw();
}

}  // namespace sailor::report
