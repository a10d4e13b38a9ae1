// Reads the manifest NetworkModel (a file, or a key of a ConfigMap) into the struct NetworkModel.
#include <algorithm>
#include <array>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "core/manifest/manifest.h"
#include "core/model/job_json.h"
#include "core/model/json_reader.h"

namespace sailor {
namespace {

// Limits that no real link between machines reaches. Beyond them the duration of a step would overflow its clock.
constexpr double kLeastGigabytesPerSecond = 1e-6;
constexpr double kMostMicroseconds = 60e6;

constexpr std::string_view kTierNames[kNetworkTiers] = {"node", "zone", "region", "continent", "world"};

constexpr std::array kLinkFields = {"gigabytesPerSecond", "latencyMicroseconds", "dollarsPerGigabyte"};

// The fields of the object replace those of `link`.
Link link_from(JsonReader& reader, Link link) {
  if (const auto rate = optional_decimal(reader, "gigabytesPerSecond")) {
    link.bandwidth = gigabytes_per_second(*rate);
    if (*rate < kLeastGigabytesPerSecond) {
      reader.record("gigabytesPerSecond",
                    fmt::format("{} is below {}, a kilobyte per second", *rate, kLeastGigabytesPerSecond));
    }
  }
  if (const auto latency = reader.optional<double>("latencyMicroseconds")) {
    link.latency = Seconds(*latency * 1e-6);
    if (*latency < 0 || *latency > kMostMicroseconds) {
      reader.record("latencyMicroseconds",
                    fmt::format("{} is not between 0 and {}, a minute", *latency, kMostMicroseconds));
    }
  }
  if (const auto price = optional_decimal(reader, "dollarsPerGigabyte")) link.price = dollars_per_gigabyte(*price);
  return link;
}

void read_tiers(JsonReader& spec, NetworkModel& network) {
  JsonReader tiers(spec.child("tiers"), "spec.tiers");
  for (const auto& [name, value] : spec.child("tiers").items()) {
    if (std::ranges::find(kTierNames, name) == std::end(kTierNames)) {
      tiers.record(name, "is not a tier; use node, zone, region, continent or world");
    }
  }
  for (std::size_t tier = 0; tier < kNetworkTiers; ++tier) {
    if (!tiers.has(kTierNames[tier])) continue;
    JsonReader reader(tiers.child(kTierNames[tier]), tiers.path_of(kTierNames[tier]));
    network.tiers[tier] = link_from(reader, network.tiers[tier]);
    if (const auto& error = reader.error()) tiers.absorb(*error);
  }
  if (const auto& error = tiers.error()) spec.absorb(*error);
}

void read_pairs(JsonReader& spec, NetworkModel& network) {
  const Json& pairs = spec.list("pairs");
  for (std::size_t i = 0; i < pairs.size() && !spec.error(); ++i) {
    JsonReader reader(pairs[i], fmt::format("spec.pairs[{}]", i));
    const Zone from(reader.required<std::string>("from"));
    const Zone to(reader.required<std::string>("to"));
    if (network.has_override(from, to)) {
      reader.record("to", fmt::format("the pair of {} and {} is given twice, where the order does not matter; keep one",
                                      from.str(), to.str()));
    }
    if (std::ranges::none_of(kLinkFields, [&](const char* field) { return reader.has(field); })) {
      reader.record("to", fmt::format("the pair says nothing of the link; give {}", fmt::join(kLinkFields, " or ")));
    }
    const Link link = link_from(reader, network.tier(tier_between(Location::of(from), Location::of(to))));
    if (const auto& error = reader.error()) spec.absorb(*error);
    network.pairs.push_back({from, to, link});
  }
}

}  // namespace

Result<NetworkModel> network_from_manifest(const Json& network_model) {
  JsonReader root(network_model, "");
  JsonReader spec(root.child("spec"), "spec");
  NetworkModel network = google_cloud_network();
  read_tiers(spec, network);
  read_pairs(spec, network);
  if (spec.has("execution")) {
    JsonReader execution(spec.child("execution"), "spec.execution");
    network.execution = execution_from(execution);
    network.execution->name = "cluster";
    if (const auto& error = execution.error()) spec.absorb(*error);
  }
  if (const auto& error = root.error()) return tl::unexpected(*error);
  if (const auto& error = spec.error()) return tl::unexpected(*error);
  return network;
}

}  // namespace sailor
