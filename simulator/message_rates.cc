#include "simulator/message_rates.h"

#include <algorithm>

#include "core/model/check.h"
#include "core/model/sort_unique.h"

namespace sailor {

MessageRates::MessageRates(const ClusterState& cluster, const NetworkModel& network, const ExecutionModel& execution,
                           const PoolLinks& links, std::span<const int> tensor_parallel_sizes)
    : links_(links),
      latency_(execution.message_latency),
      share_(execution.message_share),
      by_group_(execution.messages_by_group),
      sizes_(tensor_parallel_sizes.begin(), tensor_parallel_sizes.end()),
      ends_(cluster.pools.size() * sizes_.size()),
      distinct_(sizes_.size()) {
  if (!by_group_ || network.measured.links.empty()) return;
  curves_.resize(ends_ * ends_);
  for (int from = 0; from < std::ssize(cluster.pools); ++from) {
    const PoolKey& a = cluster.pools[static_cast<std::size_t>(from)].key;
    for (int to = 0; to < std::ssize(cluster.pools); ++to) {
      if (!links.between(from, to).curve) continue;  // the pools declare another rate
      const PoolKey& b = cluster.pools[static_cast<std::size_t>(to)].key;
      for (const int senders : sizes_) {
        for (const int receivers : sizes_) {
          curves_[index_of({from, senders}, {to, receivers})] =
              network.measured.between({a.zone, a.accelerator, senders}, {b.zone, b.accelerator, receivers});
        }
      }
    }
  }
  list_distinct();
}

void MessageRates::list_distinct() {
  for (std::size_t from = 0; from < ends_; ++from) {
    std::vector<const BandwidthCurve*>& of_size = distinct_[from % sizes_.size()];
    for (std::size_t to = 0; to < ends_; ++to) {
      if (curves_[from * ends_ + to] != nullptr) of_size.push_back(curves_[from * ends_ + to]);
    }
  }
  for (auto& curves : distinct_) sort_unique(curves);
}

std::size_t MessageRates::index_of_size(int tensor_parallel) const {
  const auto size = std::ranges::lower_bound(sizes_, tensor_parallel);
  SAILOR_CHECK(size != sizes_.end() && *size == tensor_parallel, "no rates of groups of {} GPUs", tensor_parallel);
  return static_cast<std::size_t>(size - sizes_.begin());
}

std::size_t MessageRates::index_of(MessageEnd from, MessageEnd to) const {
  const auto index = [&](MessageEnd end) {
    return static_cast<std::size_t>(end.pool) * sizes_.size() + index_of_size(end.tensor_parallel);
  };
  return index(from) * ends_ + index(to);
}

const BandwidthCurve* MessageRates::curve(MessageEnd from, MessageEnd to) const {
  return curves_.empty() ? nullptr : curves_[index_of(from, to)];
}

// The smaller group limits the number of messages that travel side by side.
double MessageRates::parts(MessageEnd from, MessageEnd to) const {
  return by_group_ ? std::min(from.tensor_parallel, to.tensor_parallel) : 1;
}

Seconds MessageRates::between_nodes(MessageEnd from, MessageEnd to, Bytes message) const {
  return from == to ? one_way(from, to, message) : std::max(one_way(from, to, message), one_way(to, from, message));
}

Seconds MessageRates::one_way(MessageEnd from, MessageEnd to, Bytes message) const {
  if (const BandwidthCurve* measured = curve(from, to)) return message / measured->at(message) / share_;
  return links_.between(from.pool, to.pool).occupancy(message / parts(from, to)) / share_;
}

Seconds MessageRates::least_between_nodes(int tensor_parallel, Bytes message) const {
  const MessageEnd end{0, tensor_parallel};
  Seconds least = links_.distinct().front().occupancy(message);
  for (const Link& link : links_.distinct()) least = std::min(least, link.occupancy(message / parts(end, end)));
  for (const BandwidthCurve* measured : distinct_[index_of_size(tensor_parallel)]) {
    least = std::min(least, message / measured->at(message));
  }
  return least / share_;
}

Seconds MessageRates::inside_node(MessageEnd from, MessageEnd to, Bytes message) const {
  return links_.inside_node(from.pool).occupancy(message / parts(from, to)) / share_;
}

}  // namespace sailor
