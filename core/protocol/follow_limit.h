// How long the newcomers of a planned change may put it off, while they follow the training that goes on. The workers
// end it then; the operator, which takes newcomers that do not come for late, allows it on top of its own limit.
#pragma once

#include <chrono>

namespace sailor {

inline constexpr std::chrono::minutes kFollowLimit{4};

}  // namespace sailor
