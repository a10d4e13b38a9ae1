// The limits of what the operator and the agents send each other. Both sides check the sizes of bodies: the sender
// reports which message is too large, and the receiver refuses to read it.
#pragma once

#include <cstddef>
#include <cstdint>

namespace sailor {

inline constexpr std::size_t kLargestAssignment = std::size_t{16} << 20U;  // 10,000 workers take about 2 MB
inline constexpr std::size_t kLargestReport = std::size_t{1} << 20U;
inline constexpr std::size_t kLargestCallback = std::size_t{16} << 10U;  // a hint or a lease question

// The largest number of a generation. Every reader of JSON represents it exactly, and it can be increased by one.
inline constexpr std::int64_t kLargestGeneration = (std::int64_t{1} << 53U) - 1;

}  // namespace sailor
