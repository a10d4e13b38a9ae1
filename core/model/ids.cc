#include "core/model/ids.h"

#include <fmt/format.h>

#include "core/model/parse_number.h"
#include "core/model/speed_grade.h"

namespace sailor {
namespace {

constexpr std::string_view kSlow = "/slow";

// "us-east-1a": the letter follows the number of the region without a dash.
bool ends_like_a_zone_of_amazon(const std::string& zone) {
  const auto is_in = [&](std::size_t from_end, char first, char last) {
    return zone.size() >= from_end && zone[zone.size() - from_end] >= first && zone[zone.size() - from_end] <= last;
  };
  return zone.find('-') != std::string::npos && is_in(1, 'a', 'z') && is_in(2, '0', '9');
}

}  // namespace

std::string_view to_string(Provisioning provisioning) {
  return provisioning == Provisioning::kSpot ? "spot" : "ondemand";
}

std::string to_string(const PoolKey& key) {
  const std::string pool = fmt::format("{}/{}/{}", key.zone.str(), key.accelerator.str(), to_string(key.provisioning));
  return key.grade == 0 ? pool : fmt::format("{}{}{}", pool, kSlow, key.grade);
}

Result<PoolKey> parse_pool_key(std::string_view text) {
  const auto error = [&] {
    return fail(ErrorCode::kInvalidArgument,
                fmt::format("\"{}\" is not a pool; write zone/accelerator/spot or zone/accelerator/ondemand, and for "
                            "slow GPUs /slow1 to /slow{} after it",
                            text, kSlowestGrade));
  };
  const std::size_t first = text.find('/');
  const std::size_t second = first == text.npos ? text.npos : text.find('/', first + 1);
  if (first == 0 || second == text.npos || second == first + 1) return error();
  std::string_view provisioning = text.substr(second + 1);
  PoolKey key{Zone(std::string(text.substr(0, first))),
              Accelerator(std::string(text.substr(first + 1, second - first - 1)))};
  if (const std::size_t slow = provisioning.find(kSlow); slow != provisioning.npos) {
    const auto grade = parse_number<int>(provisioning.substr(slow + kSlow.size()));
    if (!grade || *grade < 1 || *grade > kSlowestGrade) return error();
    key.grade = *grade;
    provisioning = provisioning.substr(0, slow);
  }
  if (provisioning != "spot" && provisioning != "ondemand") return error();
  key.provisioning = provisioning == "spot" ? Provisioning::kSpot : Provisioning::kOnDemand;
  return key;
}

Region region_of(const Zone& zone) {
  const std::string& name = zone.str();
  if (ends_like_a_zone_of_amazon(name)) return Region(name.substr(0, name.size() - 1));
  const std::size_t dash = name.rfind('-');
  return Region(dash == std::string::npos ? name : name.substr(0, dash));
}

std::string continent_of(const Region& region) { return region.str().substr(0, region.str().find('-')); }

std::string to_string(const JobKey& key) { return key.namespace_name + "/" + key.name; }

}  // namespace sailor
