#include "core/manifest/rules.h"

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <regex>

namespace sailor {
namespace {

constexpr std::size_t kMaxNameLength = 63;
constexpr std::size_t kMaxObjectNameLength = 253;
constexpr std::size_t kMaxControllerLength = 128;
constexpr std::size_t kMaxPathLength = 4096;
constexpr std::size_t kMaxTimeLength = 64;
constexpr std::size_t kMostPodLabels = 64;
constexpr std::size_t kMostNodeLabels = 32;

std::string unless(bool is_right, const Json& value, std::string_view remedy) {
  return is_right ? "" : fmt::format("{} is invalid: {}", value.dump(), remedy);
}

bool matches(std::string_view text, const std::regex& pattern, std::size_t max_length) {
  return text.size() <= max_length && std::regex_match(text.begin(), text.end(), pattern);
}

bool matches(const Json& value, const std::regex& pattern, std::size_t max_length) {
  return matches(std::string_view(value.get_ref<const std::string&>()), pattern, max_length);
}

const std::regex& object_name_pattern() {
  static const std::regex pattern(R"([a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*)");
  return pattern;
}

// Whether the text is at most 63 letters, digits, dashes, underscores and dots that begin and end with a letter or
// digit: the name of a label without its prefix, or the value of a label.
bool is_label_text(std::string_view text) {
  static const std::regex pattern("[A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?");
  return matches(text, pattern, kMaxNameLength);
}

// Whether the text is a label's name as Kubernetes allows it, such as team or example.com/team.
bool is_label_name(std::string_view text) {
  const std::size_t slash = text.find('/');
  if (slash == std::string_view::npos) return is_label_text(text);
  return matches(text.substr(0, slash), object_name_pattern(), kMaxObjectNameLength) &&
         is_label_text(text.substr(slash + 1));
}

// Returns the problem of a map of at most `most` labels.
std::string well_formed_labels(const Json& labels, std::size_t most) {
  if (labels.size() > most) return fmt::format("has {} labels; at most {} are allowed", labels.size(), most);
  for (const auto& [name, value] : labels.items()) {
    if (!value.is_string()) return fmt::format("the value of label {} must be text; quote it", name);
    if (!is_label_name(name)) {
      return fmt::format("\"{}\" is not the name of a label; use a name such as team or example.com/team", name);
    }
    const auto& text = value.get_ref<const std::string&>();
    if (!text.empty() && !is_label_text(text)) {
      return fmt::format(
          "the value \"{}\" of label {} is invalid: expected at most 63 letters, digits, dashes, underscores and dots "
          "that begin and end with a letter or digit",
          text, name);
    }
  }
  return "";
}

double decimal(const Json& value) { return std::strtod(value.get_ref<const std::string&>().c_str(), nullptr); }

}  // namespace

std::string in_range(const Json& value, std::int64_t min, std::int64_t max) {
  // A value above the signed range is stored as unsigned and would read as negative.
  const bool is_huge = value.is_number_unsigned() && value.get<std::uint64_t>() > static_cast<std::uint64_t>(kMaxLong);
  if (!is_huge && value.get<std::int64_t>() >= min && value.get<std::int64_t>() <= max) return "";
  if (is_huge || value.get<std::int64_t>() > max) return fmt::format("{} is above {}", value.dump(), max);
  return fmt::format("{} is below {}", value.dump(), min);
}

std::string above_zero(const Json& value) {
  return unless(decimal(value) > 0, value, "expected a decimal above 0 in quotes, such as \"3e-4\"");
}

std::string below_one(const Json& value) {
  return unless(decimal(value) < 1, value, "expected a decimal from 0 to below 1 in quotes, such as \"0.95\"");
}

std::string fraction(const Json& value) {
  return unless(decimal(value) > 0 && decimal(value) < 1, value,
                "expected a decimal above 0 and below 1 in quotes, such as \"0.01\"");
}

std::string object_name(const Json& value) {
  return unless(
      matches(value, object_name_pattern(), kMaxObjectNameLength), value,
      "expected a name of at most 253 lower-case letters, digits, dashes and dots that begins and ends with a "
      "letter or digit, such as gpt-neo-2.7b");
}

std::string plain_name(const Json& value) {
  static const std::regex pattern("[a-z0-9]([-a-z0-9]*[a-z0-9])?");
  return unless(matches(value, pattern, kMaxNameLength), value,
                "expected a name of lower-case letters, digits and dashes, such as nvidia-l4 or us-central1-a");
}

std::string dotted_name(const Json& value) {
  static const std::regex pattern("[a-z0-9]([-a-z0-9.]*[a-z0-9])?");
  return unless(matches(value, pattern, kMaxNameLength), value,
                "expected a name of lower-case letters, digits, dashes and dots, such as gpt-neo-2.7b");
}

std::string controller_name(const Json& value) {
  static const std::regex pattern("([a-z0-9]([-a-z0-9.]*[a-z0-9])?/.+)?");
  return unless(
      matches(value, pattern, kMaxControllerLength), value,
      "expected a controller as domain and path, such as example.com/queue; omit the field for this operator");
}

std::string absolute_path(const Json& value) {
  const auto& path = value.get_ref<const std::string&>();
  return unless(path.starts_with('/') && path.size() <= kMaxPathLength, value,
                "expected an absolute path in the trainer's container, such as /data/*.txt");
}

std::string date_time(const Json& value) {
  static const std::regex pattern(
      R"((\d{4})-(\d{2})-(\d{2})[Tt]([01]\d|2[0-3]):[0-5]\d:[0-5]\d(\.\d+)?([Zz]|[-+]\d{2}:\d{2}))");
  const auto& text = value.get_ref<const std::string&>();
  bool is_right = matches(value, pattern, kMaxTimeLength);
  if (is_right) {
    const std::chrono::year_month_day date{std::chrono::year(std::stoi(text.substr(0, 4))),
                                           std::chrono::month(static_cast<unsigned>(std::stoi(text.substr(5, 2)))),
                                           std::chrono::day(static_cast<unsigned>(std::stoi(text.substr(8, 2))))};
    is_right = date.ok();
  }
  return unless(is_right, value, "expected a date and time as in RFC 3339, such as 2025-06-01T12:00:00Z");
}

std::string set_within(const Json& value, std::size_t max) {
  if (value.empty()) return "is empty; list at least one, or omit the field for its default";
  if (value.size() > max) return fmt::format("has {} entries; at most {} are allowed", value.size(), max);
  for (auto element = value.begin(); element != value.end(); ++element) {
    if (std::find(value.begin(), element, *element) != element) {
      return fmt::format("has {} twice; keep one", element->dump());
    }
  }
  return "";
}

std::string node_labels(const Json& labels) { return well_formed_labels(labels, kMostNodeLabels); }

std::string pod_labels(const Json& labels) {
  if (std::string problem = well_formed_labels(labels, kMostPodLabels); !problem.empty()) return problem;
  for (const auto& [label, value] : labels.items()) {
    if (label.starts_with("sailor.dev/")) {
      return fmt::format("{} is reserved: labels under sailor.dev/ belong to the operator; choose another prefix",
                         label);
    }
  }
  return "";
}

std::string no_node_name(const Json& /*node_name*/) {
  return "the plan decides which node a pod runs on; use resources.zones and resources.accelerators instead";
}

std::string restart_policy_never(const Json& restart_policy) {
  if (restart_policy == "Never") return "";
  return "the operator replaces failed pods, up to maxRestarts; omit restartPolicy";
}

std::string no_host_network(const Json& host_network) {
  return host_network.get<bool>() ? "trainers reach each other by pod IP; omit hostNetwork" : "";
}

std::string no_gpus(const Json& resource_list) {
  if (!resource_list.contains("nvidia.com/gpu")) return "";
  return "the plan decides how many GPUs a pod takes; remove nvidia.com/gpu and use resources.minGpus and maxGpus of "
         "the job";
}

}  // namespace sailor
