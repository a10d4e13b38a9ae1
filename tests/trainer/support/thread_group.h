// A Group of threads that reach into one another's memory: sums and gathers of FP32 tensors without a backend, whose
// own buffers come and go in threads of its own. For counting what a worker itself holds.
#pragma once

#include <algorithm>
#include <barrier>
#include <functional>
#include <memory>
#include <thread>
#include <vector>

#include <ATen/core/Tensor.h>

#include "trainer/comm/collectives_only.h"

namespace sailor::trainer::testing {

class ThreadGroup : public CollectivesOnly {
 public:
  // What the members share; it outlives them.
  struct Meeting {
    explicit Meeting(int size) : barrier(size), tensors(static_cast<std::size_t>(size)) {}
    std::barrier<> barrier;
    std::vector<const float*> tensors;  // by rank
  };

  ThreadGroup(Meeting& meeting, int rank) : meeting_(meeting), rank_(static_cast<std::size_t>(rank)) {}

  [[nodiscard]] int size() const override { return static_cast<int>(meeting_.tensors.size()); }
  std::unique_ptr<Transfer> start_sum(const at::Tensor& tensor) override {
    return reduced(tensor, tensor, 0, [](float a, float b) { return a + b; });
  }
  std::unique_ptr<Transfer> start_sum_of_parts(const at::Tensor& parts, const at::Tensor& mine) override {
    return reduced(parts, mine, rank_ * static_cast<std::size_t>(mine.numel()), [](float a, float b) { return a + b; });
  }
  void max(const at::Tensor& tensor) override {
    reduced(tensor, tensor, 0, [](float a, float b) { return std::max(a, b); })->wait();
  }
  std::unique_ptr<Transfer> start_gather(const at::Tensor& mine, const at::Tensor& parts) override {
    meet(mine);
    auto* into = parts.mutable_data_ptr<float>();
    for (const float* from : meeting_.tensors) into = std::copy_n(from, mine.numel(), into);
    meeting_.barrier.arrive_and_wait();
    return done();
  }

 private:
  void meet(const at::Tensor& tensor) {
    meeting_.tensors[rank_] = tensor.const_data_ptr<float>();
    meeting_.barrier.arrive_and_wait();
  }

  template <class Operation>
  std::unique_ptr<Transfer> reduced(const at::Tensor& from, const at::Tensor& into, std::size_t begin,
                                    Operation operation) {
    meet(from);
    const auto count = static_cast<std::size_t>(into.numel());
    std::vector<float> result(meeting_.tensors[0] + begin, meeting_.tensors[0] + begin + count);
    for (std::size_t member = 1; member < meeting_.tensors.size(); ++member) {
      std::transform(result.begin(), result.end(), meeting_.tensors[member] + begin, result.begin(), operation);
    }
    meeting_.barrier.arrive_and_wait();  // all have read
    std::ranges::copy(result, into.mutable_data_ptr<float>());
    return done();
  }

  Meeting& meeting_;
  std::size_t rank_;
};

inline void in_thread_group(int size, const std::function<void(int rank, Group& group)>& work) {
  ThreadGroup::Meeting meeting(size);
  std::vector<std::jthread> threads;
  for (int rank = 0; rank < size; ++rank) {
    threads.emplace_back([&, rank] {
      ThreadGroup group(meeting, rank);
      work(rank, group);
    });
  }
}

}  // namespace sailor::trainer::testing
