#include "core/model/accelerator.h"

#include <algorithm>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include "core/model/check.h"
#include "core/model/job_json.h"
#include "core/model/json_reader.h"

namespace sailor {

extern const std::string_view kAcceleratorsJson;  // accelerators.json, which CMakeLists.txt embeds

namespace {

constexpr double kPcie3 = 16;  // gigabytes per second of PCIe 3.0 x16, in each direction

struct CatalogEntry {
  AcceleratorSpec spec;
  std::optional<DollarsPerHour> list_price;
  std::vector<std::string> other_names;  // in labels of nodes
};

// The bounds are far from the figures of any GPU. They catch wrong units.
std::optional<double> optional_figure(JsonReader& reader, const char* key) {
  constexpr double kLeast = 0.1;
  constexpr double kMost = 1e6;
  const auto value = optional_decimal(reader, key);
  if (value && (*value < kLeast || *value > kMost)) {
    reader.record(key, fmt::format("{} is not between {} and {:.0f}; check its unit", *value, kLeast, kMost));
  }
  return value;
}

double figure(JsonReader& reader, const char* key) {
  const auto value = optional_figure(reader, key);
  if (!value) reader.record(key, "is missing");
  return value.value_or(0);
}

std::vector<CatalogEntry> parse_catalog() {
  std::vector<CatalogEntry> catalog;
  const Json entries = Json::parse(kAcceleratorsJson);
  for (const Json& entry : entries) {
    JsonReader reader(entry, fmt::format("accelerators.json[{}]", catalog.size()));
    const Accelerator name(reader.required<std::string>("accelerator"));
    const auto spec = read_gpu(reader, name);
    const auto price = optional_decimal(reader, "pricePerGpuHour");
    SAILOR_CHECK(spec && !reader.error(), "{} in accelerators.json: {}", name.str(),
                 reader.error() ? reader.error()->message : "gpu is missing");
    catalog.push_back({*spec, price ? std::optional(DollarsPerHour(*price)) : std::nullopt,
                       reader.value_or<std::vector<std::string>>("otherNames", {})});
  }
  return catalog;
}

const std::vector<CatalogEntry>& catalog() {
  static const std::vector<CatalogEntry> entries = parse_catalog();
  return entries;
}

const CatalogEntry* find_entry(const Accelerator& name) {
  const auto found =
      std::ranges::find_if(catalog(), [&](const CatalogEntry& entry) { return entry.spec.name == name; });
  return found == catalog().end() ? nullptr : &*found;
}

}  // namespace

std::optional<AcceleratorSpec> read_gpu(JsonReader& spec, const Accelerator& name) {
  if (!spec.optional<Json>("gpu")) return std::nullopt;
  JsonReader gpu(spec.child("gpu"), spec.path_of("gpu"));
  JsonReader teraflops(gpu.child("teraflops"), gpu.path_of("teraflops"));
  AcceleratorSpec result{
      .name = name,
      .memory = gibibytes(figure(gpu, "memoryGib")),
      .fp32 = teraflops_per_second(figure(teraflops, "fp32")),
      .bf16 = teraflops_per_second(figure(teraflops, "bf16")),
      .memory_bandwidth = gigabytes_per_second(figure(gpu, "memoryGigabytesPerSecond")),
      .peer_bandwidth = gigabytes_per_second(optional_figure(gpu, "peerGigabytesPerSecond").value_or(kPcie3))};
  if (const auto& error = teraflops.error()) gpu.absorb(*error);
  if (const auto& error = gpu.error()) spec.absorb(*error);
  return result;
}

const AcceleratorSpec* find_accelerator(const Accelerator& name) {
  const CatalogEntry* entry = find_entry(name);
  return entry == nullptr ? nullptr : &entry->spec;
}

const AcceleratorSpec* accelerator_of_label(const std::string& value) {
  const auto found = std::ranges::find_if(catalog(), [&](const CatalogEntry& entry) {
    return entry.spec.name.str() == value || std::ranges::find(entry.other_names, value) != entry.other_names.end();
  });
  return found == catalog().end() ? nullptr : &found->spec;
}

std::optional<DollarsPerHour> list_price(const Accelerator& name, Provisioning provisioning) {
  constexpr double kSpotPart = 0.5;
  const CatalogEntry* entry = find_entry(name);
  if (entry == nullptr || !entry->list_price) return std::nullopt;
  return *entry->list_price * (provisioning == Provisioning::kSpot ? kSpotPart : 1);
}

std::string known_accelerators() {
  std::string names;
  for (const CatalogEntry& entry : catalog()) {
    names += (names.empty() ? "" : ", ") + entry.spec.name.str();
  }
  return names;
}

const AcceleratorSpec* AcceleratorBook::find(const Accelerator& name) const {
  const auto stated = stated_.find(name);
  return stated == stated_.end() ? find_accelerator(name) : &stated->second;
}

}  // namespace sailor
