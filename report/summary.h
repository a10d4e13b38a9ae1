// A plan in words and figures: the answer before the pictures.
#pragma once

#include "report/markup.h"
#include "report/plan_view.h"

namespace sailor::report {

// Whether it fits, and if not, what does not.
Element verdict(const PlanView& view);
// Time, throughput, cost and GPUs at a glance.
Element key_figures(const PlanView& view);
// How the model is split, in sentences.
Element in_words(const PlanView& view);
// A row for each run of stages that are alike.
Element stage_table(const PlanView& view);
// What was assumed; nothing if nothing was.
Element notes(const PlanView& view);

}  // namespace sailor::report
