#include "report/paper_comparison.h"

#include <algorithm>

#include <fmt/format.h>

#include "report/drawing.h"
#include "report/numbers.h"

namespace sailor::report {
namespace {

constexpr double kSmallestEffect = 0.01;  // as a part of the step; smaller effects are not listed

// Adds the latency of the gradient sync that has the highest latency.
void add_ring_latency(const PlanView& view, Seconds step, Element& list) {
  const std::vector<StageSync>& syncs = view.details.syncs;
  const auto longest = std::ranges::max_element(syncs, {}, &StageSync::latency);
  if (longest == syncs.end() || longest->latency / step < kSmallestEffect) return;
  const auto stage = static_cast<std::size_t>(longest - syncs.begin());
  const auto replicas = static_cast<long>(view.plan.stages[stage].replicas.size());
  list.add(
      Element("li").text(fmt::format("{} of the gradient sync of stage {} is the latency of consecutive messages among "
                                     "{}; the paper's network has no latency",
                                     duration(longest->latency), stage, counted(replicas, "replica"))));
}

}  // namespace

Element paper_comparison(const PlanView& view) {
  const Seconds step = view.estimate.iteration;
  Element section("section");
  section.add(Element("p").text(fmt::format(
      "For these passes and messages the formula of Sailor's paper gives {}: (microbatches - 1) x slowest stage + one "
      "pass "
      "through all stages + the slowest gradient sync and update. The simulation of every operation gives {}. The "
      "difference has these causes:",
      duration(view.details.paper.paper.total()), duration(step))));
  Element list("ul");
  for (const std::string& effect : view.details.paper.effects) list.add(Element("li").text(effect));
  add_ring_latency(view, step, list);
  if (list.str() == Element("ul").str()) list.add(Element("li").text("No cause accounts for 1 % of the step."));
  section.add(list);
  return section;
}

}  // namespace sailor::report
