#include "operator/model/conditions.h"

namespace sailor {

std::string_view to_string(ConditionType type) {
  constexpr std::array<std::string_view, kConditionTypes.size()> kNames = {
      "Planned", "PodsReady", "Running", "Rescaling", "Degraded", "Suspended", "Complete", "Failed"};
  return kNames.at(static_cast<std::size_t>(type));
}

const Condition& condition_of(const Conditions& conditions, ConditionType type) {
  static const Condition not_known;
  const auto found = conditions.find(type);
  return found == conditions.end() ? not_known : found->second;
}

bool is_true(const Conditions& conditions, ConditionType type) {
  return condition_of(conditions, type).truth == Truth::kTrue;
}

}  // namespace sailor
