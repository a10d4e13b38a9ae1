// Conditions: what a decision says about the job; status.h turns it into the status.
#pragma once

#include <string>

namespace sailor {

enum class Truth { kUnknown, kTrue, kFalse };

struct Condition {
  Truth truth = Truth::kUnknown;
  std::string reason = "NotYetKnown";
  std::string message = "Not known yet.";
};

struct Conditions {
  Condition planned;
  Condition pods_ready;
  Condition running;
  Condition rescaling;
  Condition degraded;
  Condition suspended;
  Condition complete;
  Condition failed;
};

inline Condition yes(std::string reason, std::string message) {
  return {Truth::kTrue, std::move(reason), std::move(message)};
}
inline Condition no(std::string reason, std::string message) {
  return {Truth::kFalse, std::move(reason), std::move(message)};
}

}  // namespace sailor
