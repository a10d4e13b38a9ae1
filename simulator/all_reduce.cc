#include "simulator/all_reduce.h"

#include <algorithm>

namespace sailor {
namespace {

// A part's way through a ring of this many nodes or GPUs, `hops` of them, while `messages_at_once` go through the same
// NIC.
Seconds way(Bytes part, const Ring& ring, int hops, int messages_at_once) {
  const int far = std::min(hops, ring.far_hops);
  const Seconds each = std::max(ring.between.occupancy(part), ring.nic.occupancy(part) * messages_at_once);
  return each * hops + ring.between.latency * far + ring.near_latency * (hops - far);
}

}  // namespace

Seconds ring_all_reduce(Bytes size, const Ring& ring) {
  if (ring.members < 2) return Seconds(0);
  const Bytes part = size / ring.members;
  const bool is_inside = ring.members_per_node >= ring.members;
  const int hops = ring.members - 1;
  return (is_inside ? ring.inside.transfer(part) * hops : way(part, ring, hops, ring.tensor_parallel)) * 2;
}

Seconds hierarchical_all_reduce(Bytes size, const Ring& ring) {
  const int local = std::min(ring.members_per_node, ring.members);
  const int nodes = (ring.members + local - 1) / local;
  Seconds time(0);
  if (local > 1) time += ring.inside.transfer(size / local) * (2 * (local - 1));
  if (nodes > 1) {
    const Bytes part = size / (static_cast<double>(local) * nodes);
    time += way(part, ring, nodes - 1, local * ring.tensor_parallel) * 2;
  }
  return time;
}

Seconds all_reduce(Bytes size, const Ring& ring) {
  return std::min(ring_all_reduce(size, ring), hierarchical_all_reduce(size, ring));
}

}  // namespace sailor
