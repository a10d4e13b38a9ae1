// All-reduce: how long the replicas of a stage take to sum their gradients, as one ring or node by node.
#pragma once

#include "simulator/pool_links.h"

namespace sailor {

// Who reduces: `members` on nodes with so many of them each, over so slow a way.
struct Ring {
  int members = 1;
  int on_a_node = 1;        // members of one node, the fewest of any
  int tensor_parallel = 1;  // every shard has a ring of its own, through the same network cards
  Link inside;              // a node
  Link between;             // nodes, the slowest of any two
  NodeNic nic;              // the slowest of any
};

// Every member sends 2 (n - 1) messages of size / n. `size` is one shard's.
Seconds ring_all_reduce(Bytes size, const Ring& ring);

// The members of a node add up and keep a part each, each part goes round between the nodes, and is handed out again.
Seconds hierarchical_all_reduce(Bytes size, const Ring& ring);

// The quicker of both. Half of it scatters the sums over the members, half gathers them.
Seconds all_reduce(Bytes size, const Ring& ring);

}  // namespace sailor
