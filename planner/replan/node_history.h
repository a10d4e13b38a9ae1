// NodeHistory: how long the nodes of a pool live, as far as they have been watched. However long that is, the history
// is a few numbers, so that it can be stored and outlive the program that watches.
#pragma once

#include "core/model/units.h"

namespace sailor {

// What has been seen loses half of its weight in this time, so that the history follows the market.
inline constexpr Seconds kHistoryHalfLife{2 * 3600};
// The lifetime that is assumed without a history counts as much as this number of losses.
inline constexpr double kAssumedLosses = 0.25;

// Times count from a fixed point. The time of a call must not lie before that of an earlier call. Calls with equal
// times have the same effect in any order.
struct NodeHistory {
  Seconds at;           // the history ends here
  int nodes = 0;        // the nodes that exist then
  double losses = 0;    // faded: the nodes that were lost
  double drops = 0;     // faded: the times at which nodes were lost, one or several at once
  double arrivals = 0;  // faded: the times at which nodes joined, one or several at once
  Seconds node_time;  // faded: for how long nodes existed, summed over all nodes, whether they were lost or still exist
  Seconds last_drop{-1};
  Seconds last_arrival{-1};
  friend bool operator==(const NodeHistory&, const NodeHistory&) = default;

  // Lets time pass in which no node joins or is lost.
  void pass_until(Seconds now);
  void add_joined(Seconds now, int count);
  void add_lost(Seconds now, int count);
  // Nodes leave, but were not lost: they were not needed any more.
  void add_removed(Seconds now, int count);

  // The expected time until a node is lost, from any time on: (node_time + w * assumed) / (losses + w), where `assumed`
  // is the lifetime without a history and w is kAssumedLosses.
  [[nodiscard]] Seconds node_lifetime(Seconds assumed) const;
  // The mean number of nodes that are lost at once: (losses + 1) / (drops + 1).
  [[nodiscard]] double nodes_per_drop() const;
  // How often per second a drop takes some of `used` nodes. Drops come at the rate nodes / (nodes_per_drop *
  // node_lifetime), and each takes nodes_per_drop of the pool's nodes, any with the same probability.
  [[nodiscard]] double interruptions_per_second(int used, Seconds assumed) const;
  // How often per second nodes join, one or several at once, as if none had joined before the history began.
  [[nodiscard]] double arrivals_per_second() const;
};

// What drops did to a job. A drop is saved if the notice was long enough to move the state of the nodes that left.
struct DropOutcomes {
  Seconds at;          // of the last drop
  double drops = 0;    // faded: those that took nodes of the job
  double unsaved = 0;  // faded: those of them that were not saved
  friend bool operator==(const DropOutcomes&, const DropOutcomes&) = default;

  void add(Seconds now, bool is_saved);
  // The probability that the next drop is not saved: (unsaved + 1) / (drops + 1).
  [[nodiscard]] double unsaved_share() const { return (unsaved + 1) / (drops + 1); }
};

}  // namespace sailor
