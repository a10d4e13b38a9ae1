#include "simulator/all_reduce.h"

#include <algorithm>

namespace sailor {
namespace {

// One message, while `messages_at_once` go through the same NIC.
Seconds transfer(Bytes message, const Ring& ring, int messages_at_once) {
  return ring.between.latency +
         std::max(ring.between.occupancy(message), ring.nic.occupancy(message) * messages_at_once);
}

}  // namespace

Seconds ring_all_reduce(Bytes size, const Ring& ring) {
  if (ring.members < 2) return Seconds(0);
  const Bytes part = size / ring.members;
  const bool is_inside = ring.members_per_node >= ring.members;
  const Seconds hop = is_inside ? ring.inside.transfer(part) : transfer(part, ring, ring.tensor_parallel);
  return hop * (2 * (ring.members - 1));
}

Seconds hierarchical_all_reduce(Bytes size, const Ring& ring) {
  const int local = std::min(ring.members_per_node, ring.members);
  const int nodes = (ring.members + local - 1) / local;
  Seconds time(0);
  if (local > 1) time += ring.inside.transfer(size / local) * (2 * (local - 1));
  if (nodes > 1) {
    const Bytes part = size / (static_cast<double>(local) * nodes);
    time += transfer(part, ring, local * ring.tensor_parallel) * (2 * (nodes - 1));
  }
  return time;
}

Seconds all_reduce(Bytes size, const Ring& ring) {
  return std::min(ring_all_reduce(size, ring), hierarchical_all_reduce(size, ring));
}

}  // namespace sailor
