#include "core/model/ids.h"

#include <fmt/format.h>

namespace sailor {

std::string_view to_string(Provisioning provisioning) {
  return provisioning == Provisioning::kSpot ? "spot" : "ondemand";
}

std::string to_string(const PoolKey& key) {
  return fmt::format("{}/{}/{}", key.zone.str(), key.accelerator.str(), to_string(key.provisioning));
}

Result<PoolKey> parse_pool_key(std::string_view text) {
  const std::size_t first = text.find('/');
  const std::size_t second = first == text.npos ? text.npos : text.find('/', first + 1);
  const std::string_view provisioning = second == text.npos ? std::string_view() : text.substr(second + 1);
  const bool well_formed = first != 0 && second != text.npos && second > first + 1;
  if (!well_formed || (provisioning != "spot" && provisioning != "ondemand")) {
    return fail(ErrorCode::kInvalidArgument,
                fmt::format("\"{}\" is not a pool; write zone/accelerator/spot or zone/accelerator/ondemand", text));
  }
  return PoolKey{Zone(std::string(text.substr(0, first))),
                 Accelerator(std::string(text.substr(first + 1, second - first - 1))),
                 provisioning == "spot" ? Provisioning::kSpot : Provisioning::kOnDemand};
}

Region region_of(const Zone& zone) {
  const std::size_t dash = zone.str().rfind('-');
  return Region(dash == std::string::npos ? zone.str() : zone.str().substr(0, dash));
}

std::string continent_of(const Region& region) { return region.str().substr(0, region.str().find('-')); }

std::string to_string(const JobKey& key) { return key.namespace_name + "/" + key.name; }

}  // namespace sailor
