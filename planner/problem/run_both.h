// run_both(): runs two functions at the same time. The planner divides its work in this way only where the result does
// not depend on which of them ends first, so its answers do not depend on the number of processors.
#pragma once

#include <future>
#include <utility>

namespace sailor {

// Throws what one of the functions throws, after both have ended.
template <class First, class Second>
void run_both(First&& first, Second&& second) {
  std::future<void> other = std::async(std::launch::async, std::forward<Second>(second));
  std::forward<First>(first)();
  other.get();
}

}  // namespace sailor
