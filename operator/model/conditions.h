// Conditions: the values of status.conditions of a TrainingJob. Each condition has a truth value, a reason, and a
// sentence for people.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>

#include "operator/model/reason.h"

namespace sailor {

enum class ConditionType : std::uint8_t {
  kPlanned,
  kPodsReady,
  kRunning,
  kRescaling,
  kDegraded,
  kSuspended,
  kComplete,
  kFailed,
};
inline constexpr std::array kConditionTypes = {
    ConditionType::kPlanned,  ConditionType::kPodsReady, ConditionType::kRunning,  ConditionType::kRescaling,
    ConditionType::kDegraded, ConditionType::kSuspended, ConditionType::kComplete, ConditionType::kFailed};

std::string_view to_string(ConditionType type);  // "PodsReady"

enum class Truth : std::uint8_t { kUnknown, kTrue, kFalse };

struct Condition {
  Truth truth = Truth::kUnknown;
  Reason reason = Reason::kNotYetKnown;
  std::string message = "Not known yet.";
  friend bool operator==(const Condition&, const Condition&) = default;
};

// A missing condition has the truth value kUnknown.
using Conditions = std::map<ConditionType, Condition>;

const Condition& condition_of(const Conditions& conditions, ConditionType type);
bool is_true(const Conditions& conditions, ConditionType type);

inline Condition yes(Reason reason, std::string message) { return {Truth::kTrue, reason, std::move(message)}; }
inline Condition no(Reason reason, std::string message) { return {Truth::kFalse, reason, std::move(message)}; }

}  // namespace sailor
