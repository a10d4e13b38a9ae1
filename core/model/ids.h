// Typed names: code that passes a zone where an accelerator is expected does not compile.
#pragma once

#include <compare>
#include <functional>
#include <string>
#include <string_view>
#include <utility>

#include "core/model/error.h"

namespace sailor {

template <class Kind>
class Name {
 public:
  Name() = default;
  explicit Name(std::string value) : value_(std::move(value)) {}

  [[nodiscard]] const std::string& str() const { return value_; }
  [[nodiscard]] bool empty() const { return value_.empty(); }
  friend auto operator<=>(const Name&, const Name&) = default;

 private:
  std::string value_;
};

using Zone = Name<struct ZoneKind>;                // "us-central1-a"
using Region = Name<struct RegionKind>;            // "us-central1"
using Accelerator = Name<struct AcceleratorKind>;  // GKE's name: "nvidia-tesla-a100"

enum class Provisioning { kOnDemand, kSpot };

std::string_view to_string(Provisioning provisioning);  // "ondemand" or "spot", as in pool keys

// GPUs whose passes take equally long.
struct GpuClass {
  Accelerator accelerator;
  int grade = 0;  // core/model/speed_grade.h

  friend auto operator<=>(const GpuClass&, const GpuClass&) = default;
};

// The key of a pool: GPUs of one type and speed grade in one zone with one provisioning. As text
// "us-central1-a/nvidia-tesla-a100/spot", and above grade 0 "us-central1-a/nvidia-tesla-a100/spot/slow3".
struct PoolKey {
  Zone zone;
  Accelerator accelerator;
  Provisioning provisioning = Provisioning::kOnDemand;
  int grade = 0;  // core/model/speed_grade.h

  [[nodiscard]] GpuClass gpu_class() const { return {accelerator, grade}; }
  // Whether both are the same apart from their grades.
  [[nodiscard]] bool is_like(const PoolKey& other) const {
    return zone == other.zone && accelerator == other.accelerator && provisioning == other.provisioning;
  }
  friend auto operator<=>(const PoolKey&, const PoolKey&) = default;
};

std::string to_string(const PoolKey& key);
Result<PoolKey> parse_pool_key(std::string_view text);

// The region of a zone by the naming of Google Cloud and Azure ("us-central1-a" lies in "us-central1", "westeurope-1"
// in "westeurope") or of Amazon ("us-east-1a" in "us-east-1").
Region region_of(const Zone& zone);
// The continent by the same naming: "us-central1" lies in "us", "northamerica-northeast1" in "northamerica".
std::string continent_of(const Region& region);

struct JobKey {
  std::string namespace_name;
  std::string name;

  friend auto operator<=>(const JobKey&, const JobKey&) = default;
};

std::string to_string(const JobKey& key);  // "namespace/name"

}  // namespace sailor

template <class Kind>
struct std::hash<sailor::Name<Kind>> {
  std::size_t operator()(const sailor::Name<Kind>& name) const noexcept { return std::hash<std::string>{}(name.str()); }
};

template <>
struct std::hash<sailor::PoolKey> {
  std::size_t operator()(const sailor::PoolKey& key) const noexcept {
    const std::size_t zone = std::hash<sailor::Zone>{}(key.zone);
    const std::size_t accelerator = std::hash<sailor::Accelerator>{}(key.accelerator);
    const auto rest = static_cast<std::size_t>(2 * key.grade) + static_cast<std::size_t>(key.provisioning);
    return (zone * 31 + accelerator) * 31 + rest;
  }
};
