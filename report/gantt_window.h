// One window of time of a Gantt chart.
#pragma once

#include "report/gantt_rows.h"
#include "report/markup.h"

namespace sailor::report {

struct Window {
  Nanoseconds from{};
  Nanoseconds to{};
};

// How wide the picture draws a time of this length.
double drawn_width(const Window& window, Nanoseconds length);

struct GanttPicture {
  Element svg;
  bool has_single_passes = false;  // else shares of time
  bool has_numbers = false;        // of microbatches
};

GanttPicture gantt_window(const PlanView& view, const GanttRows& rows, const Window& window);

// The mean length of a pass of these rows.
Nanoseconds mean_pass(const PlanView& view, const GanttRows& rows);

}  // namespace sailor::report
