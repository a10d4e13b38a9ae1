#include "core/model/compute_capability.h"

#include <map>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "core/model/check.h"
#include "core/model/parse_number.h"

namespace sailor {

extern const std::string_view kAcceleratorsJson;  // accelerators.json, which CMakeLists.txt embeds

namespace {

std::map<Accelerator, ComputeCapability> parse_capabilities() {
  std::map<Accelerator, ComputeCapability> capabilities;
  const auto catalog = nlohmann::json::parse(kAcceleratorsJson);
  for (const auto& entry : catalog) {
    const auto name = entry.at("accelerator").get<std::string>();
    const auto capability = parse_compute_capability(entry.at("computeCapability").get<std::string>());
    SAILOR_CHECK(capability.has_value(), "{} in accelerators.json: {}", name, capability.error().message);
    capabilities[Accelerator(name)] = *capability;
  }
  return capabilities;
}

}  // namespace

std::string to_string(const ComputeCapability& capability) {
  return fmt::format("{}.{}", capability.major, capability.minor);
}

Result<ComputeCapability> parse_compute_capability(std::string_view text) {
  const auto dot = text.find('.');
  const auto major = parse_number<int>(text.substr(0, dot));
  const auto minor = dot == std::string_view::npos ? std::nullopt : parse_number<int>(text.substr(dot + 1));
  if (major && minor && *major >= 1 && *minor >= 0 && *minor <= 9) return ComputeCapability{*major, *minor};
  return fail(ErrorCode::kInvalidArgument, fmt::format("\"{}\" is no compute capability such as 7.5", text));
}

std::optional<ComputeCapability> compute_capability(const Accelerator& accelerator) {
  static const auto capabilities = parse_capabilities();
  const auto found = capabilities.find(accelerator);
  return found == capabilities.end() ? std::nullopt : std::optional(found->second);
}

bool lacks_kernels(const Accelerator& accelerator, const ComputeCapability& least) {
  const auto capability = compute_capability(accelerator);
  return capability && *capability < least;
}

}  // namespace sailor
