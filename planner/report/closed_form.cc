#include "planner/report/closed_form.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "planner/report/figure.h"
#include "planner/report/numbers.h"

namespace sailor::report {
namespace {

constexpr double kWorthSaying = 0.01;  // of the step

Seconds in_seconds(Nanoseconds time) { return Seconds(static_cast<double>(time.count()) * 1e-9); }

struct StageLoad {
  Seconds pass;          // of a microbatch, forward and backward, on the replica that is busy longest
  int microbatches = 0;  // of that replica
  Seconds transfers;     // of a microbatch to the next stage and back
};

StageLoad load_of(const PlanView& view, std::size_t stage) {
  StageLoad load;
  Seconds longest(-1);
  for (std::size_t r = 0; r < view.plan.stages[stage].replicas.size(); ++r) {
    Seconds busy(0);
    for (const TimedPass& pass : view.details.step.passes[stage][r]) busy += in_seconds(pass.end - pass.start);
    if (busy <= longest) continue;
    longest = busy;
    load.microbatches = view.plan.stages[stage].replicas[r].microbatches;
    load.pass = busy / load.microbatches;
  }
  return load;
}

std::vector<StageLoad> loads_of(const PlanView& view) {
  std::vector<StageLoad> loads;
  for (std::size_t stage = 0; stage < view.plan.stages.size(); ++stage) loads.push_back(load_of(view, stage));
  for (const TimedMessage& message : view.details.step.messages) {
    loads[static_cast<std::size_t>(message.boundary)].transfers +=
        in_seconds(message.end - message.start) / view.plan.microbatches();
  }
  return loads;
}

void add_effect(Seconds amount, Seconds step, const std::string& what, Element& list) {
  if (std::abs(amount / step) < kWorthSaying) return;
  list.add(Element("li").text(fmt::format("{} {}: {}", duration(Seconds(std::abs(amount.value()))),
                                          amount > Seconds(0) ? "less" : "more", what)));
}

// Of the sync that ends last; counted here, not in the paper's all-reduce, and so in neither difference.
void add_ring_latency(const PlanView& view, Seconds step, Element& list) {
  const std::vector<StageSync>& syncs = view.details.syncs;
  const auto longest = std::ranges::max_element(syncs, {}, &StageSync::latency);
  if (longest == syncs.end() || longest->latency / step < kWorthSaying) return;
  const auto stage = static_cast<std::size_t>(longest - syncs.begin());
  const auto replicas = static_cast<long>(view.plan.stages[stage].replicas.size());
  list.add(Element("li").text(fmt::format(
      "besides, {} of stage {}'s gradient sync is latency of messages one after another among {}: the paper's network "
      "has none",
      duration(longest->latency), stage, counted(replicas, "replica"))));
}

}  // namespace

ClosedForm closed_form(const PlanView& view) {
  const StepTiming& step = view.details.step;
  Seconds slowest;       // with its transfers
  Seconds slowest_pass;  // alone
  Seconds longest_work;  // all but one pass of the replica that is busy longest
  Seconds through;
  int most_microbatches = 0;
  for (const StageLoad& load : loads_of(view)) {
    slowest = std::max(slowest, load.pass + load.transfers);
    slowest_pass = std::max(slowest_pass, load.pass);
    longest_work = std::max(longest_work, load.pass * (load.microbatches - 1));
    through += load.pass + load.transfers;
    most_microbatches = std::max(most_microbatches, load.microbatches);
  }
  Seconds flat_ring;
  Seconds sync;
  Seconds exposed_sync;
  Seconds update;
  for (std::size_t stage = 0; stage < step.synced.size(); ++stage) {
    flat_ring = std::max(flat_ring, view.details.syncs[stage].flat_ring);
    sync = std::max(sync, view.details.syncs[stage].whole);
    exposed_sync = std::max(exposed_sync, in_seconds(step.synced[stage] - step.passes_done[stage]));
    update = std::max(update, in_seconds(step.updated[stage] - step.synced[stage]));
  }
  const double turns = most_microbatches - 1;
  ClosedForm form{.whole = slowest * turns + through + flat_ring + update,
                  .hidden_transfers = (slowest - slowest_pass) * turns,
                  .wide_stages = slowest_pass * turns - longest_work,
                  .nodes_first = flat_ring - sync,
                  .hidden_syncs = sync - exposed_sync,
                  .early_syncs = exposed_sync + update - in_seconds(step.end() - step.passes_end()),
                  .waiting = {}};
  form.waiting = form.whole - form.hidden_transfers - form.wide_stages - form.nodes_first - form.hidden_syncs -
                 form.early_syncs - in_seconds(step.end());
  return form;
}

Element against_closed_form(const PlanView& view) {
  const Seconds step = in_seconds(view.details.step.end());
  const ClosedForm form = closed_form(view);
  Element section("section");
  section.add(Element("p").text(fmt::format(
      "With these passes and messages the closed form of Sailor's paper, (microbatches - 1) x slowest stage + one pass "
      "through all of them, gives {}; played operation by operation the step takes {}. What the form leaves out:",
      duration(form.whole), duration(step))));
  Element list("ul");
  add_effect(form.hidden_transfers, step, "messages travel while other microbatches are computed", list);
  add_effect(form.wide_stages, step,
             "stages differ in their replicas, and each of them is only as busy as its own share makes it", list);
  add_effect(form.nodes_first, step, "gradients are summed inside nodes first, and only the sums go between them",
             list);
  add_effect(form.hidden_syncs, step, "gradients are summed layer by layer while the last passes go on", list);
  add_effect(form.early_syncs, step, "stages synchronise and update as soon as their own last pass is done", list);
  add_effect(
      form.waiting, step,
      "the order of passes, shared network cards and the microbatches that memory allows in flight make replicas "
      "wait, or do not",
      list);
  add_ring_latency(view, step, list);
  if (list.str() == Element("ul").str()) list.add(Element("li").text("nothing that takes 1 % of the step"));
  section.add(list);
  return section;
}

}  // namespace sailor::report
