// Reads a GpuPool into a PoolDeclaration.
#include <fmt/format.h>

#include "core/manifest/manifest.h"
#include "core/model/accelerator.h"
#include "core/model/job_json.h"
#include "core/model/json_reader.h"

namespace sailor {
namespace {

constexpr double kBytesPerGigabit = 1e9 / 8;

Provisioning provisioning_from(JsonReader& reader) {
  const auto text = reader.required<std::string>("provisioning");
  if (!text.empty() && text != "Spot" && text != "OnDemand") {
    reader.record("provisioning", fmt::format("\"{}\" is unknown; use Spot or OnDemand", text));
  }
  return text == "Spot" ? Provisioning::kSpot : Provisioning::kOnDemand;
}

DollarsPerHour price_from(JsonReader& reader, const PoolKey& pool) {
  if (const auto price = optional_decimal(reader, "pricePerGpuHour")) return DollarsPerHour(*price);
  if (const auto price = list_price(pool.accelerator, pool.provisioning)) return *price;
  reader.record("pricePerGpuHour",
                fmt::format("is missing, and the list price of {} is unknown; set the price", pool.accelerator.str()));
  return {};
}

std::optional<int> optional_count(JsonReader& reader, std::string_view key) {
  const auto count = reader.optional<int>(key);
  if (count && *count < 0) reader.record(key, fmt::format("{} is below 0", *count));
  return count;
}

std::optional<BytesPerSecond> inter_node_bandwidth(JsonReader& reader) {
  JsonReader network(reader.child("network"), reader.path_of("network"));
  const auto gigabits = optional_decimal(network, "interNodeGbps");
  if (gigabits && *gigabits <= 0) network.record("interNodeGbps", "it must be above 0");
  if (const auto& error = network.error()) reader.absorb(*error);
  return gigabits ? std::optional(BytesPerSecond(*gigabits * kBytesPerGigabit)) : std::nullopt;
}

std::optional<Seconds> node_lifetime(JsonReader& reader) {
  const auto hours = optional_decimal(reader, "nodeLifetimeHours");
  if (hours && *hours <= 0) reader.record("nodeLifetimeHours", "it must be above 0");
  return hours ? std::optional(Seconds(*hours * 3600)) : std::nullopt;
}

std::map<std::string, std::string> node_selector(JsonReader& reader) {
  std::map<std::string, std::string> labels;
  for (const auto& [label, value] : reader.child("nodeSelector").items()) {
    if (value.is_string()) {
      labels[label] = value.get<std::string>();
    } else {
      reader.record("nodeSelector", fmt::format("the value of label {} must be text; quote it", label));
    }
  }
  return labels;
}

}  // namespace

Result<PoolDeclaration> pool_from_manifest(const Json& gpu_pool) {
  JsonReader root(gpu_pool, "");
  JsonReader metadata(root.child("metadata"), "metadata");
  JsonReader reader(root.child("spec"), "spec");
  PoolDeclaration pool;
  pool.name = metadata.value_or<std::string>("name", "");
  pool.region = Region(reader.required<std::string>("region"));
  pool.key.zone = Zone(reader.required<std::string>("zone"));
  pool.key.accelerator = Accelerator(reader.required<std::string>("accelerator"));
  pool.key.provisioning = provisioning_from(reader);
  pool.gpus_per_node = reader.required<int>("gpusPerNode");
  if (!reader.error() && pool.gpus_per_node < 1) {
    reader.record("gpusPerNode", fmt::format("{} is below 1", pool.gpus_per_node));
  }
  pool.max_nodes = optional_count(reader, "maxNodes");
  pool.nodes = optional_count(reader, "nodes");
  pool.price_per_gpu = price_from(reader, pool.key);
  pool.whole_nodes = reader.value_or("wholeNodes", false);
  pool.node_selector = node_selector(reader);
  pool.inter_node_bandwidth = inter_node_bandwidth(reader);
  pool.node_lifetime = node_lifetime(reader);
  pool.gpu = read_gpu(reader, pool.key.accelerator);
  if (const auto& error = metadata.error()) reader.absorb(*error);
  if (const auto& error = reader.error()) return tl::unexpected(*error);
  return pool;
}

Pool pool_of(const PoolDeclaration& declaration, int nodes) {
  Pool pool{.key = declaration.key,
            .region = declaration.region,
            .gpus_per_node = declaration.gpus_per_node,
            .nodes = {},
            .price_per_gpu = declaration.price_per_gpu,
            .whole_nodes = declaration.whole_nodes,
            .inter_node_bandwidth = declaration.inter_node_bandwidth,
            .node_lifetime = declaration.node_lifetime};
  if (nodes > 0) pool.nodes.push_back({declaration.gpus_per_node, nodes});
  return pool;
}

}  // namespace sailor
