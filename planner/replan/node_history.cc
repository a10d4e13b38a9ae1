#include "planner/replan/node_history.h"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace sailor {
namespace {

double weight_after(Seconds time) { return std::exp2(-(time / kHistoryHalfLife)); }

}  // namespace

void NodeHistory::pass_until(Seconds now) {
  const double left = weight_after(now - at);
  const Seconds passed = kHistoryHalfLife * ((1 - left) / std::numbers::ln2);  // the integral of what fades meanwhile
  node_time = node_time * left + passed * nodes;
  losses *= left;
  drops *= left;
  arrivals *= left;
  at = now;
}

void NodeHistory::add_joined(Seconds now, int count) {
  pass_until(now);
  nodes += count;
  if (last_arrival < now) ++arrivals;
  last_arrival = now;
}

void NodeHistory::add_lost(Seconds now, int count) {
  pass_until(now);
  nodes -= count;
  losses += count;
  if (last_drop < now) ++drops;
  last_drop = now;
}

void NodeHistory::add_removed(Seconds now, int count) {
  pass_until(now);
  nodes -= count;
}

Seconds NodeHistory::node_lifetime(Seconds assumed) const {
  return (node_time + assumed * kAssumedLosses) / (losses + kAssumedLosses);
}

double NodeHistory::nodes_per_drop() const { return (losses + 1) / (drops + 1); }

double NodeHistory::interruptions_per_second(int used, Seconds assumed) const {
  if (used <= 0) return 0;
  const double all = std::max(used, nodes);
  const double at_once = nodes_per_drop();
  const double drops_per_second = all / (at_once * node_lifetime(assumed).value());
  return drops_per_second * (1 - std::pow(1 - used / all, at_once));
}

double NodeHistory::arrivals_per_second() const {
  const Seconds faded_time = kHistoryHalfLife / std::numbers::ln2;
  return arrivals / faded_time.value();
}

void DropOutcomes::add(Seconds now, bool is_saved) {
  const double left = weight_after(now - at);
  drops = drops * left + 1;
  unsaved = unsaved * left + (is_saved ? 0 : 1);
  at = now;
}

}  // namespace sailor
