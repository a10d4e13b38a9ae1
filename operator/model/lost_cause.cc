#include "operator/model/lost_cause.h"

namespace sailor {

std::string_view to_string(LostCause cause) {
  constexpr std::array<std::string_view, kLostCauses.size()> kNames = {"waiting",   "planning",  "starting",
                                                                       "rescaling", "repeating", "stalled"};
  return kNames.at(static_cast<std::size_t>(cause));
}

}  // namespace sailor
