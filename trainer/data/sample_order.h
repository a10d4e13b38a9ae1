// SampleOrder: which sequence of the corpus is sample i of step k: a pure function, equal for every plan.
#pragma once

#include <cstdint>

namespace sailor::trainer {

// The corpus is cut into windows of a sequence's length; each epoch visits every window once, in an order of its own.
// Nothing is stored: the order is a permutation computed by a small Feistel network keyed with (seed, epoch).
class SampleOrder {
 public:
  SampleOrder(std::uint64_t seed, std::int64_t windows, int global_batch_size);

  // The window of the sample with this index in the global batch of the step (the first step is 0).
  [[nodiscard]] std::int64_t window(std::int64_t step, int index) const;

 private:
  [[nodiscard]] std::uint64_t shuffled(std::uint64_t position, std::uint64_t epoch) const;
  [[nodiscard]] std::uint64_t scrambled(std::uint64_t value, std::uint64_t epoch) const;

  std::uint64_t seed_;
  std::uint64_t windows_;
  std::uint64_t batch_;
  int half_bits_ = 1;  // the network permutes numbers of twice as many bits, at least as many as there are windows
};

}  // namespace sailor::trainer
