// SampleOrder: the shuffled order in which training visits the corpus. It maps (step, index in the global batch) to a
// sequence of the corpus. The mapping is a pure function and does not depend on the plan.
#pragma once

#include <cstdint>

namespace sailor::trainer {

// The corpus is divided into windows of one sequence each. Every epoch visits every window once, in a different order.
// The order is not stored: a small Feistel network with the key (seed, epoch) computes it.
class SampleOrder {
 public:
  SampleOrder(std::uint64_t seed, std::int64_t windows, int global_batch_size);

  // Returns the window for sample `index` of the global batch. The first step is 0.
  [[nodiscard]] std::int64_t window(std::int64_t step, int index) const;

 private:
  [[nodiscard]] std::uint64_t shuffled(std::uint64_t position, std::uint64_t epoch) const;
  [[nodiscard]] std::uint64_t scrambled(std::uint64_t value, std::uint64_t epoch) const;

  std::uint64_t seed_;
  std::uint64_t windows_;
  std::uint64_t batch_;
  int half_bits_ = 1;  // the network permutes numbers of 2 * half_bits_ bits, which are at least as many as the windows
};

}  // namespace sailor::trainer
