// The rows of a Gantt chart: every replica while they are few, else one of each group that is alike, else one a stage.
#pragma once

#include <string>
#include <vector>

#include "report/plan_view.h"

namespace sailor::report {

struct GanttRow {
  std::size_t stage = 0;
  std::size_t replica = 0;  // whose passes are drawn
  std::string label;
  std::string tooltip;
};

struct GanttRows {
  std::vector<GanttRow> rows;
  bool has_all_replicas = false;
  std::string note;  // which replicas they are
};

GanttRows gantt_rows(const PlanView& view);

}  // namespace sailor::report
