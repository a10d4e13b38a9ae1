#include "report/gantt_window.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "report/drawing.h"
#include "report/numbers.h"

namespace sailor::report {
namespace {

constexpr double kLeft = 232;  // the start of the window; labels are to the left of it
constexpr double kRight = kPictureWidth - 8;
constexpr double kTop = 24;  // the first row, below the axis
constexpr double kNarrowestPass = 2.5;
constexpr int kMaxTooltips = 3000;
constexpr int kMaxMessages = 250;
constexpr double kBin = 3;  // width of the intervals for shares of time

double seconds(Nanoseconds time) { return static_cast<double>(time.count()) * 1e-9; }

bool overlaps(const Window& window, Nanoseconds start, Nanoseconds end) {
  return start < window.to && end > window.from;
}

class Drawing {
 public:
  Drawing(const PlanView& view, const GanttRows& rows, const Window& window)
      : view_(view),
        rows_(rows),
        window_(window),
        time_(seconds(window.from), seconds(window.to), kLeft, kRight),
        row_height_(std::clamp(560.0 / static_cast<double>(rows.rows.size()), 14.0, 26.0)),
        svg_(picture(bottom() + 6, "Gantt chart of a step")) {}

  GanttPicture draw() {
    const bool has_single_passes = drawn_width(window_, mean_pass(view_, rows_)) >= kNarrowestPass;
    has_tooltips_ = has_single_passes && passes_seen() <= kMaxTooltips;
    draw_axis();
    for (std::size_t i = 0; i < rows_.rows.size(); ++i) draw_row(i, has_single_passes);
    if (has_tooltips_ && rows_.has_all_replicas) draw_messages();
    return {std::move(svg_), has_single_passes, has_tooltips_};
  }

 private:
  [[nodiscard]] double top_of(std::size_t row) const { return kTop + static_cast<double>(row) * row_height_; }
  [[nodiscard]] double bottom() const { return top_of(rows_.rows.size()); }
  [[nodiscard]] double x(Nanoseconds time) const { return time_.clamped(seconds(time)); }
  [[nodiscard]] const std::vector<TimedPass>& passes_of(const GanttRow& row) const {
    return view_.details.step.passes[row.stage][row.replica];
  }

  [[nodiscard]] int passes_seen() const {
    int seen = 0;
    for (const GanttRow& row : rows_.rows) {
      for (const TimedPass& pass : passes_of(row)) seen += overlaps(window_, pass.start, pass.end) ? 1 : 0;
    }
    return seen;
  }

  void draw_axis() {
    svg_.add(label({0, kTop - 10}, "stage · replicas x GPUs", "soft"));
    for (const double tick : time_.ticks(8)) {
      const double at = time_.at(tick);
      svg_.add(line({at, kTop - 6}, {at, bottom()}, "grid"));
      svg_.add(label({at, kTop - 10}, duration(Seconds(tick)), at > kRight - 20 ? "soft end" : "soft middle"));
    }
  }

  void draw_row(std::size_t index, bool has_single_passes) {
    const GanttRow& row = rows_.rows[index];
    const Box lane{kLeft, top_of(index) + 1, kRight - kLeft, row_height_ - 2};
    Element group("g");
    group.add(tooltip(row.tooltip));
    group.add(label({0, lane.y + lane.height / 2 + 4}, row.label));
    group.add(rectangle(lane, "lane"));
    if (has_tooltips_) {
      add_single_passes(row, lane, group);
    } else if (has_single_passes) {
      add_joined_passes(row, lane, group);
    } else {
      add_shares(row, lane, group);
    }
    const StepTiming& step = view_.details.step;
    add_span({step.passes_done[row.stage], step.synced[row.stage]}, lane, {"green", "gradient sync"}, group);
    add_span({step.synced[row.stage], step.updated[row.stage]}, lane, {"purple", "update"}, group);
    svg_.add(group);
  }

  void add_span(const Window& span, const Box& lane, const LegendEntry& what, Element& group) const {
    if (span.from >= span.to || !overlaps(window_, span.from, span.to)) return;
    Element bar = rectangle({x(span.from), lane.y, x(span.to) - x(span.from), lane.height}, what.colour);
    bar.add(tooltip(fmt::format("{}: {} to {}", what.meaning, duration(Seconds(seconds(span.from))),
                                duration(Seconds(seconds(span.to))))));
    group.add(bar);
  }

  void add_single_passes(const GanttRow& row, const Box& lane, Element& group) const {
    for (const TimedPass& pass : passes_of(row)) {
      if (!overlaps(window_, pass.start, pass.end)) continue;
      const bool is_forward = pass.kind == OperationKind::kForward;
      const std::string number = fmt::format("{}", pass.microbatch);
      add_span({pass.start, pass.end}, lane,
               {is_forward ? "blue cut" : "orange cut", (is_forward ? "forward of " : "backward of ") + number}, group);
      const double width = x(pass.end) - x(pass.start);
      if (width < 7.0 * static_cast<double>(number.size()) + 3) continue;
      group.add(label({(x(pass.start) + x(pass.end)) / 2, lane.y + lane.height / 2 + 3.5}, number,
                      is_forward ? "on middle" : "on-light middle"));
    }
  }

