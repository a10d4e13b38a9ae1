// One time window of a Gantt chart.
#pragma once

#include "report/gantt_rows.h"
#include "report/markup.h"

namespace sailor::report {

struct Window {
  Nanoseconds from{};
  Nanoseconds to{};
};

// The width of this length of time in the picture, in SVG coordinates.
double drawn_width(const Window& window, Nanoseconds length);

struct GanttPicture {
  Element svg;
  bool has_single_passes = false;  // false: shares of time
  bool has_numbers = false;        // the numbers of microbatches
};

GanttPicture gantt_window(const PlanView& view, const GanttRows& rows, const Window& window);

// The mean length of the passes in these rows.
Nanoseconds mean_pass(const PlanView& view, const GanttRows& rows);

}  // namespace sailor::report
