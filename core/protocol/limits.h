// The largest bodies that the operator and the agents send each other. Both sides check them: the sender reports which
// message is too large, and the receiver refuses to read it.
#pragma once

#include <cstddef>

namespace sailor {

inline constexpr std::size_t kLargestAssignment = std::size_t{16} << 20U;  // 10,000 workers take about 2 MB
inline constexpr std::size_t kLargestReport = std::size_t{1} << 20U;
inline constexpr std::size_t kLargestCallback = std::size_t{16} << 10U;  // a hint or a lease question

}  // namespace sailor