  // Draws all passes of a kind as one shape, so that many passes make a small page.
  void add_joined_passes(const GanttRow& row, const Box& lane, Element& group) const {
    std::string forward;
    std::string backward;
    for (const TimedPass& pass : passes_of(row)) {
      if (!overlaps(window_, pass.start, pass.end)) continue;
      (pass.kind == OperationKind::kForward ? forward : backward) +=
          fmt::format("M{} {}H{}V{}H{}Z", coordinate(x(pass.start)), coordinate(lane.y), coordinate(x(pass.end)),
                      coordinate(lane.y + lane.height), coordinate(x(pass.start)));
    }
    group.add(Element("path", {{"class", "blue cut"}, {"d", forward}}));
    group.add(Element("path", {{"class", "orange cut"}, {"d", backward}}));
  }

  // Draws areas whose height is the share of time spent on passes: one of all passes, and over it one of forward
  // passes.
  void add_shares(const GanttRow& row, const Box& lane, Element& group) const {
    const auto bins = static_cast<std::size_t>(lane.width / kBin);
    std::vector<double> all(bins);
    std::vector<double> forward(bins);
    for (const TimedPass& pass : passes_of(row)) {
      if (!overlaps(window_, pass.start, pass.end)) continue;
      const double from = (x(pass.start) - lane.x) / kBin;
      const double to = (x(pass.end) - lane.x) / kBin;
      for (auto bin = static_cast<std::size_t>(from); bin < bins && static_cast<double>(bin) < to; ++bin) {
        const auto left = static_cast<double>(bin);
        const double part = std::min(left + 1, to) - std::max(left, from);
        all[bin] += part;
        if (pass.kind == OperationKind::kForward) forward[bin] += part;
      }
    }
    group.add(Element("path", {{"class", "orange"}, {"d", area(all, lane)}}));
    group.add(Element("path", {{"class", "blue"}, {"d", area(forward, lane)}}));
  }

  static std::string area(const std::vector<double>& shares, const Box& lane) {
    const double base = lane.y + lane.height;
    std::string path = fmt::format("M{} {}", coordinate(lane.x), coordinate(base));
    for (std::size_t bin = 0; bin < shares.size(); ++bin) {
      const bool is_last_of_its_height = bin + 1 == shares.size() || shares[bin + 1] != shares[bin];
      if (bin == 0 || shares[bin] != shares[bin - 1]) {
        path += "V" + coordinate(base - std::min(1.0, shares[bin]) * lane.height);
      }
      if (is_last_of_its_height) path += "H" + coordinate(lane.x + kBin * static_cast<double>(bin + 1));
    }
    return path + fmt::format("V{}Z", coordinate(base));
  }

  void draw_messages() {
    std::vector<const TimedMessage*> seen;
    for (const TimedMessage& message : view_.details.step.messages) {
      if (message.start >= window_.from && message.end <= window_.to) seen.push_back(&message);
    }
    if (seen.size() > kMaxMessages) return;
    for (const TimedMessage* message : seen) svg_.add(arrow_of(*message));
  }

  [[nodiscard]] Element arrow_of(const TimedMessage& message) const {
    const auto above = static_cast<std::size_t>(message.boundary);
    const std::size_t from_stage = message.is_gradient ? above + 1 : above;
    const std::size_t to_stage = message.is_gradient ? above : above + 1;
    Element arrow = line({x(message.start), middle_of(from_stage, message.from)},
                         {x(message.end), middle_of(to_stage, message.to)}, "message");
    arrow.add(
        tooltip(fmt::format("{} of {}: {} to {}", message.is_gradient ? "gradient" : "activation", message.microbatch,
                            duration(Seconds(seconds(message.start))), duration(Seconds(seconds(message.end))))));
    return arrow;
  }

  [[nodiscard]] double middle_of(std::size_t stage, int replica) const {
    auto row = static_cast<std::size_t>(replica);
    for (std::size_t i = 0; i < stage; ++i) row += view_.plan.stages[i].replicas.size();
    return top_of(row) + row_height_ / 2;
  }

  const PlanView& view_;
  const GanttRows& rows_;
  Window window_;
  Scale time_;
  double row_height_;
  bool has_tooltips_ = false;  // each pass has a tooltip and the number of its microbatch
  Element svg_;
};

}  // namespace

double drawn_width(const Window& window, Nanoseconds length) {
  return (kRight - kLeft) * seconds(length) / seconds(window.to - window.from);
}

GanttPicture gantt_window(const PlanView& view, const GanttRows& rows, const Window& window) {
  return Drawing(view, rows, window).draw();
}

Nanoseconds mean_pass(const PlanView& view, const GanttRows& rows) {
  Nanoseconds sum{};
  long passes = 0;
  for (const GanttRow& row : rows.rows) {
    for (const TimedPass& pass : view.details.step.passes[row.stage][row.replica]) {
      sum += pass.end - pass.start;
      ++passes;
    }
  }
  return passes > 0 ? sum / passes : sum;
}

}  // namespace sailor::report
