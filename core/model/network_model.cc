#include "core/model/network_model.h"

#include <algorithm>
#include <cstdlib>
#include <tuple>

namespace sailor {
namespace {

Link link(double gigabytes, double latency_seconds, double dollars_a_gigabyte) {
  return {gigabytes_per_second(gigabytes), Seconds(latency_seconds), dollars_per_gigabyte(dollars_a_gigabyte)};
}

bool is_between(const PairOverride& pair, const Zone& a, const Zone& b) {
  return (pair.from == a && pair.to == b) || (pair.from == b && pair.to == a);
}

NetworkTier tier_of(const MeasuredEndpoint& from, const MeasuredEndpoint& to) {
  return tier_between(Location::of(from.zone), Location::of(to.zone));
}

}  // namespace

NetworkTier tier_between(const Location& from, const Location& to) {
  if (from.zone == to.zone) return NetworkTier::kZone;
  if (from.region == to.region) return NetworkTier::kRegion;
  return continent_of(from.region) == continent_of(to.region) ? NetworkTier::kContinent : NetworkTier::kWorld;
}

Link NetworkModel::between(const Location& from, const Location& to) const {
  for (const PairOverride& pair : pairs) {
    if (is_between(pair, from.zone, to.zone)) return pair.link;
  }
  Link link = tier(tier_between(from, to));
  for (const MeasuredPrice& known : measured.prices) {
    if (known.from == from.zone && known.to == to.zone) link.price = known.price;
  }
  return link;
}

bool NetworkModel::has_override(const Zone& from, const Zone& to) const {
  return std::ranges::any_of(pairs, [&](const PairOverride& pair) { return is_between(pair, from, to); });
}

const BandwidthCurve* NetworkMeasurements::between(const MeasuredEndpoint& from, const MeasuredEndpoint& to) const {
  const BandwidthCurve* best = nullptr;
  std::tuple<bool, int> best_distance;
  for (const MeasuredLink& link : links) {
    if (link.from.accelerator != from.accelerator || link.to.accelerator != to.accelerator) continue;
    if (tier_of(link.from, link.to) != tier_of(from, to)) continue;
    const bool elsewhere = link.from.zone != from.zone || link.to.zone != to.zone;
    const std::tuple distance{elsewhere, std::abs(link.from.gpus - from.gpus) + std::abs(link.to.gpus - to.gpus)};
    if (best != nullptr && distance >= best_distance) continue;
    best = &link.curve;
    best_distance = distance;
  }
  return best;
}

const BandwidthCurve* NetworkMeasurements::inside_node(const Accelerator& accelerator, int gpus) const {
  const MeasuredNode* best = nullptr;
  for (const MeasuredNode& node : nodes) {
    if (node.accelerator != accelerator) continue;
    if (best == nullptr || std::abs(node.gpus - gpus) < std::abs(best->gpus - gpus)) best = &node;
  }
  return best == nullptr ? nullptr : &best->curve;
}

NetworkModel google_cloud_network() {
  return {.tiers = {link(200, 10e-6, 0), link(1.45, 500e-6, 0), link(1.42, 900e-6, 0.01), link(0.63, 31e-3, 0.02),
                    link(0.18, 102e-3, 0.05)},
          .pairs = {}};
}

}  // namespace sailor
