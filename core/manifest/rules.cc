#include "core/manifest/rules.h"

#include <algorithm>
#include <cstdlib>
#include <regex>

namespace sailor {
namespace {

constexpr std::size_t kLongestName = 63;
constexpr std::size_t kLongestController = 128;
constexpr std::size_t kLongestPath = 4096;

std::string unless(bool is_right, const Json& value, std::string_view remedy) {
  return is_right ? "" : fmt::format("{} does not fit: {}", value.dump(), remedy);
}

bool matches(const Json& value, const std::regex& pattern, std::size_t longest) {
  const auto& text = value.get_ref<const std::string&>();
  return text.size() <= longest && std::regex_match(text, pattern);
}

double decimal(const Json& value) { return std::strtod(value.get_ref<const std::string&>().c_str(), nullptr); }

}  // namespace

std::string in_range(const Json& value, std::int64_t least, std::int64_t most) {
  // What is above the signed range is stored unsigned, and would read as negative.
  const bool is_huge = value.is_number_unsigned() && value.get<std::uint64_t>() > static_cast<std::uint64_t>(kMostLong);
  if (!is_huge && value.get<std::int64_t>() >= least && value.get<std::int64_t>() <= most) return "";
  if (is_huge || value.get<std::int64_t>() > most) return fmt::format("{} is above {}", value.dump(), most);
  return fmt::format("{} is below {}", value.dump(), least);
}

std::string above_zero(const Json& value) {
  return unless(decimal(value) > 0, value, "a decimal above 0 in quotes was expected, such as \"3e-4\"");
}

std::string below_one(const Json& value) {
  return unless(decimal(value) < 1, value, "a decimal from 0 to below 1 in quotes was expected, such as \"0.95\"");
}

std::string fraction(const Json& value) {
  return unless(decimal(value) > 0 && decimal(value) < 1, value,
                "a decimal above 0 and below 1 in quotes was expected, such as \"0.01\"");
}

std::string plain_name(const Json& value) {
  static const std::regex pattern("[a-z0-9]([-a-z0-9]*[a-z0-9])?");
  return unless(matches(value, pattern, kLongestName), value,
                "a name of small letters, digits and dashes was expected, such as nvidia-l4 or us-central1-a");
}

std::string dotted_name(const Json& value) {
  static const std::regex pattern("[a-z0-9]([-a-z0-9.]*[a-z0-9])?");
  return unless(matches(value, pattern, kLongestName), value,
                "a name of small letters, digits, dashes and dots was expected, such as gpt-neo-2.7b");
}

std::string controller_name(const Json& value) {
  static const std::regex pattern("([a-z0-9]([-a-z0-9.]*[a-z0-9])?/.+)?");
  return unless(matches(value, pattern, kLongestController), value,
                "name a controller by domain and path, such as example.com/queue, or omit it for this operator");
}

std::string absolute_path(const Json& value) {
  const auto& path = value.get_ref<const std::string&>();
  return unless(path.starts_with('/') && path.size() <= kLongestPath, value,
                "the trainer's containers read it; write an absolute path, such as /data/*.txt");
}

std::string small_set(const Json& value, std::size_t most) {
  if (value.empty()) return "is empty; list at least one, or omit the field for its default";
  if (value.size() > most) return fmt::format("has {} entries; {} are the most", value.size(), most);
  for (auto element = value.begin(); element != value.end(); ++element) {
    if (std::find(value.begin(), element, *element) != element) {
      return fmt::format("has {} twice; keep one", element->dump());
    }
  }
  return "";
}

std::string users_labels(const Json& labels) {
  for (const auto& [label, value] : labels.items()) {
    if (!value.is_string()) return fmt::format("the value of label {} must be a word; quote it", label);
    if (label.starts_with("sailor.dev/")) {
      return fmt::format("{} is the operator's own, as all labels under sailor.dev/ are; choose another prefix", label);
    }
  }
  return "";
}

std::string placed_by_plan(const Json& /*node_name*/) {
  return "the plan decides on which node a pod runs; use resources.zones and resources.accelerators instead";
}

std::string never_restarted(const Json& restart_policy) {
  if (restart_policy == "Never") return "";
  return "the operator replaces failed pods, up to maxRestarts; omit restartPolicy";
}

std::string own_network(const Json& host_network) {
  return host_network.get<bool>() ? "trainers find each other by pod address; omit hostNetwork" : "";
}

std::string gpus_of_plan(const Json& resource_list) {
  if (!resource_list.contains("nvidia.com/gpu")) return "";
  return "the plan decides how many GPUs a pod takes; remove nvidia.com/gpu and use resources.minGpus and maxGpus of "
         "the job";
}

}  // namespace sailor
