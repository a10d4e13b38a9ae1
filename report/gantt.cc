#include "report/gantt.h"

#include <algorithm>

#include <fmt/format.h>

#include "report/drawing.h"
#include "report/gantt_window.h"
#include "report/numbers.h"

namespace sailor::report {
namespace {

constexpr double kLegiblePass = 9;  // width in SVG coordinates

Seconds in_seconds(Nanoseconds time) { return Seconds(static_cast<double>(time.count()) * 1e-9); }

// The start of the last stage's first backward pass, when the pipeline is full.
Nanoseconds filled_at(const StepTiming& step) {
  Nanoseconds earliest = step.passes_end();
  for (const auto& passes : step.passes.back()) {
    for (const TimedPass& pass : passes) {
      if (pass.kind == OperationKind::kBackward) earliest = std::min(earliest, pass.start);
    }
  }
  return earliest;
}

// The length of a close-up: long enough to show how the pipeline fills, and at least 24 passes.
Nanoseconds close_up(const PlanView& view, const GanttRows& rows) {
  const auto fill = filled_at(view.details.step) * 13 / 10;
  return std::max(fill, mean_pass(view, rows) * 24);
}

std::string how_drawn(const GanttPicture& drawn) {
  if (drawn.has_numbers) return "The numbers are microbatches.";
  if (drawn.has_single_passes) return "";
  return "Single passes are too short to be visible. The height of a colour is the share of time that the replica "
         "spends "
         "on these passes.";
}

std::string what_is_drawn(const PlanView& view) {
  const int drawn = view.details.step_microbatches;
  if (drawn == view.plan.microbatches()) return "The whole step";
  return fmt::format("A step of {} microbatches; the job's step has {}, divided in the same way", counted(drawn),
                     counted(view.plan.microbatches()));
}

}  // namespace

Element gantt(const PlanView& view) {
  const GanttRows rows = gantt_rows(view);
  const StepTiming& step = view.details.step;
  const Window whole{Nanoseconds(0), std::max(step.end(), Nanoseconds(1))};
  Element section("section");
  section.add(legend({{"blue", "forward pass"},
                      {"orange", "backward pass"},
                      {"green", "gradient sync between replicas"},
                      {"purple", "optimizer update"},
                      {"lane", "idle"}}));
  const GanttPicture drawn = gantt_window(view, rows, whole);
  section.add(figure(
      fmt::format("{}, {}. {} {}", what_is_drawn(view), duration(in_seconds(whole.to)), rows.note, how_drawn(drawn)),
      drawn.svg));
  const Nanoseconds part = close_up(view, rows);
  const bool is_legible = drawn.has_numbers && drawn_width(whole, mean_pass(view, rows)) >= kLegiblePass;
  if (is_legible || part * 10 > whole.to * 6) return section;
  const GanttPicture beginning = gantt_window(view, rows, {Nanoseconds(0), part});
  section.add(figure("The start of the step. " + how_drawn(beginning), beginning.svg));
  const GanttPicture end = gantt_window(view, rows, {whole.to - part, whole.to});
  section.add(figure("The end of the step. " + how_drawn(end), end.svg));
  return section;
}

}  // namespace sailor::report
