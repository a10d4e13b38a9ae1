// The rows of a Gantt chart. A small plan has a row for every replica. A larger plan has a row for each group of
// similar replicas, and a very large plan has one row a stage.
#pragma once

#include <string>
#include <vector>

#include "report/plan_view.h"

namespace sailor::report {

struct GanttRow {
  std::size_t stage = 0;
  std::size_t replica = 0;  // the replica whose passes are drawn
  std::string label;
  std::string tooltip;
};

struct GanttRows {
  std::vector<GanttRow> rows;
  bool has_all_replicas = false;
  std::string note;  // explains which replicas the rows show
};

GanttRows gantt_rows(const PlanView& view);

}  // namespace sailor::report
