// NetworkModel: latency, bandwidth and price of messages between GPUs, nodes and zones.
#pragma once

#include <array>
#include <optional>
#include <vector>

#include "core/model/bandwidth_curve.h"
#include "core/model/execution_model.h"
#include "core/model/ids.h"
#include "core/model/units.h"

namespace sailor {

// The smallest area that contains both ends.
enum class NetworkTier { kNode, kZone, kRegion, kContinent, kWorld };
inline constexpr int kNetworkTiers = 5;

struct Link {
  BytesPerSecond bandwidth;
  Seconds latency;
  DollarsPerByte price;
  std::optional<BandwidthCurve> curve;  // measured; if present it replaces `bandwidth`
  friend bool operator==(const Link&, const Link&) = default;

  [[nodiscard]] BytesPerSecond rate(Bytes message) const { return curve ? curve->at(message) : bandwidth; }
  [[nodiscard]] Seconds occupancy(Bytes message) const { return message / rate(message); }
  [[nodiscard]] Seconds transfer(Bytes message) const { return latency + occupancy(message); }
};

// A link that the user configured for a pair of zones, in both directions.
struct PairOverride {
  Zone from;
  Zone to;
  Link link;
  friend bool operator==(const PairOverride&, const PairOverride&) = default;
};

// The GPUs of one node that sent, or received, at the same time.
struct MeasuredEndpoint {
  Zone zone;
  Accelerator accelerator;
  int gpus = 1;
  friend bool operator==(const MeasuredEndpoint&, const MeasuredEndpoint&) = default;
};

struct MeasuredLink {
  MeasuredEndpoint from;
  MeasuredEndpoint to;
  BandwidthCurve curve;  // the bandwidth of all these GPUs together
  friend bool operator==(const MeasuredLink&, const MeasuredLink&) = default;
};

// Bandwidth between the GPUs of one node.
struct MeasuredNode {
  Accelerator accelerator;
  int gpus = 2;
  BandwidthCurve curve;
  friend bool operator==(const MeasuredNode&, const MeasuredNode&) = default;
};

// The price of traffic in one direction.
struct MeasuredPrice {
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

  // The curve measured between the same types of GPU, best in the same zones, else in zones of the same tier; among
  // these the one with the nearest numbers of GPUs. Null if no such pair was measured.
  [[nodiscard]] const BandwidthCurve* between(const MeasuredEndpoint& from, const MeasuredEndpoint& to) const;
  [[nodiscard]] const BandwidthCurve* inside_node(const Accelerator& accelerator, int gpus) const;
};

// Where a node is.
struct Location {
  Zone zone;
  Region region;

  // In the region that the name of the zone says. For zones of which no more is known.
  static Location of(const Zone& zone) { return {zone, region_of(zone)}; }
};

struct NetworkModel {
  std::array<Link, kNetworkTiers> tiers;  // indexed by NetworkTier
  std::vector<PairOverride> pairs;
  NetworkMeasurements measured;
  std::optional<ExecutionModel> execution;  // how plans are executed on this network, if that was measured
  friend bool operator==(const NetworkModel&, const NetworkModel&) = default;

  [[nodiscard]] const Link& tier(NetworkTier tier) const { return tiers[static_cast<std::size_t>(tier)]; }
  // The link between two different nodes. An override for their zones takes precedence.
  [[nodiscard]] Link between(const Location& from, const Location& to) const;
  [[nodiscard]] bool has_override(const Zone& from, const Zone& to) const;
  [[nodiscard]] const ExecutionModel& execution_model() const {
    return execution ? *execution : default_execution_model();
  }
};

// The tier of two different nodes, so never kNode.
NetworkTier tier_between(const Location& from, const Location& to);

// Google Cloud's network. Between machines: bandwidths, latencies and prices that the Sailor paper reports (SOSP'25,
// 2025). Inside a node: a third of the A100's NVLink peak of 600 GB/s (NVIDIA's data sheet, 2021), which messages of
// the size of a layer's reach.
NetworkModel google_cloud_network();

}  // namespace sailor
