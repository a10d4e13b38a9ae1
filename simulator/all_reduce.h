// All-reduce: how long the replicas of a stage take to sum their gradients, in one ring or hierarchically by node.
#pragma once

#include <limits>

#include "simulator/pool_links.h"

namespace sailor {

// The participants of an all-reduce and the links between them.
struct Ring {
  int members = 1;
  int members_per_node = 1;  // the number of members on the node that has the fewest
  int tensor_parallel = 1;   // every shard has its own ring, through the same NICs
  Link inside;               // the link within a node
  Link between;              // the slowest link between any two nodes
  // How many hops of the ring, at most, have the latency of `between`; the others have `near_latency`. A ring goes from
  // zone to zone, so it crosses as many borders as there are zones.
  int far_hops = std::numeric_limits<int>::max();
  Seconds near_latency;
  NodeNic nic;  // the slowest of any node
};

// Every member sends 2 (n - 1) messages of size / n bytes. `size` is that of one shard. The slowest link limits the
// rate of all hops. Its latency counts only where a part crosses it: parts travel one behind the other.
Seconds ring_all_reduce(Bytes size, const Ring& ring);

// The members of each node reduce-scatter among themselves, each part is all-reduced between the nodes, and the members
// of each node all-gather the result.
Seconds hierarchical_all_reduce(Bytes size, const Ring& ring);

// Returns the time of the faster algorithm. Half of it is the reduce-scatter, half the all-gather.
Seconds all_reduce(Bytes size, const Ring& ring);

}  // namespace sailor
