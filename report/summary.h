// The summary of a plan in text and key figures, at the top of a page.
#pragma once

#include "report/markup.h"
#include "report/plan_view.h"

namespace sailor::report {

// States whether the plan fits, and lists the violations if it does not.
Element verdict(const PlanView& view);
// Time, throughput, cost and GPUs.
Element key_figures(const PlanView& view);
// Sentences about how the model is split.
Element plan_in_words(const PlanView& view);
// A table with a row for each run of equal stages.
Element stage_table(const PlanView& view);
// The assumptions of the estimate; an empty section if there are none.
Element notes(const PlanView& view);

}  // namespace sailor::report
