// Rules for the values of fields, in addition to their types. The API server enforces the same rules for single
// documents.
#pragma once

#include <cstdint>
#include <limits>
#include <string>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace sailor {

using Json = nlohmann::json;

// Takes a value of the field's type and returns the problem and its remedy, or an empty string if the value is valid.
using Rule = std::string (*)(const Json& value);

// Integers.
std::string in_range(const Json& value, std::int64_t min, std::int64_t max);

template <std::int64_t kMin, std::int64_t kMax>
std::string between(const Json& value) {
  return in_range(value, kMin, kMax);
}

constexpr std::int64_t kMaxInt = std::numeric_limits<std::int32_t>::max();
constexpr std::int64_t kMaxLong = std::numeric_limits<std::int64_t>::max();
inline std::string positive(const Json& value) { return in_range(value, 1, kMaxInt); }
inline std::string positive_long(const Json& value) { return in_range(value, 1, kMaxLong); }
inline std::string not_negative(const Json& value) { return in_range(value, 0, kMaxInt); }
inline std::string not_negative_long(const Json& value) { return in_range(value, 0, kMaxLong); }

// Decimals, which are strings.
std::string above_zero(const Json& value);
std::string below_one(const Json& value);
std::string fraction(const Json& value);  // above 0 and below 1

// Strings.
std::string object_name(const Json& value);      // gpt-neo-2.7b, as Kubernetes allows it
std::string plain_name(const Json& value);       // nvidia-l4, us-central1-a
std::string dotted_name(const Json& value);      // gpt-neo-2.7b
std::string controller_name(const Json& value);  // example.com/queue, or empty
std::string absolute_path(const Json& value);
std::string date_time(const Json& value);  // 2025-06-01T12:00:00Z

// Lists without duplicates and with at least one element.
std::string set_within(const Json& value, std::size_t max);

template <std::size_t kMax>
std::string set_of_up_to(const Json& value) {
  return set_within(value, kMax);
}

// Maps from the names of labels to their values.
std::string node_labels(const Json& labels);
std::string pod_labels(const Json& labels);  // none of which is the operator's

// Pod templates, which must not set what the plan and the operator decide.
std::string no_node_name(const Json& node_name);
std::string restart_policy_never(const Json& restart_policy);
std::string no_host_network(const Json& host_network);
std::string no_gpus(const Json& resource_list);

}  // namespace sailor
