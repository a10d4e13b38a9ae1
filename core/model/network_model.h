// NetworkModel: latency, bandwidth and price of a message between two places.
#pragma once

#include <array>
#include <optional>
#include <vector>

#include "core/model/bandwidth_curve.h"
#include "core/model/ids.h"
#include "core/model/units.h"

namespace sailor {

enum class NetworkTier { kNode, kZone, kRegion, kContinent, kWorld };  // the nearest that both ends share
inline constexpr int kNetworkTiers = 5;

struct Link {
  BytesPerSecond bandwidth;
  Seconds latency;
  DollarsPerByte price;
  std::optional<BandwidthCurve> curve;  // measured; then it counts, not `bandwidth`
  friend bool operator==(const Link&, const Link&) = default;

  [[nodiscard]] BytesPerSecond rate(Bytes message) const { return curve ? curve->at(message) : bandwidth; }
  [[nodiscard]] Seconds occupancy(Bytes message) const { return message / rate(message); }
  [[nodiscard]] Seconds transfer(Bytes message) const { return latency + occupancy(message); }
};

struct PairOverride {  // holds in both directions
  Zone from;
  Zone to;
  Link link;
  friend bool operator==(const PairOverride&, const PairOverride&) = default;
};

// GPUs of one node that send, or receive, at the same time.
struct MeasuredEndpoint {
  Zone zone;
  Accelerator accelerator;
  int gpus = 1;
  friend bool operator==(const MeasuredEndpoint&, const MeasuredEndpoint&) = default;
};

struct MeasuredLink {
  MeasuredEndpoint from;
  MeasuredEndpoint to;
  BandwidthCurve curve;  // of all its GPUs together
  friend bool operator==(const MeasuredLink&, const MeasuredLink&) = default;
};

struct MeasuredNode {  // between the GPUs of one node
  Accelerator accelerator;
  int gpus = 2;
  BandwidthCurve curve;
  friend bool operator==(const MeasuredNode&, const MeasuredNode&) = default;
};

struct MeasuredPrice {  // in this direction
  Zone from;
  Zone to;
  DollarsPerByte price;
  friend bool operator==(const MeasuredPrice&, const MeasuredPrice&) = default;
};

struct NetworkMeasurements {
  std::vector<MeasuredLink> links;
  std::vector<MeasuredNode> nodes;
  std::vector<MeasuredPrice> prices;
  friend bool operator==(const NetworkMeasurements&, const NetworkMeasurements&) = default;

  // Of as many GPUs as were asked for, or of the nearest number that was measured; of the same zones, else of the same
  // types of GPU in zones as far apart. Null where that pair was never measured.
  [[nodiscard]] const BandwidthCurve* between(const MeasuredEndpoint& from, const MeasuredEndpoint& to) const;
  [[nodiscard]] const BandwidthCurve* inside_node(const Accelerator& accelerator, int gpus) const;
};

struct NetworkModel {
  std::array<Link, kNetworkTiers> tiers;  // indexed by NetworkTier
  std::vector<PairOverride> pairs;
  NetworkMeasurements measured;
  friend bool operator==(const NetworkModel&, const NetworkModel&) = default;

  [[nodiscard]] const Link& tier(NetworkTier tier) const { return tiers[static_cast<std::size_t>(tier)]; }
  [[nodiscard]] Link between(const Zone& from, const Zone& to) const;  // between nodes; a pair override wins
  [[nodiscard]] bool has_override(const Zone& from, const Zone& to) const;
};

NetworkTier tier_between(const Zone& from, const Zone& to);  // of two nodes: never kNode

// Google Cloud's figures between machines as the Sailor paper measured and priced them (SOSP'25, 2025); inside a node,
// a third of an A100's NVLink peak of 600 GB/s (NVIDIA's data sheet, 2021), as message sizes of a layer reach it.
NetworkModel google_cloud_network();

}  // namespace sailor
