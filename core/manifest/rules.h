// Rules for the values of fields beyond their types: those by which the API server refuses a single document.
#pragma once

#include <cstdint>
#include <limits>
#include <string>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace sailor {

using Json = nlohmann::json;

// Given a value of the field's type, what is wrong with it and what to write instead; empty where it is right.
using Rule = std::string (*)(const Json& value);

// Integers.
std::string in_range(const Json& value, std::int64_t least, std::int64_t most);

template <std::int64_t kLeast, std::int64_t kMost>
std::string between(const Json& value) {
  return in_range(value, kLeast, kMost);
}

constexpr std::int64_t kMostInt = std::numeric_limits<std::int32_t>::max();
constexpr std::int64_t kMostLong = std::numeric_limits<std::int64_t>::max();
inline std::string positive(const Json& value) { return in_range(value, 1, kMostInt); }
inline std::string positive_long(const Json& value) { return in_range(value, 1, kMostLong); }
inline std::string not_negative(const Json& value) { return in_range(value, 0, kMostInt); }
inline std::string not_negative_long(const Json& value) { return in_range(value, 0, kMostLong); }

// Decimals, which are texts in quotes.
std::string above_zero(const Json& value);
std::string below_one(const Json& value);
std::string fraction(const Json& value);  // above 0 and below 1

// Texts.
std::string plain_name(const Json& value);       // nvidia-l4, us-central1-a
std::string dotted_name(const Json& value);      // gpt-neo-2.7b
std::string controller_name(const Json& value);  // example.com/queue, or empty
std::string absolute_path(const Json& value);

// Lists without duplicates, of at least one element.
std::string small_set(const Json& value, std::size_t most);

template <std::size_t kMost>
std::string set_of_up_to(const Json& value) {
  return small_set(value, kMost);
}

// Pods: what the plan and the operator decide is not the template's.
std::string users_labels(const Json& labels);
std::string placed_by_plan(const Json& node_name);
std::string never_restarted(const Json& restart_policy);
std::string own_network(const Json& host_network);
std::string gpus_of_plan(const Json& resource_list);

}  // namespace sailor
