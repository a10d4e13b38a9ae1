// run_both() and run_each(): work on two threads. The planner divides its work in this way only where the result does
// not depend on which of the threads is faster, so its answers do not depend on the number of processors.
#pragma once

#include <atomic>
#include <cstddef>
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

// Calls task(0), task(1), ..., task(count - 1), each as soon as one of two threads is free. Throws what one of them
// throws, after both threads have ended.
template <class Task>
void run_each(std::size_t count, const Task& task) {
  std::atomic<std::size_t> next = 0;
  const auto take_tasks = [&] {
    for (std::size_t i = next++; i < count; i = next++) task(i);
  };
  run_both(take_tasks, take_tasks);
}

}  // namespace sailor
