// Worlds for tests of replays.
#pragma once

#include <string>
#include <vector>

#include "planner/replay/replay.h"
#include "simulator/simulator.h"
#include "tests/support/builders.h"

namespace sailor::testing {

inline const PoolKey kSpotPool = a_key("us-central1-a", "nvidia-l4", Provisioning::kSpot);

// Returns a trace in which each number of nodes lasts for `gap` seconds.
inline Trace trace_of(const std::vector<int>& nodes, double gap = 1000) {
  Trace trace;
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    const bool is_change = i == 0 || nodes[i] != nodes[i - 1];
    if (is_change) trace.changes.push_back({Seconds(gap * static_cast<double>(i)), nodes[i]});
  }
  trace.end = Seconds(gap * static_cast<double>(nodes.size()));
  return trace;
}

// Returns a trace in which the nodes of each list exist for `gap` seconds. The names are in alphabetical order.
inline Trace named_trace(const std::vector<std::vector<std::string>>& nodes, double gap = 1000) {
  Trace trace;
  trace.names_nodes = true;
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    trace.changes.push_back({Seconds(gap * static_cast<double>(i)), static_cast<int>(nodes[i].size()), nodes[i]});
  }
  trace.end = Seconds(gap * static_cast<double>(nodes.size()));
  return trace;
}

inline JobSpec a_long_job() {
  JobSpec job = a_job().batch(64);
  job.training.steps = 1'000'000'000;
  job.checkpoint = {"/checkpoints", 1000, 3};
  return job;
}

inline ClusterState four_nodes() {
  return a_cluster().pool("us-central1-a", "nvidia-l4", 4, 1, Provisioning::kSpot).price(0.3);
}

// Nodes come and go at once and without notice, and plans take no time.
inline ReplayOptions at_once() {
  return {.restart = Seconds(60), .planning = Seconds(0), .node_start = Seconds(0), .notice = Seconds(0)};
}

inline ReplayReport replayed(const JobSpec& job, const Trace& trace, ReplayPolicy policy,
                             const ReplayOptions& options) {
  const Simulator simulator;
  return Replay::make(job, four_nodes(), {{kSpotPool, trace}}, simulator, options).value().run(policy).value();
}

}  // namespace sailor::testing
