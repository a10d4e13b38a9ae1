// run_both(): runs two functions at the same time. The planner divides its work in this way only where the result does
// not depend on which of them ends first, so its answers do not depend on the number of processors.
#pragma once

#include <thread>
#include <utility>

namespace sailor {

template <class First, class Second>
void run_both(First&& first, Second&& second) {
  const std::jthread other(std::forward<Second>(second));
  std::forward<First>(first)();
}

}  // namespace sailor
