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

#include "trainer/comm/collective_only_group.h"

namespace sailor::trainer::testing {

class ThreadGroup : public CollectiveOnlyGroup {
 public:
  // What the members share; it outlives them.
  struct Meeting {
    explicit Meeting(int size) : barrier(size), tensors(static_cast<std::size_t>(size)) {}
    std::barrier<> barrier;
    std::vector<const float*> tensors;  // by rank
  };

  ThreadGroup(Meeting& meeting, int rank) : meeting_(meeting), rank_(static_cast<std::size_t>(rank)) {}

  [[nodiscard]] int size() const override { return static_cast<int>(meeting_.tensors.size()); }
  std::unique_ptr<Work> start_all_reduce(const at::Tensor& tensor) override {
    return reduced(tensor, tensor, 0, [](float a, float b) { return a + b; });
  }
  std::unique_ptr<Work> start_reduce_scatter(const at::Tensor& input, const at::Tensor& output) override {
    return reduced(input, output, rank_ * static_cast<std::size_t>(output.numel()),
                   [](float a, float b) { return a + b; });
  }
  void all_reduce_max(const at::Tensor& tensor) override {
    reduced(tensor, tensor, 0, [](float a, float b) { return std::max(a, b); })->wait();
  }
  std::unique_ptr<Work> start_all_gather(const at::Tensor& input, const at::Tensor& output) override {
    meet(input);
    auto* into = output.mutable_data_ptr<float>();
    for (const float* from : meeting_.tensors) into = std::copy_n(from, input.numel(), into);
    meeting_.barrier.arrive_and_wait();
    return completed();
  }

 private:
  void meet(const at::Tensor& tensor) {
    meeting_.tensors[rank_] = tensor.const_data_ptr<float>();
    meeting_.barrier.arrive_and_wait();
  }

  template <class Operation>
  std::unique_ptr<Work> reduced(const at::Tensor& from, const at::Tensor& into, std::size_t begin,
                                Operation operation) {
    meet(from);
    const auto count = static_cast<std::size_t>(into.numel());
    std::vector<float> result(meeting_.tensors[0] + begin, meeting_.tensors[0] + begin + count);
    for (std::size_t member = 1; member < meeting_.tensors.size(); ++member) {
      std::transform(result.begin(), result.end(), meeting_.tensors[member] + begin, result.begin(), operation);
    }
    meeting_.barrier.arrive_and_wait();  // all have read
    std::ranges::copy(result, into.mutable_data_ptr<float>());
    return completed();
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
