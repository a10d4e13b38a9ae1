#include "report/beside_paper.h"

#include <algorithm>

#include <fmt/format.h>

#include "report/figure.h"
#include "report/numbers.h"

namespace sailor::report {
namespace {

constexpr double kWorthSaying = 0.01;  // of the step

// Of the sync that takes longest to begin.
void add_ring_latency(const PlanView& view, Seconds step, Element& list) {
  const std::vector<StageSync>& syncs = view.details.syncs;
  const auto longest = std::ranges::max_element(syncs, {}, &StageSync::latency);
  if (longest == syncs.end() || longest->latency / step < kWorthSaying) return;
  const auto stage = static_cast<std::size_t>(longest - syncs.begin());
  const auto replicas = static_cast<long>(view.plan.stages[stage].replicas.size());
  list.add(Element("li").text(fmt::format(
      "{} of stage {}'s gradient sync is latency of messages one after another among {}: the paper's network has none",
      duration(longest->latency), stage, counted(replicas, "replica"))));
}

}  // namespace

Element beside_paper(const PlanView& view) {
  const Seconds step = view.estimate.iteration;
  Element section("section");
  section.add(Element("p").text(fmt::format(
      "With these passes and messages the formula of Sailor's paper, (microbatches - 1) x slowest stage + one pass "
      "through all of them + the slowest gradient sync and update, gives {}; played operation by operation the step "
      "takes {}. Where the difference is from:",
      duration(view.details.paper.paper.total()), duration(step))));
  Element list("ul");
  for (const std::string& effect : view.details.paper.effects) list.add(Element("li").text(effect));
  add_ring_latency(view, step, list);
  if (list.str() == Element("ul").str()) list.add(Element("li").text("nothing that takes 1 % of the step"));
  section.add(list);
  return section;
}

}  // namespace sailor::report
